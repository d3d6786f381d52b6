"""Events of kubelets about the containers of their pods, which `kubectl describe` shows.

Off by default, because each container causes four events. `Workloads(kubelet_events=True)` and
`inkube serve --workloads` turn them on. Follows pkg/kubelet/kuberuntime and pkg/kubelet/events of
1.36.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.kinds import Change, Controller, Key, Watch

NAME = "kubelet"
_SPECS = {
    "initContainerStatuses": "initContainers",
    "containerStatuses": "containers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}
_BACK_OFF = "CrashLoopBackOff"


class Report(NamedTuple):
    """One event of a container."""

    container: str
    """The path of the container in the pod: `spec.containers{name}`."""
    type: str
    reason: str
    message: str


class Reports:
    """Writes events about changes of pods. Its memory is bounded by the number of pods."""

    def __init__(self, cluster: Cluster, manages: Callable[[Object], bool]) -> None:
        self._cluster = cluster
        self._manages = manages
        self._events = cluster.recorder(NAME, NAME)
        self._due: dict[Key, list[tuple[Object, Report]]] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        watch = Watch(PODS, self._on_change)
        self._cluster.manager.add(Controller("kubelet-events", self._write, (watch,)))

    def _on_change(self, change: Change) -> Iterable[Key]:
        pod = change.new
        if pod is None or not self._manages(pod):
            return ()
        found = list(of_change(change.old, pod))
        if not found:
            return ()
        key = Key.of(pod)
        self._due.setdefault(key, []).extend((pod, report) for report in found)
        return (key,)

    async def _write(self, key: Key) -> None:
        for pod, report in self._due.pop(key, ()):
            host = pod["spec"].get("nodeName", "")
            await self._events.of_part(
                pod, report.type, report.reason, report.message, part=report.container, host=host
            )


def of_change(old: Object | None, pod: Object) -> Iterator[Report]:
    """Yield the reports of a kubelet about a change; a pod without an old state has no reports."""
    if old is None:
        return
    for member in _SPECS:
        before = {one["name"]: one for one in (old.get("status") or {}).get(member) or ()}
        specs = {one["name"]: one for one in pod["spec"].get(_SPECS[member]) or ()}
        for one in (pod.get("status") or {}).get(member) or ():
            place = f"spec.{_SPECS[member]}{{{one['name']}}}"
            was = before.get(one["name"]) or {}
            if _starts(was, one):
                yield from _start(place, specs.get(one["name"]) or {})
            elif _waits(one) and not _waits(was):
                own = pod["metadata"]
                message = (
                    f"Back-off restarting failed container {one['name']} in pod "
                    f"{own['name']}_{own['namespace']}({own['uid']})"
                )
                yield Report(place, "Warning", "BackOff", message)
            is_killed = pods.is_deleting(pod) and not pods.is_deleting(old)
            if is_killed and "running" in (one.get("state") or {}):
                message = f"Stopping container {one['name']}"
                yield Report(place, "Normal", "Killing", message)


def _start(field_path: str, spec: Object) -> Iterator[Report]:
    image = spec.get("image", "")
    if spec.get("imagePullPolicy") == "Never":
        message = f'Container image "{image}" already present on machine'
        yield Report(field_path, "Normal", "Pulled", message)
    else:
        yield Report(field_path, "Normal", "Pulling", f'Pulling image "{image}"')
        message = (
            f'Successfully pulled image "{image}" in 0s (0s including waiting). '
            "Image size: 0 bytes."
        )
        yield Report(field_path, "Normal", "Pulled", message)
    yield Report(field_path, "Normal", "Created", "Container created")
    yield Report(field_path, "Normal", "Started", "Container started")


def _starts(before: Object, now: Object) -> bool:
    """Return whether a container has started since the previous status; it can have
    ended already."""
    state, was = now.get("state") or {}, before.get("state") or {}
    if "running" in state:
        return "running" not in was or now.get("restartCount") != before.get("restartCount")
    return "terminated" in state and "running" not in was and "terminated" not in was


def _waits(container: Object) -> bool:
    waiting = (container.get("state") or {}).get("waiting") or {}
    return bool(waiting.get("reason") == _BACK_OFF)
