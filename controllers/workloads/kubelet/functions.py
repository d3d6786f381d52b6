"""Pods as Python functions: a coroutine for each container, which ends with its coroutine.

    @pod(image="worker:*")
    async def worker(container):
        print("hello from", container.pod["metadata"]["name"])  # kubectl logs
        await container.sleep(5)                                # of the server's clock
        return 3                                                # the exit code; None is 0

An exception causes exit code 1 and a traceback in the log. The deletion of a pod cancels the
coroutine (SIGTERM), which can clean up during the pod's grace period. restartPolicy restarts it.
"""

import asyncio
import fnmatch
import sys
import traceback
import types
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from inkube.client import Client, Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.kubelet import (
    ephemeral,
    output,
    readiness,
    resizes,
    restarts,
    variables,
)
from inkube.controllers.workloads.kubelet import files as simple_files
from inkube.controllers.workloads.kubelet.admission import Admission
from inkube.controllers.workloads.kubelet.claims import Claims
from inkube.controllers.workloads.kubelet.files import Files
from inkube.controllers.workloads.kubelet.logbook import LogBook
from inkube.controllers.workloads.kubelet.statuses import Statuses
from inkube.controllers.workloads.stages.engine import delete_now
from inkube.controllers.workloads.stages.native import Native
from inkube.formats import format_time
from inkube.kinds import Change, Clock, Controller, Key, Result, StatusError, Watch

EXIT_SIGKILL, EXIT_SIGTERM = 137, 143
INPUT_QUEUE_SIZE = 64
"""Pieces of input that wait until the function reads them, at most."""
MOST = 1000
"""The number of running functions from which on further pods wait."""
MAX_TURNS = 100
"""Iterations of the event loop in a row after which a function that never waits counts as one that
does."""

