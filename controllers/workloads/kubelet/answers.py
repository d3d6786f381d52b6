"""The objects that define responses of a container: `Script`s, `ClusterScript`s, KWOK's kinds.

A namespaced object of KWOK applies to the pod with the same name, a Cluster object to the pods that
its selector matches. In an object, the first group that names the container, or that names no
containers, is used.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from inkube.client import Object
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.kubelet.files import Files, Process
from inkube.controllers.workloads.kubelet.logbook import Line
from inkube.formats import gotime, regexp

GROUP = "kwok.x-k8s.io/v1alpha1"
SCRIPTS = "workloads.inkube.dev/v1/scripts"
CLUSTER_SCRIPTS = "workloads.inkube.dev/v1/clusterscripts"
LARGEST = 1024 * 1024
"""Bytes of all log texts for a container; the rest is cut off."""


class Answers:
    """Finds objects in shared caches, which are created at the first request for an object."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def scripts(self, pod: Object, container: str) -> list[Object]:
        """Return the specs of scripts for a container: Scripts, then
        ClusterScripts, each by name."""
        namespace = pod["metadata"]["namespace"]
        found = await self._objects(SCRIPTS, namespace)
        found += await self._objects(CLUSTER_SCRIPTS, "")
        specs = [obj.get("spec") or {} for obj in found]
        fitting = [
            _matching_image(spec, pod, container)
            for spec in specs
            if _selects(spec.get("selector"), pod) and _names(spec, container)
        ]
        return [spec for spec in fitting if spec is not None]

    async def first(self, plural: str, member: str, pod: Object, container: str) -> Object | None:
        """Return the group of a kind of KWOK that applies. `container` is "" for
        pods as a whole."""
        own = pod["metadata"]
        for obj in await self._objects(f"{GROUP}/{plural}", own["namespace"]):
            if obj["metadata"]["name"] == own["name"]:
                group = _group(obj, member, container)
                if group is not None:
                    return group
        for obj in await self._objects(f"{GROUP}/cluster{plural}", ""):
            selector = (obj.get("spec") or {}).get("selector") or {}
            if _is_among(own["namespace"], selector.get("matchNamespaces")) and _is_among(
                own["name"], selector.get("matchNames")
            ):
                group = _group(obj, member, container)
                if group is not None:
                    return group
        return None

    async def _objects(self, resource: str, namespace: str) -> list[Object]:
        informer = self._cluster.informer(resource)
        await informer.wait_synced()
        await informer.caught_up()  # a user can have created an object meanwhile
        found = informer.items(namespace)
        return sorted(found, key=lambda obj: str(obj["metadata"]["name"]))


def lines(specs: Iterable[Object], start: datetime, *, previous: bool) -> list[Line]:
    """Return the log lines that scripts define for a container, in order of time."""
    found, room = [], LARGEST
    for spec in specs:
        for entry in spec.get("logs") or ():
            if bool(entry.get("previous")) is not previous:
                continue
            text = entry["text"].encode()[:room]
            room -= len(text)
            moment = start + timedelta(seconds=_seconds(entry.get("after")))
            is_error = entry.get("stream", "").lower() == "stderr"
            found += [Line(moment, line, is_error) for line in _lines(text)]
    return sorted(found, key=lambda line: line.moment)


async def run(
    specs: list[Object], command: list[str], process: Process, cluster: Cluster
) -> int | None:
    """Run a command as a script defines it. Returns its exit code; None if no script defines it."""
    for spec in specs:
        for entry in spec.get("exec") or ():
            if not _matches_command(entry, command):
                continue
            delay = _seconds(entry.get("delay"))
            if delay:
                await cluster.clock.sleep(delay)
            if entry.get("stdin", "").lower() == "echo":
                while data := await process.read():
                    await process.write(data)
            await process.write((entry.get("stdout") or "").encode())
            await process.write((entry.get("stderr") or "").encode(), is_error=True)
            return int(entry.get("exitCode") or 0)
    return None


def files(specs: Iterable[Object]) -> Files | None:
    """Return the files that scripts define for a container, or None if no script has `files`."""
    found: dict[str, bytes] = {}
    given = False
    for spec in specs:
        if spec.get("files") is not None:
            given = True
            found |= {path: text.encode() for path, text in spec["files"].items()}
    return Files(found) if given else None


async def forward(specs: list[Object], port: int, side: Any) -> bool:
    """Send the body that a script defines for a port, after the client has sent data.

    Waits for that data for 60 real seconds at most. Returns False if no script defines the port.
    """
    for spec in specs:
        for entry in spec.get("forwards") or ():
            if entry["port"] == port:
                async with asyncio.timeout(60):
                    await side.read()
                await side.write((entry.get("body") or "").encode())
                return True
    return False


def _matches_command(entry: Object, command: list[str]) -> bool:
    if entry.get("command") is not None:
        return bool(entry["command"] == command)
    pattern = entry.get("pattern")
    return pattern is not None and regexp.compile(pattern).matches(" ".join(command))


def _selects(selector: Object | None, pod: Object) -> bool:
    selector = selector or {}
    own = pod["metadata"]
    labels = own.get("labels") or {}
    wanted = selector.get("matchLabels") or {}
    return (
        _is_among(own["namespace"], selector.get("matchNamespaces"))
        and _is_among(own["name"], selector.get("matchNames"))
        and all(labels.get(name) == value for name, value in wanted.items())
    )


def _matching_image(spec: Object, pod: Object, container: str) -> Object | None:
    images = (spec.get("selector") or {}).get("matchImages")
    if images is None:
        return spec
    for kind in ("initContainers", "containers"):
        for one in pod["spec"].get(kind) or ():
            if one["name"] == container and one.get("image") in images:
                return spec
    return None


def _group(obj: Object, member: str, container: str) -> Object | None:
    for group in (obj.get("spec") or {}).get(member) or ():
        if not container or _names(group, container):
            found: Object = group
            return found
    return None


def _names(group: Object, container: str) -> bool:
    return _is_among(container, group.get("containers"))


def _is_among(name: str, names: list[str] | None) -> bool:
    return not names or name in names


def _seconds(text: str | None) -> float:
    if not text:
        return 0.0
    try:
        return max(gotime.parse_duration(text) / 1e9, 0.0)
    except ValueError:
        return 0.0


def _lines(text: bytes) -> list[bytes]:
    return [
        line if line.endswith(b"\n") else line + b"\n" for line in text.splitlines(keepends=True)
    ]
