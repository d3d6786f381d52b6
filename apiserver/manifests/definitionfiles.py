"""Files of `definitions` that are applied again when they change (`watch_definitions`).

Each change compares all objects of the files with the applied ones. An object that was refused is
therefore tried again at the next change of any file, for example the file of its CRD.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path

from inkube.apiserver.client import InProcessClient
from inkube.apiserver.manifests import manifests, pruning
from inkube.apiserver.manifests.editedfiles import EditedFiles, FileTimes
from inkube.apiserver.manifests.manifests import Manifest, ManifestError, Source
from inkube.apiserver.manifests.pruning import Announcement, Contents, ObjectName, Pruning
from inkube.controllers.events import Recorder
from inkube.controllers.manager import Manager
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

logger = logging.getLogger(__name__)

COMPONENT = "inkube-definitions"
"""The source of the events that report what was applied and refused."""


class DefinitionFiles:
    """The files of some sources, and their objects that were applied to the server."""

    def __init__(
        self,
        client: InProcessClient,
        manager: Manager,
        sources: Iterable[Source],
        wait_settled: Callable[[], Awaitable[None]],
        pruned: Contents | None,
    ) -> None:
        """With `pruned`, which counts the objects of the server, removed objects are deleted."""
        self._client = client
        self._sources = [Path(each) for each in sources if not isinstance(each, Mapping)]
        self._wait_settled = wait_settled
        self._recorder = Recorder(client, manager.clock, manager.event_names, COMPONENT)
        now = asyncio.get_running_loop().time
        self._pruning = None if pruned is None else Pruning(pruned, now)
        self._silent: set[Path] = set()
        """Sources and files that say nothing: their objects stay."""
        self._files = EditedFiles(self._list)
        self._manifests: dict[Path, list[Manifest]] = {}
        self._applied: dict[ObjectName, Manifest] = {}

    @contextlib.asynccontextmanager
    async def following(self, applied: Iterable[Manifest]) -> AsyncIterator[None]:
        """Treat the current content of the files as applied, and apply what changes from now on,
        until the end of the block. Raises ManifestError and OSError, also those of later reads."""
        self._manifests = {path: manifests.read([path]) for path in self._files.stamps}
        self._applied = {self._name(each): each for each in applied}
        following = asyncio.create_task(self._run(), name="definition files")
        try:
            yield
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    async def _run(self) -> None:
        while True:
            previous = current = self._files.stamps
            delay = None if self._pruning is None else self._pruning.delay
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    current = await self._files.wait_for_change()
            await self._sync(previous, current)

    def _list(self) -> Iterator[Path]:
        for source in self._sources:
            with contextlib.suppress(FileNotFoundError):  # removed, for now or forever
                yield from manifests.files(source)

    async def _sync(self, previous: FileTimes, current: FileTimes) -> None:
        """Read the changed files, then apply and remove objects until the server matches all
        files."""
        silent = {each for each in self._sources if not _files_of(each, current)}
        for path in [path for path in self._manifests if path not in current]:
            if not any(path in _files_of(each, [path]) for each in silent):
                del self._manifests[path]
        is_whole = True
        changed = [path for path in current if current[path] != previous.get(path)]
        for path in changed:
            try:
                found = await asyncio.to_thread(manifests.read, [path])
                if found or not self._manifests.get(path):
                    self._manifests[path] = found
                else:
                    silent.add(path)
            except (ManifestError, OSError) as error:
                logger.warning("%s", error)
                is_whole = False  # it is unknown which objects were removed from the file
        silent |= {path for path in self._silent if path in current and path not in changed}
        self._report_silent(silent)
        try:
            await self._apply([each for of_file in self._manifests.values() for each in of_file])
            if is_whole:
                await self._remove()
        except StatusError as error:
            logger.warning("the definitions could not be applied: %s", error.message)

    def _report_silent(self, silent: set[Path]) -> None:
        """Log the files and folders that say nothing, once. An editor, a checkout or a lost mount
        can empty them for a moment, so this is no request to delete their objects."""
        for path in sorted(silent - self._silent):
            logger.warning(
                "%s is gone or has no objects; its objects stay on the server. "
                "To delete them, use kubectl delete, or remove the file from a folder that has "
                "other files",
                path,
            )
        self._silent = silent

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
        """Delete objects that are no longer in any file, as `Pruning` decides; without it, only log
        them."""
        names = {self._name(each) for of_file in self._manifests.values() for each in of_file}
        removed = {name: each for name, each in self._applied.items() if name not in names}
        if self._pruning is None:
            for name in removed:
                del self._applied[name]
                logger.info("%s is no longer in the files; it stays on the server", name)
            return
        objects = {name: each.object for name, each in removed.items()}
        ready, announced, returned = self._pruning.look(objects, self._applied)
        for name in returned:
            logger.info("%s is in the files again and is not deleted", name)
        for name, announcement in announced.items():
            await self._announce(name, removed[name], announcement)
        for name in sorted(ready, key=lambda name: -removed[name].order):
            del self._applied[name]
            await self._delete(name, removed[name])

    async def _announce(
        self, name: ObjectName, manifest: Manifest, announcement: Announcement
    ) -> None:
        """Report in the log and as an event that an object will be deleted."""
        text = (
            f"it is no longer in the files and will be deleted in {pruning.WAIT:g} s, because "
            f"{announcement.reason}; put it back into a file to keep it"
        )
        logger.warning("%s: %s", name, text)
        await self._recorder.warning(self._placed(manifest.object), "PruneAnnounced", text)

    async def _delete(self, name: ObjectName, manifest: Manifest) -> None:
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
    """Yield the paths of the members that differ, such as `spec.size`; at most one for each
    list."""
    yield from _differences(before.object, after.object, "")


def _differences(before: object, after: object, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                inner = f"{path}.{name}" if path else str(name)
                yield from _differences(before.get(name), after.get(name), inner)
    else:
        yield path


def _files_of(source: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are the source, or below it."""
    return [path for path in paths if path == source or source in path.parents]
