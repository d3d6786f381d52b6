"""Runs clients against real servers while faults happen, and checks what the clients saw.

    python tests/support/faults.py --rounds 300           # of each setup; prints totals at the end
    python tests/support/faults.py replicas --minutes 5   # one setup, for five minutes

In a round, clients create, read, list, update and delete a few ConfigMaps, other clients watch
them, and in the middle a fault happens. When every server is back and every watcher has seen the
last write, the log is read from the database itself. Every response, list and event is checked
against it (`histories`). The exit code is 1 if a guarantee was violated. The seed determines what
clients and faults do, but not when.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import itertools
import json
import random
import signal
import socket
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp
import fleets
import histories
import postgresql
from fleets import SET_UPS, Breaker, Fleet, Loss
from histories import ABSENT, Event, History, Horizon, Listing, Log, Operation, Watching

NAMESPACE = "rounds"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PREFIX = f"/registry/configmaps/{NAMESPACE}/"
HOME = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
LAST = "last"
"""The name of the object that is written at the end of a round."""
KEYS = 4
CLIENTS, WATCHERS = 6, 3
PAUSE = 0.1
"""The average pause of a client after a few requests, in seconds. It keeps the machine usable."""
SECONDS = 1.0
"""The seconds of a round before its fault, and after it."""
ANSWER = 20.0
"""The timeout of a request in seconds, longer than any pause of a process."""
CUTS = 10
PENDING = 1_000
"""The maximum of unanswered writes that are kept, because they may still happen in a later
round."""
JUMP = 500_000
"""A log that jumps further has begun an epoch."""
TOLD = 5
"""The maximum of violations that are printed for a round."""

OPERATIONS = {
    "get": 4, "list": 2, "pages": 1, "past": 1, "create": 4, "update": 4, "patch": 2, "delete": 3
}  # fmt: skip


class Unanswered(Exception):
    """A request that may have reached the server has no response."""


class NotAsked(Exception):
    """No server accepted the connection."""


class Web:
    """A client with one connection at a time, to one server. It never repeats a request."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._sockets: list[socket.socket] = []
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=2, socket_factory=self._socket),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=ANSWER),
        )
        # aiohttp repeats a PUT or a DELETE when its connection ends, and has no public way to
        # turn this off. The second response would hide the result of the first request.
        assert self._session._retry_connection is True
        self._session._retry_connection = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._session.close()

    def cut(self) -> None:
        """Close its connections, even during a request."""
        for each in self._sockets:
            with contextlib.suppress(OSError):  # it has ended
                each.shutdown(socket.SHUT_RDWR)

    def _socket(self, address: Any) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        self._sockets.append(made)
        return made

    async def ask(
        self, method: str, path: str, body: Any = None, **parameters: str
    ) -> tuple[int, Any]:
        """Return the status code and body of a response. Raises NotAsked, Unanswered."""
        kind = "merge-patch+json" if method == "PATCH" else "json"
        try:
            async with (
                asyncio.timeout(ANSWER),
                self._session.request(
                    method, self._url + path, params=parameters,
                    data=None if body is None else json.dumps(body),
                    headers={"Content-Type": f"application/{kind}"},
                ) as answer,
            ):  # fmt: skip
                return answer.status, await answer.json()
        except aiohttp.ClientConnectorError as error:
            raise NotAsked from error
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unanswered from error

    async def lines(self, path: str, **parameters: str) -> AsyncGenerator[Any]:
        """Yield the events of a watch until its connection ends. Raises NotAsked, Unanswered."""
        try:
            async with self._session.get(self._url + path, params=parameters) as answer:
                if answer.status != 200:
                    yield {"type": "ERROR", "object": {"code": answer.status}}
                    return
                async for line in answer.content:
                    yield json.loads(line)
        except aiohttp.ClientConnectorError as error:
            raise NotAsked from error
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unanswered from error


