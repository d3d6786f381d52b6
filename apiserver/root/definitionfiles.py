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


class Name(NamedTuple):
    """The name of an object in files; the version of its kind does not matter."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


class DefinitionFiles:
    """The files of some sources, and their objects that were applied to the server."""

    def __init__(
        self,
        client: InProcessClient,
        sources: Iterable[Source],
        settled: Callable[[], Awaitable[None]],
        clock: Clock,
        names: EventNames,
        *,
        prune: bool = False,
    ) -> None:
        self._client = client
        self._sources = [Path(each) for each in sources if not isinstance(each, Mapping)]
        self._settled = settled
        self._recorder = Recorder(client, clock, names, COMPONENT)
        self._prune = prune
        self._files = EditedFiles(self._list)
        self._found: dict[Path, list[Manifest]] = {}
        self._applied: dict[Name, Manifest] = {}

    def begin(self, applied: Iterable[Manifest]) -> None:
        """Treat the current content of the files as applied. Raises ManifestError, OSError."""
        self._found = {path: manifests.read([path]) for path in self._files.stamps}
        self._applied = {self._name(each): each for each in applied}

    async def run(self) -> None:
        """Apply what changes, until cancelled. Raises OSError."""
        while True:
            before = self._files.stamps
            await self._take(before, await self._files.changed())

    def _list(self) -> Iterator[Path]:
        for source in self._sources:
            with contextlib.suppress(FileNotFoundError):  # removed, for now or forever
                yield from manifests.files(source)

    async def _take(self, before: FileTimes, now: FileTimes) -> None:
        """Read the changed files, then apply and remove objects until the server matches all
        files."""
        for path in [path for path in self._found if path not in now]:
            del self._found[path]
        is_whole = True
        for path in [path for path in now if now[path] != before.get(path)]:
            try:
                self._found[path] = await asyncio.to_thread(manifests.read, [path])
            except (ManifestError, OSError) as error:
                logger.warning("%s", error)
                is_whole = False  # it is unknown which objects were removed from the file
        try:
            await self._apply([each for found in self._found.values() for each in found])
            if is_whole:
                await self._remove()
        except StatusError as error:
            logger.warning("the definitions could not be applied: %s", error.message)

    async def _apply(self, found: Iterable[Manifest]) -> None:
        changed = [each for each in found if not self._has(each)]
        crds = [each for each in changed if each.order == 0]
        for manifest in crds:
            await self._put(manifest)
        if crds:
            await self._settled()
        for manifest in sorted(changed, key=lambda each: each.order)[len(crds) :]:
            await self._put(manifest)

    def _has(self, manifest: Manifest) -> bool:
        applied = self._applied.get(self._name(manifest))
        return applied is not None and applied.object == manifest.object

    async def _put(self, manifest: Manifest) -> None:
        """Apply one object, and report that in the log and as an event."""
        name = self._name(manifest)
        before = self._applied.get(name)
        try:
            stored = await manifests.apply(self._client, manifest)
        except ManifestError as error:
            logger.warning("%s", error)
            about = before.object if before is not None else manifest.object
            await self._recorder.warning(self._placed(about), "Refused", str(error))
            return
        self._applied[name] = manifest
        what = "applied" if before is None else ", ".join(differences(before, manifest))
        logger.info("%s: %s: %s", manifest.where, name, what)
        await self._recorder.normal(stored, "Applied", f"{manifest.where}: {what}")

    async def _remove(self) -> None:
        """Delete objects that are no longer in any file; without `prune`, only log them."""
        wanted = {self._name(each) for found in self._found.values() for each in found}
        gone = [each for name, each in self._applied.items() if name not in wanted]
        for manifest in sorted(gone, key=lambda each: -each.order):
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
        placed = manifests.placed(self._client, obj)
        return {**placed, "metadata": {"name": "unnamed", **(placed.get("metadata") or {})}}

    def _name(self, manifest: Manifest) -> Name:
        obj = self._placed(manifest.object)
        group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
        metadata = obj["metadata"]
        return Name(group, obj["kind"], metadata.get("namespace", ""), metadata["name"])


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