Main = Callable[["Container"], Awaitable[int | None]]
Exec = Callable[["Container", "Command"], Awaitable[int | None]]
Serve = Callable[["Container", "Connection"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command in a container (`kubectl exec`)."""

    arguments: list[str]
    read: Callable[[], Awaitable[bytes]]
    """The next bytes of stdin; b"" at its end."""
    write: Callable[..., Awaitable[None]]
    """`await write(data, is_error=False)`."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection to a port of a container (`kubectl port-forward`)."""

    port: int
    read: Callable[[], Awaitable[bytes]]
    write: Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class PodFunction:
    """The behavior of containers with matching images; `pod` creates it."""

    image: str
    main: Main
    ports: dict[int, Serve] = field(default_factory=dict)
    command: Exec | None = None

    def fits(self, image: str) -> bool:
        """Return whether the pattern of this function matches the image."""
        return fnmatch.fnmatchcase(image, self.image)

    def exec(self, function: Exec) -> Exec:
        """Decorate a coroutine of container and command, which answers `kubectl exec`."""
        self.command = function
        return function

    def port(self, number: int) -> Callable[[Serve], Serve]:
        """Return a decorator for a coroutine of container and connection, which answers connections
        to a port."""

        def keep(function: Serve) -> Serve:
            self.ports[number] = function
            return function

        return keep


def pod(*, image: str) -> Callable[[Main], PodFunction]:
    """Return a decorator for a function that runs containers with a matching image (`*`, `?`,
    `[…]`).

    A function runs only if `Workloads(pods=[…])` contains it.
    """

    def make(main: Main) -> PodFunction:
        return PodFunction(image, main)

    return make


def load_functions(sources: Iterable[PodFunction | Path | str]) -> list[PodFunction]:
    """Return the functions of all sources: a function itself, or the functions in a Python file.

    Raises ValueError if a file cannot be run or contains no function, OSError if a file does not
    exist.
    """
    found: list[PodFunction] = []
    for source in sources:
        found += [source] if isinstance(source, PodFunction) else _in_file(Path(source))
    return found


def _in_file(path: Path) -> list[PodFunction]:
    name = f"inkube_pods_{path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    source = path.read_bytes()
    sys.modules[name] = module  # dataclasses of the file look for it there
    try:
        exec(compile(source, path, "exec"), vars(module))  # noqa: S102 # it is the user's program
    except Exception as error:
        raise ValueError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    functions = [each for each in vars(module).values() if isinstance(each, PodFunction)]
    if not functions:
        raise ValueError(f"{path} has no function with @inkube.pod(image=…)")
    return functions


@dataclass(slots=True)
class Container:
    """The container, as an argument of its function."""

    pod: Object
    name: str
    spec: Object
    env: Mapping[str, str]
    client: Client
    """A client for the API; the kubelet owns its writes."""
    clock: Clock
    files: Files
    input: "asyncio.Queue[bytes]"

    @property
    def command(self) -> list[str]:
        """Command and arguments of the container. Values of the environment replace `$(NAME)`."""
        words = [*(self.spec.get("command") or ()), *(self.spec.get("args") or ())]
        return [variables.expanded(word, self.env) for word in words]

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds of the server's clock."""
        await self.clock.sleep(seconds)

    async def read(self) -> bytes:
        """Wait for input from an attached client and return it."""
        return await self.input.get()


class _Steps:
    """Runs a coroutine in the task that awaits this, and knows whether the coroutine waits."""

    def __init__(self, main: Awaitable[int | None]) -> None:
        self._main = main
        self._awaited: asyncio.Future[Any] | None = None
        """None before the start, and while it only lets other tasks run (`asyncio.sleep(0)`)."""
        self._turns = 0
        """Times in a row that it let other tasks run."""

    @property
    def waits(self) -> bool:
        """Whether the coroutine waits for something that has not happened yet."""
        if self._awaited is None:
            return self._turns > MAX_TURNS
        return not self._awaited.done()

    def __await__(self) -> Generator[Any, Any, int | None]:
        steps = self._main.__await__()
        advance: Callable[[], Any] = partial(next, steps)
        while True:
            try:
                self._awaited = advance()
            except StopIteration as end:
                code: int | None = end.value
                return code
            self._turns = self._turns + 1 if self._awaited is None else 0
            try:
                yield self._awaited
            except BaseException as error:  # noqa: BLE001 # a cancellation, or the end of the process
                advance = partial(steps.throw, error)
            else:
                advance = partial(next, steps)


class ContainerRun:
    """One run of a container."""

    def __init__(self, function: PodFunction, container: Container) -> None:
        self.function = function
        self.container = container
        self.book = LogBook(container.clock)
        self.exit_code = 0
        self.ended: datetime | None = None
        self._task: asyncio.Task[None] | None = None
        self._steps: _Steps | None = None
        self._is_stopping = False

    @property
    def is_busy(self) -> bool:
        """Whether the function continues by itself: it runs, and does not wait for anything. This
        includes the time until its end was reported."""
        return self._task is not None and not (self._steps and self._steps.waits)

    def start(self, on_end: Callable[[], None]) -> None:
        """Run the function as a task, and call `on_end` when the task ends."""
        name = f"container {self.container.name}"
        self._task = asyncio.create_task(self._run(), name=name)

        def end(task: "asyncio.Task[None]") -> None:
            self._task = None
            on_end()

        self._task.add_done_callback(end)

    def stop(self) -> None:
        """Act as SIGTERM: cancel the coroutine, which can clean up. Later calls do nothing."""
        if self._task is not None and not self._is_stopping:
            self._is_stopping = True
            self._task.cancel()

    def kill(self) -> None:
        """Act as SIGKILL: cancel the coroutine, and record the end without waiting for it."""
        if self._task is not None:
            self._task.cancel()
        self._end(EXIT_SIGKILL)

    async def run(self, command: list[str], process: Any) -> int:
        """Run a command in the container and return its exit code; 127 if it is unknown."""
        if self.function.command is not None:
            wanted = Command(command, process.read, process.write)
            code = await self.function.command(self.container, wanted)
            return int(code or 0)
        known = simple_files.command_function(command)
        if known is not None:
            return await known(self.container.files, command[1:], process)
        text = f"inkube: the function answers no command: {' '.join(command)[:200]}\n"
        await process.write(text.encode(), is_error=process.options.stderr)
        return 127

    async def connect(self, port: int, side: Any) -> None:
        """Serve a connection to a port."""
        await self.function.ports[port](self.container, Connection(port, side.read, side.write))

    async def feed(self, data: bytes) -> None:
        """Pass input of an attached client to the function. Waits while the queue is full."""
        await self.container.input.put(data)

    async def _run(self) -> None:
        with output.into(self.book):
            try:
                self._steps = _Steps(self.function.main(self.container))
                code = await self._steps
                self._end(0 if code is None else int(code))
            except asyncio.CancelledError:
                self._end(EXIT_SIGTERM)
            except SystemExit as error:
                self._end(error.code if isinstance(error.code, int) else int(bool(error.code)))
            except Exception:  # noqa: BLE001 # any exception ends the container
                self.book.write(traceback.format_exc().encode(), is_error=True)
                self._end(1)

    def _end(self, code: int) -> None:
        if self.ended is None:
            self.exit_code = code
            self.ended = self.container.clock.now()
            self.book.end()

    def state(self) -> Object | None:
        """Return the `terminated` state for the container's status, or None while the function
        runs."""
        if self.ended is None:
            return None
        reason = "Completed" if self.exit_code == 0 else "Error"
        return {"exitCode": self.exit_code, "reason": reason, "finishedAt": format_time(self.ended)}


class Functions:
    """Runs the functions of pods on simulated nodes. Without functions it does nothing."""

    def __init__(
        self,
        cluster: Cluster,
        functions: Iterable[PodFunction],
        manages: Callable[[Object], bool],
        ready: Native,
        admission: Admission,
        statuses: Statuses,
    ) -> None:
        self._cluster = cluster
        self._client = cluster.client("kubelet")
        self._claims = Claims(cluster)
        self._functions = tuple(functions)
        self._manages = manages
        self._ready = ready
        self._admission = admission
        self._statuses = statuses
        self._events = cluster.recorder("kubelet", "kubelet")
        self._pods: dict[str, dict[str, ContainerRun]] = {}
        self._previous_books: dict[tuple[str, str], LogBook] = {}
        self._uids: dict[Key, str] = {}
        self._add: Callable[[Key], None] = lambda key: None

    def add(self) -> None:
        """Add the controller to the manager, if there are functions."""
        if not self._functions:
            return
        watches = (Watch(PODS, keys=self._keys), *self._claims.watches())
        controller = Controller(
            "kubelet-functions",
            self._reconcile,
            watches,
            sources=(self._feed,),
            is_busy=self._is_busy,
        )
        self._cluster.manager.add(controller)

    def _is_busy(self) -> bool:
        return any(one.is_busy for runs in self._pods.values() for one in runs.values())

    def matches(self, pod: Object) -> bool:
        """Return whether a function runs at least one container of the pod."""
        return bool(self._functions) and any(
            self._of(one) is not None for one in pod["spec"].get("containers") or ()
        )

    def running(self, pod: Object, container: str) -> ContainerRun | None:
        """Return the current run of a container, or None if no function runs it."""
        return self._pods.get(pod["metadata"]["uid"], {}).get(container)

    def book(self, pod: Object, container: str, *, previous: bool) -> LogBook | None:
        """Return the log of a container's current run or of its previous run, or None without such
        a run."""
        if previous:
            return self._previous_books.get((pod["metadata"]["uid"], container))
        running = self.running(pod, container)
        return running.book if running is not None else None

    def listening(self, pod: Object, port: int) -> ContainerRun | None:
        """Return the run whose function serves a port of the pod, or None if no
        function serves it."""
        for running in self._pods.get(pod["metadata"]["uid"], {}).values():
            if port in running.function.ports:
                return running
        return None

    def _of(self, container: Object) -> PodFunction | None:
        image = container.get("image", "")
        return next((one for one in self._functions if one.fits(image)), None)

    def _keys(self, change: Change) -> Iterable[Key]:
        return (Key.of(change.object),) if self.matches(change.object) else ()

    def _feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        self._add = add
        return self._stop

    def _stop(self) -> None:
        """Kill all functions, because the server stops."""
        self._add = lambda key: None
        for uid in list(self._pods):
            self._forget(uid)

    async def _reconcile(self, key: Key) -> Result | None:
        pod = self._cluster.informer(PODS).get(key)
        uid = pod["metadata"]["uid"] if pod is not None else ""
        known = self._uids.get(key, uid)
        if known != uid:
            self._forget(known)
            self._uids.pop(key, None)
        if pod is None or not self.matches(pod) or not self._manages(pod):
            return None
        self._uids[key] = uid
        if pods.is_deleting(pod):
            return await self._terminate(pod)
        if pods.phase(pod) == "Pending":
            return await self._start(pod)
        if pods.phase(pod) == "Running":
            return await self._sync_pod(pod)
        return None

    async def _start(self, pod: Object) -> Result | None:
        if sum(map(len, self._pods.values())) >= MOST:
            return Result(requeue_after=1.0)
        if await self._claims.is_missing_one(pod):
            return None
        try:
            made = [
                await self._make(pod, one)
                for one in pod["spec"]["containers"]
                if self._of(one) is not None
            ]
        except StatusError as error:
            await self._wait_for_config(pod, error)
            return Result(requeue_after=1.0)
        assert self._ready.status is not None, "pod-ready patches the status"
        self._pods[pod["metadata"]["uid"]] = {one.container.name: one for one in made}
        status = self._ready.status(pod)
        self._statuses.complete(pod, status, pod)
        changed = await self._set_status(pod, status)
        for running in made:
            running.container.pod = changed
            running.start(lambda: self._add(Key.of(pod)))
        return None

    async def _wait_for_config(self, pod: Object, error: StatusError) -> None:
        if (pod.get("status") or {}).get("containerStatuses") is not None:
            return
        why = {"reason": "CreateContainerConfigError", "message": error.message}
        await self._set_status(pod, {"containerStatuses": pods.unstarted(pod, {"waiting": why})})

    async def _make(self, pod: Object, spec: Object, files: Files | None = None) -> ContainerRun:
        function = self._of(spec)
        assert function is not None, "asked before"
        container = Container(
            pod,
            spec["name"],
            spec,
            await variables.of_container(self._client, pod, spec),
            self._client,
            self._cluster.clock,
            files or Files(),
            asyncio.Queue(INPUT_QUEUE_SIZE),
        )
        return ContainerRun(function, container)

    async def _sync_pod(self, pod: Object) -> Result | None:
        """Write the ends of containers to the status, carry out resizes, and restart the containers
        that are due."""
        runs = self._pods.get(pod["metadata"]["uid"])
        if runs is None:  # an earlier server ran it
            await self._set_status(pod, _lost_status(pod, format_time(self._cluster.clock.now())))
            return None
        told = self._status_patch(pod, runs)
        if told is not None:
            await self._set_status(pod, told)
            return None
        moment = self._cluster.clock.now()
        now = format_time(moment)
        patch, left = restarts.due(pod, moment)
        resize = resizes.due(pod, self._admission, now) if patch is None else None
        allocated = self._admission.allocated(pod)
        patch = patch or resize or ephemeral.due(pod, now) or self._statuses.due(pod, allocated)
        if patch is None:
            left = left or resizes.retry_after(pod)
            return Result(requeue_after=left) if left else None
        changed = await self._set_status(pod, patch)
        for report in resizes.reports(pod, resize) if resize is not None else ():
            await self._events.of_part(pod, *report, part="", host=pod["spec"]["nodeName"])
        before = pod["status"].get("containerStatuses") or ()
        counts = {one["name"]: one.get("restartCount", 0) for one in before}
        for one in patch.get("containerStatuses") or ():
            running = runs.get(one["name"])
            if running is not None and one.get("restartCount", 0) > counts.get(one["name"], 0):
                running.kill()  # it still runs if a resize restarts it
                await self._again(changed, running)
        return None

    async def _again(self, pod: Object, before: ContainerRun) -> None:
        uid, name = pod["metadata"]["uid"], before.container.name
        [spec] = [one for one in pod["spec"]["containers"] if one["name"] == name]
        again = await self._make(pod, spec, before.container.files)
        self._previous_books[uid, name] = before.book
        self._pods[uid][name] = again
        again.start(lambda: self._add(Key.of(pod)))

    def _status_patch(self, pod: Object, runs: Mapping[str, ContainerRun]) -> Object | None:
        """Return a patch of the status with newly ended containers, or None if the status has all
        ends."""
        changed = False
        statuses = []
        for one in pod["status"].get("containerStatuses") or ():
            running = runs.get(one["name"])
            ended = running.state() if running is not None else None
            began = (one.get("state") or {}).get("running")
            if ended is not None and began is not None:
                state = {"terminated": {**ended, "startedAt": began.get("startedAt")}}
                one = {**one, "state": state, "ready": False, "started": False}
                changed = True
            statuses.append(one)
        if not changed:
            return None
        now = format_time(self._cluster.clock.now())
        why = {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": now}
        conditions = [{"type": kind, **why} for kind in ("Ready", "ContainersReady")]
        return {"containerStatuses": statuses, "conditions": conditions}

    async def _terminate(self, pod: Object) -> Result | None:
        """Stop all functions; delete the pod when all have ended or its grace period is over."""
        own = pod["metadata"]
        runs = self._pods.get(own["uid"], {})
        for running in runs.values():
            running.stop()
        grace = timedelta(seconds=own.get("deletionGracePeriodSeconds") or 0)
        # deletionTimestamp is the end of the grace period, which began when it was set
        left = (pods.moment(own["deletionTimestamp"]) - self._cluster.clock.now()).total_seconds()
        if any(one.ended is None for one in runs.values()) and grace and left > 0:
            return Result(requeue_after=left)
        for running in runs.values():
            running.kill()
        told = self._status_patch(pod, runs) if pods.phase(pod) == "Running" else None
        if told is not None:
            finished = restarts.finished(
                pod, told["containerStatuses"], format_time(self._cluster.clock.now())
            )
            await self._set_status(pod, finished)
        await delete_now(self._client, PODS, pod)
        return None

    async def _set_status(self, pod: Object, status: Object) -> Object:
        own = pod["metadata"]
        readiness.note_schedule(pod, status, format_time(self._cluster.clock.now()))
        return await self._client.patch(
            PODS,
            own["name"],
            own["namespace"],
            patch={"status": status},
            type="strategic",
            subresource="status",
        )

    def _forget(self, uid: str) -> None:
        for name, running in self._pods.pop(uid, {}).items():
            running.kill()
            self._previous_books.pop((uid, name), None)
        if not self._pods:
            output.restore()


def _lost_status(pod: Object, now: str) -> Object:
    """Return the status of a pod whose functions ended because their server ended."""
    containers = [
        {
            **one,
            "state": {
                "terminated": {"exitCode": EXIT_SIGKILL, "reason": "Error", "finishedAt": now}
            },
        }
        for one in pod["status"].get("containerStatuses") or ()
    ]
    return restarts.finished(pod, containers, now)
