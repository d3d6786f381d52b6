"""Logs, commands, attach and ports of containers on simulated nodes.

The first of these responds: the Python function of the container, Scripts, KWOK's kinds (which read
files and run programs of this machine only if `allow_local` permits it). Otherwise, the log is
empty, the exit code is 127 and connections are refused.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.kubelet import answers, files, local
from inkube.controllers.workloads.kubelet.answers import Answers
from inkube.controllers.workloads.kubelet.files import Files
from inkube.controllers.workloads.kubelet.functions import ContainerRun, Functions
from inkube.controllers.workloads.kubelet.logbook import LogBook
from inkube.kinds import Change, Key, status

NOT_FOUND = 127
"""The exit code of a shell for an unknown command."""
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class Containers:
    """Serves logs and commands of simulated containers, as
    `apiserver.subresources.containers.Kubelet`."""

    def __init__(
        self, cluster: Cluster, manages: Callable[[Object], bool], functions: Functions
    ) -> None:
        self._cluster = cluster
        self._manages = manages
        self._functions = functions
        self._answers = Answers(cluster)
        self._files: dict[str, dict[str, Files]] = {}
        cluster.informer(PODS).subscribe(self._on_change)

    def answers(self, pod: Object) -> bool:
        """Return whether a simulated kubelet serves the pod."""
        return self._manages(pod)

    async def logs(self, pod: Object, container: str, query: Any) -> AsyncGenerator[bytes, None]:
        """Yield the log in pieces. Raises StatusError 400 if the container has no such log."""
        told = _status(pod, container)
        state = told.get("state") or {}
        name = pod["metadata"]["name"]
        if query.previous:
            if not (told.get("lastState") or {}).get("terminated"):
                raise status.bad_request(
                    f'previous terminated container "{container}" in pod "{name}" not found'
                )
        elif not state.get("running") and not state.get("terminated"):
            waiting = state.get("waiting") or {}
            if not (told.get("lastState") or {}).get("terminated"):
                why = waiting.get("reason") or "ContainerCreating"
                raise status.bad_request(
                    f'container "{container}" in pod "{name}" is waiting to start: {why}'
                )
        async with (
            self._book(pod, container, told, previous=query.previous) as book,
            contextlib.aclosing(book.read(query)) as pieces,
        ):
            async for piece in pieces:
                yield piece

    async def exec(self, pod: Object, container: str, command: list[str], process: Any) -> int:
        """Run a command and return its exit code."""
        running = self._functions.running(pod, container)
        if running is not None:
            return await running.run(command, process)
        specs = await self._answers.scripts(pod, container)
        code = await answers.run(specs, command, process, self._cluster)
        if code is not None:
            return code
        known = files.command_function(command)
        own = self._files_of(pod, container, specs)
        if own is not None and known is not None:
            return await known(own, command[1:], process)
        group = await self._answers.first("execs", "execs", pod, container)
        if group is not None and group.get("local") is not None:
            self._check_local("Exec")
            return await local.run(group["local"], command, process)
        text = f"inkube: no script answers this command: {' '.join(command)[:200]}\n"
        text += "Create a Script for it: kubectl explain scripts\n"
        await process.write(text.encode(), is_error=process.options.stderr)
        return NOT_FOUND

    async def attach(self, pod: Object, container: str, process: Any) -> int:
        """Send new output of the container until it ends. Returns the exit code."""
        running = self._functions.running(pod, container)
        feeding = asyncio.ensure_future(_feed(running, process))
        try:
            async with (
                self._attach_to(pod, container) as book,
                contextlib.aclosing(book.read(_Following())) as pieces,
            ):
                async for piece in pieces:
                    if piece:
                        await process.write(piece)
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
        return running.exit_code if running is not None else 0

    @contextlib.asynccontextmanager
    async def _attach_to(self, pod: Object, container: str) -> AsyncIterator[LogBook]:
        group = None
        if self._functions.running(pod, container) is None:
            group = await self._answers.first("attaches", "attaches", pod, container)
        if group is not None and group.get("logsFile"):
            self._check_local("Attach")
            async with self._file(group["logsFile"], pod, container) as book:
                yield book
            return
        told = _status(pod, container)
        async with self._book(pod, container, told, previous=False) as book:
            yield book

    async def forward(self, pod: Object, port: int, side: Any) -> None:
        """Serve a connection to a port. Raises StatusError if the pod does not serve the port."""
        running = self._functions.listening(pod, port)
        if running is not None:
            await running.connect(port, side)
            return
        for one in pod["spec"]["containers"]:
            specs = await self._answers.scripts(pod, one["name"])
            if await answers.forward(specs, port, side):
                return
        group = await self._port(pod, port)
        if group is not None:
            self._check_local("PortForward")
            await local.forward(group, side)
            return
        name = pod["metadata"]["name"]
        raise status.unknown(
            f"error forwarding port {port} to pod {name}: connection refused: nothing listens there"
        )

    def check_exec(self, pod: Object, container: str) -> None:
        """Check that a command can run in the container. Raises StatusError 404 if not."""
        state = _status(pod, container).get("state") or {}
        if not state.get("running"):
            raise status.StatusError(
                404, status.Reason.NOT_FOUND, f'container not found ("{container}")'
            )

    async def _port(self, pod: Object, port: int) -> Object | None:
        group = await self._answers.first("portforwards", "forwards", pod, "")
        if group is None:
            return None
        ports = group.get("ports")
        return group if not ports or port in ports else None

    @contextlib.asynccontextmanager
    async def _book(
        self, pod: Object, container: str, status: Object, *, previous: bool
    ) -> AsyncIterator[LogBook]:
        """Return the log of a container: of its function, of scripts, of a file, or
        an empty log."""
        known = self._functions.book(pod, container, previous=previous)
        if known is not None:
            yield known
            return
        specs = await self._answers.scripts(pod, container)
        if any(spec.get("logs") for spec in specs):
            async with self._scripted_book(
                pod, container, status, specs, previous=previous
            ) as book:
                yield book
            return
        group = await self._answers.first("logs", "logs", pod, container)
        path = (group or {}).get("previousLogsFile" if previous else "logsFile")
        if path:
            self._check_local("Logs")
            async with self._file(path, pod, container) as book:
                yield book
            return
        book = LogBook(self._cluster.clock)
        with self._end_with_container(pod, container, book):
            yield book

    @contextlib.asynccontextmanager
    async def _scripted_book(
        self, pod: Object, container: str, status: Object, specs: list[Object], *, previous: bool
    ) -> AsyncIterator[LogBook]:
        clock = self._cluster.clock
        book = LogBook(clock)
        lines = answers.lines(specs, _start_time(status, clock.now()), previous=previous)
        later = [line for line in lines if line.moment > clock.now()]
        for line in lines[: len(lines) - len(later)]:
            book.add(line)
        if previous:
            book.end()

        async def write() -> None:
            for line in later:
                await clock.sleep((line.moment - clock.now()).total_seconds())
                if book.is_over:
                    return
                book.add(line)

        writing = asyncio.create_task(write(), name="scripted log")
        try:
            with self._end_with_container(pod, container, book):
                yield book
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _file(self, path: str, pod: Object, container: str) -> AsyncIterator[LogBook]:
        book = LogBook(self._cluster.clock)
        book.write(await asyncio.to_thread(local.tail, Path(path)))
        with self._end_with_container(pod, container, book):
            yield book

    @contextlib.contextmanager
    def _end_with_container(self, pod: Object, container: str, book: LogBook) -> Iterator[None]:
        """End the log when the container ends, while the context is open."""
        informer, uid = self._cluster.informer(PODS), pod["metadata"]["uid"]

        def on_change(change: Change) -> None:
            if change.object["metadata"].get("uid") == uid and (
                change.new is None or _has_ended(change.new, container)
            ):
                book.end()

        now = informer.get(Key.of(pod))
        if now is None or now["metadata"]["uid"] != uid or _has_ended(now, container):
            book.end()
        informer.subscribe(on_change)
        try:
            yield
        finally:
            informer.unsubscribe(on_change)

    def _files_of(self, pod: Object, container: str, specs: list[Object]) -> Files | None:
        """Return the files of a container: those of its scripts, and those that
        were copied to it."""
        by_container = self._files.setdefault(pod["metadata"]["uid"], {})
        if container not in by_container:
            made = answers.files(specs)
            if made is None:
                return None
            by_container[container] = made
        return by_container[container]

    def _on_change(self, change: Change) -> None:
        if change.new is None:
            self._files.pop(change.object["metadata"].get("uid", ""), None)

    def _check_local(self, kind: str) -> None:
        if not self._cluster.config.allow_local:
            raise status.forbidden(
                "", "pods", "", f"{kind} may not use this machine unless allow_local says so"
            )


class _Following:
    """A query for all lines that are added from now on."""

    follow = True
    timestamps = False
    since_seconds = None
    since_time = ""
    tail_lines = 0
    limit_bytes = None


async def _feed(running: ContainerRun | None, process: Any) -> None:
    """Pass the client's input to the function of a container, if it has one."""
    while data := await process.read():
        if running is not None:
            await running.feed(data)


def _status(pod: Object, container: str) -> Object:
    told = pod.get("status") or {}
    for member in _STATUSES:
        for one in told.get(member) or ():
            if one["name"] == container:
                found: Object = one
                return found
    return {}


def _start_time(status: Object, now: datetime) -> datetime:
    state = status.get("state") or {}
    one = state.get("running") or state.get("terminated") or {}
    text = one.get("startedAt")
    return pods.moment(text) if text else now


def _has_ended(pod: Object, container: str) -> bool:
    return not (_status(pod, container).get("state") or {}).get("running")