class Campaign:
    """Rounds of one fleet, one after the other."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self._fleet = fleet
        self.breaker = Breaker(fleet, self._cut)
        self._random = random.Random(seed)
        self._tags = itertools.count()
        self._log = Log()
        self._pending: deque[Operation] = deque(maxlen=PENDING)
        self._webs: set[Web] = set()
        """Open clients, of requests and watches, whose connections a fault may close."""
        self.counts: Counter[str] = Counter()

    async def begin(self) -> None:
        """Create the objects that all rounds need."""
        async with Web(self._url()) as web:
            code, answer = await web.ask("POST", "/api/v1/namespaces", HOME)
            assert code == 201, answer
            code, answer = await web.ask("POST", MAPS, _config_map(LAST, "", None))
            assert code == 201, answer
        await self._read()

    async def play(self, fault: str, seconds: float = SECONDS) -> list[str]:
        """Run one round; return the violations found."""
        history, begun, living = History(PREFIX), self._log.newest, dict(self._log.living)
        over, end = asyncio.Event(), asyncio.get_running_loop().create_future()
        clients = [
            asyncio.create_task(self._client(history, over, random.Random(self._random.random())))
            for _ in range(CLIENTS)
        ]
        watchers = [
            asyncio.create_task(self._watcher(history, end, begun if number == 0 else 0))
            for number in range(WATCHERS)
        ]
        await asyncio.sleep(seconds)
        wrong = []
        loss: Loss | None = None
        try:
            loss = await self.breaker.lose(fault)
            if loss is None:
                await self.breaker.cause(fault)
        except (TimeoutError, RuntimeError) as error:
            wrong.append(f"a server did not come back: {error}")
        await asyncio.sleep(seconds)
        over.set()
        await asyncio.gather(*clients)
        end.set_result(await self._write_last(history))
        # for watchers that received it before it was known to be the last
        await self._write_last(history)
        try:
            async with asyncio.timeout(fleets.PATIENCE):
                await asyncio.gather(*watchers)
        except TimeoutError:
            wrong.append("a watcher was not told of the last write")
        for server in self._fleet.servers:
            with contextlib.suppress(NotAsked, Unanswered):
                async with Web(server.url) as web:
                    await self._list(web, history, {})
        if loss is not None:
            return wrong + await self._judge_after(loss, history)
        await self._replay(history, begun, end.result())
        return wrong + await self._judge(history, begun, living)

    async def _judge_after(self, loss: Loss, history: History) -> list[str]:
        """Judge what clients asked after a loss by the log as it was then. What they asked before
        may be lost, but no watch may go on from there."""
        before, self._log = self._log.newest, Log()
        _, wrong = self._log.read(loss.rows, loss.horizon)
        begun, living = self._log.newest, dict(self._log.living)
        written = {row.tag for row in loss.rows if row.key.startswith(PREFIX)}
        after = History(history.prefix, strange=history.strange)
        homeless = not self._log.living.get(f"/registry/namespaces/{NAMESPACE}")
        for each in history.operations:
            if homeless and (each.kind, each.outcome) == ("create", "missing"):
                continue  # the namespace was on a page that was overwritten
            if each.asked >= loss.time:
                after.operations.append(each)
            elif each.answered >= loss.time and each.kind != "get":
                self._pending.append(dataclasses.replace(each, outcome="unknown"))
            elif each.asked >= loss.kept and each.is_acknowledged and each.kind != "delete":
                self.counts["writes that had to be kept"] += 1
                if each.tag not in written and not self._is_replaced(each):
                    wrong.append(f"{each} was acknowledged, and is lost")
        after.lists = [each for each in history.lists if each.asked >= loss.time]
        found = await self._judge(after, begun, living)
        horizon = self._log.compacted
        there = {row.revision: row for row in (*loss.rows, *self._log.recent.values())}
        for watch in history.watches:
            lost = [each for each in watch.events if _is_lost(each, there, loss.horizon)]
            if lost and any(each.revision > lost[0].revision for each in watch.events
                            if each not in lost):  # fmt: skip
                wrong.append(f"a watch was told {lost[0]}, which is lost, and went on")
            if watch.start >= max(begun, horizon):
                after.watches.append(watch)
            elif horizon - watch.start > JUMP and any(
                each.revision > horizon for each in watch.events
            ):
                wrong.append(f"a watch from {watch.start} went on beyond {horizon}")
        self.counts["epochs"] += horizon - before > JUMP
        rows = [row for row in self._log.recent.values() if row.key.startswith(PREFIX)]
        for watch in after.watches:
            wrong += histories.mistold(watch, PREFIX, rows, horizon)
        self.counts["events after a loss"] += sum(len(each.events) for each in after.watches)
        self.counts["violations: after a loss"] += len(wrong)
        return found + [f"after a loss: {text}" for text in wrong]

    def _is_replaced(self, write: Operation) -> bool:
        """Return whether a later state of its key is in the log, whose earlier rows may be
        compacted."""
        return self._log.living.get(write.key, 0) > write.revision

    async def _judge(self, history: History, begun: int, living: dict[str, int]) -> list[str]:
        rows, wrong = await self._read()
        wrong, self.breaker.told = wrong + self.breaker.told, []
        ours = [row for row in rows if row.key.startswith(PREFIX)]
        horizon = Horizon(self._log.compacted, self._log.left)
        self.counts["rounds compacted within"] += horizon.revision > begun
        verdict = histories.judge(history, ours, begun, living, self._pending, horizon)
        self._pending.extend(each for each in history.operations if each.outcome == "unknown")
        for each in history.operations:
            self.counts["operations"] += 1
            self.counts["acknowledged writes"] += each.is_acknowledged
            self.counts["without an answer"] += each.outcome == "unknown"
        self.counts["lists"] += len(history.lists)
        self.counts["events"] += sum(len(each.events) for each in history.watches)
        self.counts["revisions"] += len(rows)
        found = {**verdict._asdict(), "damage": wrong, "strange": history.strange}
        for name, texts in found.items():
            self.counts[f"violations: {name}"] += len(texts)
        return [f"{name}: {text}" for name, texts in found.items() for text in texts]

    async def _read(self) -> tuple[list[histories.Row], list[str]]:
        return self._log.read(*await self._fleet.data.rows(self._log.since))

    async def _cut(self) -> None:
        """Close every connection, repeatedly for a while."""
        for _ in range(CUTS):
            for web in self._webs:
                web.cut()
            await asyncio.sleep(PAUSE)

    @contextlib.asynccontextmanager
    async def _web(self, url: str) -> AsyncIterator[Web]:
        async with Web(url) as web:
            self._webs.add(web)
            try:
                yield web
            finally:
                self._webs.discard(web)

    def _url(self, chooser: random.Random | None = None) -> str:
        return (chooser or self._random).choice(self._fleet.servers).url

    async def _client(self, history: History, over: asyncio.Event, chooser: random.Random) -> None:
        seen: dict[str, int] = {}
        while not over.is_set():
            # another connection may reach another worker
            async with self._web(self._url(chooser)) as web:
                for _ in range(chooser.randrange(1, 20)):
                    if over.is_set():
                        break
                    try:
                        await self._step(web, history, seen, chooser)
                        if chooser.random() < 0.5:
                            await asyncio.sleep(chooser.expovariate(0.5 / PAUSE))
                    except (NotAsked, Unanswered):
                        await asyncio.sleep(PAUSE)
                        break

    async def _step(
        self, web: Web, history: History, seen: dict[str, int], chooser: random.Random
    ) -> None:
        kind: Any = chooser.choices([*OPERATIONS], [*OPERATIONS.values()])[0]
        if kind in ("list", "pages", "past"):
            parameters = {"limit": "2"} if kind == "pages" else {}
            if kind == "past":
                newest = max([self._log.newest, *seen.values()])
                revision = chooser.randint(self._log.newest, newest)
                parameters = {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
            await self._list(web, history, parameters)
            return
        key = f"{PREFIX}k{chooser.randrange(KEYS)}"
        if kind in ("update", "delete") and not seen.get(key):
            kind = "create"
        operation = Operation(kind, key, time.monotonic())
        if kind != "get":
            operation.tag = f"t{next(self._tags)}"
            operation.expected = {"create": ABSENT, "patch": None}.get(kind, seen.get(key))
        history.operations.append(operation)
        await self._operate(web, history, operation)
        if operation.outcome == "done":
            seen[key] = ABSENT if kind == "delete" else operation.revision
        elif operation.outcome == "missing":
            seen[key] = ABSENT
        elif operation.outcome == "conflict":
            with contextlib.suppress(KeyError):
                del seen[key]

    async def _operate(self, web: Web, history: History, operation: Operation) -> None:
        name = operation.key.removeprefix(PREFIX)
        version = str(operation.expected) if operation.expected else None
        body = _config_map(name, operation.tag, version)
        path = f"{MAPS}/{name}"
        try:
            match operation.kind:
                case "get":
                    code, answer = await web.ask("GET", path)
                case "create":
                    code, answer = await web.ask("POST", MAPS, body)
                case "update":
                    code, answer = await web.ask("PUT", path, body)
                case "patch":
                    code, answer = await web.ask("PATCH", path, {"data": body["data"]})
                case "delete":
                    condition = {"preconditions": {"resourceVersion": version}}
                    code, answer = await web.ask("DELETE", path, condition)
        except NotAsked:
            history.operations.remove(operation)
            raise
        _understand(history, operation, code, answer)

    async def _list(self, web: Web, history: History, parameters: dict[str, str]) -> int:
        """Request a list, in pages if it has a limit. Return its revision, or 0 if it failed."""
        asked, items = time.monotonic(), {}
        while True:
            code, answer = await web.ask("GET", MAPS, **parameters)
            if code != 200:
                if code not in (410, 429, 503, 504):
                    history.strange.append(f"a list was answered {code}: {answer}")
                return 0
            for each in answer["items"]:
                meta = each["metadata"]
                items[PREFIX + meta["name"]] = int(meta["resourceVersion"])
            revision = int(answer["metadata"]["resourceVersion"])
            if not answer["metadata"].get("continue"):
                break
            parameters = {**parameters, "continue": answer["metadata"]["continue"]}
        # later pages show the state at the first one
        past = "resourceVersionMatch" in parameters
        history.lists.append(Listing(asked, time.monotonic(), revision, items, past))
        return revision

    async def _watcher(self, history: History, end: "asyncio.Future[int]", after: int = 0) -> None:
        """Watch until the end. When a stream ends, continue at another server from the last
        revision."""
        watch: Watching | None = None
        place = after
        if after:
            watch = Watching(after)
            history.watches.append(watch)
        while not (end.done() and place >= end.result()):
            with contextlib.suppress(NotAsked, Unanswered):
                async with self._web(self._url()) as web:
                    if watch is None:
                        place = await self._list(web, history, {})
                        if not place:
                            continue
                        watch = Watching(place)
                        history.watches.append(watch)
                    place, gone = await self._follow(web, watch, place, end)
                    watch.until = place
                    if gone:
                        self.counts["watches that had to list again"] += 1
                        watch = None
            await asyncio.sleep(PAUSE)

    async def _follow(
        self, web: Web, watch: Watching, place: int, end: "asyncio.Future[int]"
    ) -> tuple[int, bool]:
        """Read one stream. Return its last revision, and whether the watch cannot continue from
        there."""
        lines = web.lines(
            MAPS, watch="true", allowWatchBookmarks="true", resourceVersion=str(place)
        )
        with contextlib.suppress(NotAsked, Unanswered):
            async with contextlib.aclosing(lines):
                async for line in lines:
                    if line["type"] == "ERROR":
                        return place, line["object"].get("code") == 410
                    meta = line["object"]["metadata"]
                    place = int(meta["resourceVersion"])
                    if line["type"] == "BOOKMARK":
                        watch.bookmarks.append((place, len(watch.events)))
                    else:
                        tag = line["object"].get("data", {}).get("tag", "")
                        key = PREFIX + meta["name"]
                        watch.events.append(Event(place, key, line["type"], tag))
                    if end.done() and place >= end.result():
                        break
        return place, False

    async def _replay(self, history: History, begun: int, last: int) -> None:
        """Check a watch of the whole round that starts after its end."""
        end = asyncio.get_running_loop().create_future()
        end.set_result(last)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(fleets.PATIENCE):
                await self._watcher(history, end, begun)

    async def _write_last(self, history: History) -> int:
        """Make the last write of a round, and return its revision. What an overwritten page took
        along is created again."""
        await self._fleet.revive()
        key, is_there = PREFIX + LAST, True
        async with asyncio.timeout(fleets.PATIENCE):
            while True:
                write = Operation("patch", key, time.monotonic(), expected=None)
                if not is_there:
                    write.kind, write.expected = "create", ABSENT
                write.tag = f"t{next(self._tags)}"
                history.operations.append(write)
                with contextlib.suppress(NotAsked, Unanswered):
                    async with Web(self._url()) as web:
                        await web.ask("POST", "/api/v1/namespaces", HOME)
                        await self._operate(web, history, write)
                if write.outcome in ("missing", "conflict"):
                    is_there = write.outcome == "conflict"
                if write.outcome == "done":
                    return write.revision
                await asyncio.sleep(PAUSE)


def _is_lost(event: Event, there: Mapping[int, histories.Row], horizon: int) -> bool:
    """Return whether the log has not the row of an event."""
    row = there.get(event.revision)
    if row is None:
        return event.revision > horizon
    return (row.key, row.tag) != (event.key, event.tag)


def _config_map(name: str, tag: str, version: str | None) -> dict[str, Any]:
    meta = {"name": name, "namespace": NAMESPACE}
    if version is not None:
        meta["resourceVersion"] = version
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"tag": tag}}


def _understand(history: History, operation: Operation, code: int, answer: Any) -> None:
    """Record the result of an operation from its response."""
    if code in (200, 201):
        operation.outcome = "done"
        if operation.kind != "delete":
            operation.revision = int(answer["metadata"]["resourceVersion"])
            if operation.kind == "get":
                operation.tag = answer["data"]["tag"]
    elif code == 404:
        operation.outcome = "done" if operation.kind == "get" else "missing"
    elif code == 409 and operation.kind != "get":
        operation.outcome = "conflict"
    else:  # 503 and 504: a write may have happened
        if code not in (429, 503, 504):
            history.strange.append(f"{operation} was answered {code}: {answer}")
        return
    operation.answered = time.monotonic()


async def _campaign(name: str, rounds: int, minutes: float, seed: int) -> int:
    """Run rounds and print the result; return the number of rounds with violations."""
    causes: Counter[str] = Counter()
    bad = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        async with fleets.running(SET_UPS[name], Path(folder), seed) as fleet:
            campaign = Campaign(fleet, seed)
            await campaign.begin()
            names = campaign.breaker.names
            for number in itertools.count():
                if minutes and time.monotonic() - began > minutes * 60:
                    break
                if not minutes and number >= rounds:
                    break
                cause = names[number % len(names)]
                causes[cause] += 1
                found = await campaign.play(cause)
                bad += bool(found)
                for text in found[:TOLD]:
                    print(f"{name}, round {number}, {cause}: {text[:2000]}", flush=True)
                if number % 20 == 19:
                    print(f"{name}: {_told(campaign, causes, bad, began)}", flush=True)
    print(f"{name} ({SET_UPS[name].about}) ends: {_told(campaign, causes, bad, began)}", flush=True)
    return bad


def _told(campaign: Campaign, causes: Counter[str], bad: int, began: float) -> str:
    counted = ", ".join(f"{count} {what}" for what, count in sorted(campaign.counts.items()))
    broken = ", ".join(f"{count} {cause}" for cause, count in causes.items())
    return (
        f"{bad} of {causes.total()} rounds broke a law in {time.monotonic() - began:.0f} s;"
        f" {campaign.breaker.kills} processes killed; {counted}; faults: {broken}"
    )


async def _main() -> int:
    parser = argparse.ArgumentParser(
        description="Rounds of kills and faults under load; ends with 1 when one broke a law."
    )
    parser.add_argument("names", nargs="*", metavar="SET-UP", help=f"of {', '.join(SET_UPS)}")
    parser.add_argument("--rounds", type=int, default=12, help="of each (12)")
    parser.add_argument("--minutes", type=float, default=0, help="of each, instead")
    parser.add_argument("--seed", type=int, default=1, help="of what clients and faults do (1)")
    parser.add_argument("--at-once", action="store_true", help="all set-ups at the same time")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(SET_UPS):
        parser.error(f"no such set-up: {', '.join(unknown)}")
    names = list(asked.names or SET_UPS)
    if why := postgresql.missing():
        print(f"left out: {[name for name in names if SET_UPS[name].on_postgresql]}: {why}")
        names = [name for name in names if not SET_UPS[name].on_postgresql]
    task = asyncio.current_task()
    assert task is not None
    # stopping this program stops the servers, too
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    width = asyncio.Semaphore(len(names) if asked.at_once else 1)

    async def one(name: str) -> int:
        async with width:
            return await _campaign(name, asked.rounds, asked.minutes, asked.seed)

    return sum(await asyncio.gather(*map(one, names)))


if __name__ == "__main__":
    sys.exit(bool(asyncio.run(_main())))
