"""Files of `definitions` that are applied again when they change (`watch_definitions`).

Each change compares all objects of the files with the applied ones. An object that was refused is
therefore tried again at the next change of any file, for example the file of its CRD.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from inkube.apiserver.root import manifests
from inkube.apiserver.root.client import InProcessClient
from inkube.apiserver.root.editedfiles import EditedFiles, FileTimes
from inkube.apiserver.root.manifests import Manifest, ManifestError, Source
from inkube.controllers.eventnames import EventNames
from inkube.controllers.events import Recorder
from inkube.schemas.clock import Clock
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

logger = logging.getLogger(__name__)

COMPONENT = "inkube-definitions"
"""The source of the events that report what was applied and refused."""


class ObjectName(NamedTuple):
    """The name of an object in files; the version of its kind does not matter."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {path}"


class DefinitionFiles:
    """The files of some sources, and their objects that were applied to the server."""

    def __init__(
        self,
        client: InProcessClient,
        sources: Iterable[Source],
        wait_settled: Callable[[], Awaitable[None]],
        clock: Clock,
        names: EventNames,
        *,
        prune: bool = False,
    ) -> None:
        self._client = client
        self._sources = [Path(each) for each in sources if not isinstance(each, Mapping)]
        self._wait_settled = wait_settled
        self._recorder = Recorder(client, clock, names, COMPONENT)
        self._prune = prune
        self._files = EditedFiles(self._list)
        self._manifests: dict[Path, list[Manifest]] = {}
        self._applied: dict[ObjectName, Manifest] = {}

    def start(self, applied: Iterable[Manifest]) -> None:
        """Treat the current content of the files as applied. Raises ManifestError, OSError."""
        self._manifests = {path: manifests.read([path]) for path in self._files.stamps}
        self._applied = {self._name(each): each for each in applied}

    async def run(self) -> None:
        """Apply what changes, until cancelled. Raises OSError."""
        while True:
            previous = self._files.stamps
            await self._sync(previous, await self._files.wait_for_change())

    def _list(self) -> Iterator[Path]:
        for source in self._sources:
            with contextlib.suppress(FileNotFoundError):  # removed, for now or forever
                yield from manifests.files(source)

    async def _sync(self, previous: FileTimes, current: FileTimes) -> None:
        """Read the changed files, then apply and remove objects until the server matches all
        files."""
        for path in [path for path in self._manifests if path not in current]:
            del self._manifests[path]
        is_whole = True
        for path in [path for path in current if current[path] != previous.get(path)]:
            try:
                self._manifests[path] = await asyncio.to_thread(manifests.read, [path])
            except (ManifestError, OSError) as error:
                logger.warning("%s", error)
                is_whole = False  # it is unknown which objects were removed from the file
        try:
            await self._apply([each for of_file in self._manifests.values() for each in of_file])
            if is_whole:
                await self._remove()
        except StatusError as error:
            logger.warning("the definitions could not be applied: %s", error.message)

    async def _apply(self, manifest_list: Iterable[Manifest]) -> None:
        changed = [each for each in manifest_list if not self._is_applied(each)]
        crds = [each for each in changed if each.order == 0]
        for manifest in crds:
            await self._put(manifest)
        if crds:
            await self._wait_settled()
        for manifest in sorted(changed, key=lambda each: each.order)[len(crds) :]:
            await self._put(manifest)

    def _is_applied(self, manifest: Manifest) -> bool:
        applied = self._applied.get(self._name(manifest))
        return applied is not None and applied.object == manifest.object

    async def _put(self, manifest: Manifest) -> None:
        """Apply one object, and report that in the log and as an event."""
        name = self._name(manifest)
        previous = self._applied.get(name)
        try:
            stored = await manifests.apply(self._client, manifest)
        except ManifestError as error:
            logger.warning("%s", error)
            involved = previous.object if previous is not None else manifest.object
            await self._recorder.warning(self._placed(involved), "Refused", str(error))
            return
        self._applied[name] = manifest
        action = "applied" if previous is None else ", ".join(differences(previous, manifest))
        logger.info("%s: %s: %s", manifest.source, name, action)
        await self._recorder.normal(stored, "Applied", f"{manifest.source}: {action}")

    async def _remove(self) -> None:
        """Delete objects that are no longer in any file; without `prune`, only log them."""
        names = {self._name(each) for of_file in self._manifests.values() for each in of_file}
        removed = [each for name, each in self._applied.items() if name not in names]
        for manifest in sorted(removed, key=lambda each: -each.order):
            name = self._name(manifest)
            del self._applied[name]
            if not self._prune:
                logger.info("%s is no longer in the files; it stays on the server", name)
                continue
            try:
                resource = self._client.resource_of(manifest.object)
                await self._client.delete(resource, name.name, name.namespace)
            except StatusError as error:
                if error.reason != Reason.NOT_FOUND:
                    logger.warning("%s could not be deleted: %s", name, error.message)
            else:
                logger.info("%s is no longer in the files and was deleted", name)

    def _placed(self, obj: Object) -> Object:
        """Return the object with the members that an event needs."""
        placed = manifests.with_namespace(self._client, obj)
        return {**placed, "metadata": {"name": "unnamed", **(placed.get("metadata") or {})}}

    def _name(self, manifest: Manifest) -> ObjectName:
        obj = self._placed(manifest.object)
        group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
        metadata = obj["metadata"]
        return ObjectName(group, obj["kind"], metadata.get("namespace", ""), metadata["name"])


def differences(before: Manifest, after: Manifest) -> Iterator[str]:
    """The paths of the members that differ, such as `spec.size`; at most one for each list."""
    yield from _differences(before.object, after.object, "")


def _differences(before: object, after: object, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                inner = f"{path}.{name}" if path else str(name)
                yield from _differences(before.get(name), after.get(name), inner)
    else:
        yield path
