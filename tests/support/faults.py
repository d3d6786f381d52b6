"""Clients of several stores on one log, while things break; what they were told is a history.

python tests/support/faults.py --rounds 300     # of every set-up, with counts at the end of each
python tests/support/faults.py replicas         # ten of one
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import histories
import postgresql
import storenode
from histories import Event, Listing, Operation, Watching

from inkube.storage.log import FIRST_REVISION, MemoryLog
from inkube.storage.store import Store

CLIENTS, WATCHERS, KEYS = 6, 2, 3
PAUSE = 0.002  # between two questions of a client: histories are searched, and should end
SECONDS = 0.5  # of questions in a round; its fault comes in the middle
ASLEEP = 2.5  # longer than a lock is left to a process that sleeps


class Gone(Exception):
    """The node ended before it answered."""


class NotAsked(Gone):
    """The node had ended before."""


class Asked(Protocol):
    """What clients need of a node."""

    async def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """The answer. Raises Gone."""
        ...


class LocalNode:
    """A store in this process."""

    def __init__(self, store: Store) -> None:
        self._node = storenode.Node(store)

    async def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """See Asked."""
        await asyncio.sleep(0)
        answer = await self._node.answer({"ask": what, **details})
        await asyncio.sleep(0)
        return answer


class Node:
    """A store in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ended = False
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, place: str) -> "Node":
        """A node that has opened its store."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, storenode.__file__, place, stdin=-1, stdout=-1, limit=2**24
        )
        assert process.stdout is not None
        if not await process.stdout.readline():
            raise RuntimeError(f"a node at {place} did not start")
        return cls(process)

    async def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """See Asked."""
        if self._ended:
            raise NotAsked
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        assert self.process.stdin is not None
        try:
            line = json.dumps({"id": number, "ask": what, **details})
            self.process.stdin.write(line.encode() + b"\n")
            told: dict[str, Any] = await answer
            return told
        except ConnectionError as error:
            raise Gone from error
        finally:
            self._waiting.pop(number, None)

    async def end(self, number: int = signal.SIGTERM) -> None:
        """End the process and wait for that."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
                self.process.send_signal(number)
        await self.process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            answer = json.loads(line)
            waiting = self._waiting.get(answer["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
        self._ended = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Gone())


@dataclass
class Round:
    """What was told while some clients asked and one thing broke."""

    prefix: str
    history: list[Operation] = field(default_factory=list)
    lists: list[Listing] = field(default_factory=list)
    watches: list[Watching] = field(default_factory=list)


class Verdict(NamedTuple):
    """What is wrong with a round: acknowledged writes that are lost, lists and watches that differ
    from the log, histories that are not linearizable."""

    lost: list[str]
    wrong: list[str]
    unordered: list[str]


class Fleet:
    """Nodes on one log. Rounds are played one after the other, each on keys of its own."""

    def __init__(self, nodes: list[Any], seed: int = 0) -> None:
        self.nodes = nodes
        self.random = random.Random(seed)
        self._rounds = itertools.count()
        self._tags = itertools.count()
        self._since = FIRST_REVISION

    async def play(self, fault: Callable[[], Awaitable[None]], seconds: float = SECONDS) -> Round:
        """One round; the fault comes after half of its time, and is over when this returns."""
        played = Round(f"/r/{next(self._rounds)}/")
        over = asyncio.Event()
        tasks = [asyncio.create_task(self._client(played, over)) for _ in range(CLIENTS)]
        tasks += [asyncio.create_task(self._watcher(played, over)) for _ in range(WATCHERS)]
        await asyncio.sleep(seconds / 2)
        await fault()
        await asyncio.sleep(seconds / 2)
        over.set()
        await asyncio.gather(*tasks)
        return played

    async def faults_of(self, played: Round) -> list[str]:
        """What is wrong with a round; empty when all laws hold."""
        verdict = await self.judged(played)
        return verdict.lost + verdict.wrong + verdict.unordered

    async def judged(self, played: Round) -> Verdict:
        """What is wrong with a round, and how."""
        log = [each for each in await self._log() if each.key.startswith(played.prefix)]
        lost = histories.lost(played.history, log)
        found = histories.compare(played.history, played.lists, played.watches, log)
        guilty = histories.judge(played.history)
        return Verdict(
            lost,
            [each for each in found if each not in lost],
            [f"no order explains {guilty}"] if guilty else [],
        )

    async def _log(self) -> list[Event]:
        """Every step since the last round, as a node that lives tells it."""
        while True:
            with contextlib.suppress(Gone):
                answer = await self._any().ask("changes", key="/r/", after=self._since)
                if answer["outcome"] == "done":
                    events = [Event(*each) for each in answer["events"]]
                    self._since = answer["revision"]
                    return events
            await asyncio.sleep(0.05)

    def _any(self) -> Any:
        return self.random.choice(self.nodes)

    async def _client(self, played: Round, over: asyncio.Event) -> None:
        seen: dict[str, int] = {}
        while not over.is_set():
            key = f"{played.prefix}{self.random.randrange(KEYS)}"
            kind = self.random.choice(
                ("get", "get", "list", "create", "update", "update", "delete")
            )
            node = self._any()
            await asyncio.sleep(PAUSE)
            try:
                if kind == "list":
                    await self._list(node, played)
                else:
                    await self._operate(node, played, seen, kind, key)
            except Gone:
                await asyncio.sleep(0.01)

    async def _list(self, node: Asked, played: Round) -> None:
        asked = time.monotonic()
        answer = await node.ask("list", key=played.prefix)
        if answer["outcome"] == "done":
            played.lists.append(
                Listing(asked, time.monotonic(), answer["revision"], answer["items"])
            )
        else:
            await asyncio.sleep(0.01)

    async def _operate(
        self, node: Asked, played: Round, seen: dict[str, int], kind: Any, key: str
    ) -> None:
        expected = seen.get(key, 0)
        if kind in ("update", "delete") and not expected:
            kind = "get"
        operation = Operation(kind, key, time.monotonic())
        if kind != "get":
            operation.tag = f"t{next(self._tags)}"
            operation.expected = 0 if kind == "create" else expected
        played.history.append(operation)
        try:
            answer = await node.ask(kind, key=key, tag=operation.tag, expected=operation.expected)
        except NotAsked:
            played.history.remove(operation)
            raise
        operation.outcome = answer["outcome"]
        if operation.outcome == "unknown":
            await asyncio.sleep(0.01)
            return
        operation.answered = time.monotonic()
        if operation.outcome == "done":
            operation.revision = answer["revision"]
            if kind == "get":
                operation.tag = answer["tag"]
            seen[key] = 0 if kind == "delete" else operation.revision

    async def _watcher(self, played: Round, over: asyncio.Event) -> None:
        """Follow from node to node: each question goes on where the last answer ended."""
        watch: Watching | None = None
        place = 0
        while not over.is_set():
            with contextlib.suppress(Gone):
                if watch is None:
                    answer = await self._any().ask("list", key=played.prefix)
                    if answer["outcome"] == "done":
                        place = answer["revision"]
                        watch = Watching(played.prefix, place)
                        played.watches.append(watch)
                else:
                    answer = await self._any().ask("changes", key=played.prefix, after=place)
                    if answer["outcome"] == "done":
                        watch.events += [Event(*each) for each in answer["events"]]
                        place = max(place, answer["revision"])
            await asyncio.sleep(0.02)


class Breaker:
    """Faults of a fleet of processes."""

    def __init__(self, fleet: Fleet, place: str, cluster: postgresql.Cluster | None = None) -> None:
        self._fleet = fleet
        self._place = place
        self._cluster = cluster

    @property
    def names(self) -> list[str]:
        """Every fault there is."""
        return ["kill", "sleep"] + (["restart", "crash", "cut"] if self._cluster else [])

    async def cause(self, name: str) -> None:
        """Let it happen; when this returns every node answers again, or is about to."""
        await getattr(self, name)()

    async def kill(self) -> None:
        """kill -9 of a node, and another in its place."""
        number = self._fleet.random.randrange(len(self._fleet.nodes))
        await self._fleet.nodes[number].end(signal.SIGKILL)
        self._fleet.nodes[number] = await Node.start(self._place)

    async def sleep(self) -> None:
        """A node stops in the middle of what it does, and goes on later."""
        node = self._fleet.random.choice(self._fleet.nodes)
        node.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(ASLEEP if self._cluster else 0.3)
        node.process.send_signal(signal.SIGCONT)

    async def restart(self) -> None:
        """The database is restarted."""
        assert self._cluster is not None
        await asyncio.to_thread(self._cluster.restart)

    async def crash(self) -> None:
        """The database ends without a word and recovers."""
        assert self._cluster is not None
        await asyncio.to_thread(self._cluster.restart, "immediate")

    async def cut(self) -> None:
        """Every connection ends."""
        assert self._cluster is not None
        await self._cluster.cut()


@contextlib.asynccontextmanager
async def processes(place: str, count: int, seed: int = 0) -> AsyncIterator[Fleet]:
    """A fleet of processes."""
    nodes = [await Node.start(place) for _ in range(count)]
    fleet = Fleet(nodes, seed)
    try:
        yield fleet
    finally:
        for node in fleet.nodes:
            await node.end()


@contextlib.asynccontextmanager
async def in_memory(seed: int = 0) -> AsyncIterator[Fleet]:
    """A fleet of one store in this process."""
    async with Store(MemoryLog(), storenode.JSONCodec(), storenode.KEEP) as store:
        yield Fleet([LocalNode(store)], seed)


class SetUp(NamedTuple):
    """How many processes, and on what; none: one store in memory, of which nothing breaks."""

    about: str
    nodes: int
    on_postgresql: bool = False


SET_UPS = {
    "memory": SetUp("one store in memory", 0),
    "file": SetUp("one process on a file", 1),
    "workers": SetUp("two processes on a file", 2),
    "replicas": SetUp("three processes on PostgreSQL", 3, on_postgresql=True),
}


@contextlib.asynccontextmanager
async def _begun(what: SetUp, seed: int) -> AsyncIterator[tuple[Fleet, Breaker | None]]:
    async with contextlib.AsyncExitStack() as stack:
        if not what.nodes:
            yield await stack.enter_async_context(in_memory(seed)), None
            return
        cluster = None
        if what.on_postgresql:
            cluster = stack.enter_context(postgresql.cluster(durable=True))
            place = await cluster.database()
        else:
            place = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "inkube.db")
        fleet = await stack.enter_async_context(processes(place, what.nodes, seed))
        yield fleet, Breaker(fleet, place, cluster)


async def _campaign(name: str, rounds: int, seed: int) -> int:
    """Play rounds and print what came of them; how many broke a law."""
    causes: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    bad = 0
    began = time.monotonic()
    async with _begun(SET_UPS[name], seed) as (fleet, breaker):
        for number in range(rounds):
            cause = breaker.names[number % len(breaker.names)] if breaker else "nothing"
            causes[cause] += 1
            fault = partial(breaker.cause, cause) if breaker else _nothing
            played = await fleet.play(fault)
            verdict = await fleet.judged(played)
            sums["operations"] += len(played.history) + len(played.lists)
            sums["acknowledged writes"] += sum(each.is_acknowledged for each in played.history)
            sums["without an answer"] += sum(each.outcome == "unknown" for each in played.history)
            sums["lost"] += len(verdict.lost)
            sums["histories not linearizable"] += len(verdict.unordered)
            sums["lists or watches wrong"] += len(verdict.wrong)
            found = verdict.lost + verdict.wrong + verdict.unordered
            bad += bool(found)
            for text in found[:3]:
                print(f"round {number}, {cause}: {text[:2000]}", flush=True)
    took = time.monotonic() - began
    counted = ", ".join(f"{count} {what}" for what, count in sums.items())
    broken = ", ".join(f"{count} {cause}" for cause, count in causes.items())
    print(f"{name} ({SET_UPS[name].about}): {rounds} rounds ({broken}) in {took:.0f} s: {counted}",
          flush=True)  # fmt: skip
    return bad


async def _nothing() -> None:
    pass


async def _main() -> int:
    parser = argparse.ArgumentParser(
        description="Rounds of kills and faults under load; ends with 1 when one broke a law."
    )
    parser.add_argument("names", nargs="*", metavar="SET-UP", help=f"of {', '.join(SET_UPS)}")
    parser.add_argument("--rounds", type=int, default=10, help="of each (10)")
    parser.add_argument("--seed", type=int, default=1, help="of what clients and faults do (1)")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(SET_UPS)
    if unknown:
        parser.error(f"no such set-up: {', '.join(unknown)}")
    names = asked.names or SET_UPS
    return sum([await _campaign(name, asked.rounds, asked.seed) for name in names])


if __name__ == "__main__":
    sys.exit(bool(asyncio.run(_main())))
