"""Files and folders of CRDs and objects, and how a starting server creates them.

CRDs are created first, and are served before the other objects are created. A stored CRD is
replaced with the one in its file. Any other stored object stays as it is, unless files are applied.
"""

import copy
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkube.apiserver.client import InProcessClient
from inkube.schemas import bodies, documents, status
from inkube.schemas.crds import conditions
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object, items_of
from inkube.schemas.status import StatusError

Source = Path | str | Mapping[str, Any]
"""A file, a folder with all files below it, or an object."""

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
MANAGER = "inkube-definitions"
"""The field manager of applied objects."""
_FIRST = {"CustomResourceDefinition": 0, "Namespace": 1}
_OTHERS = 2


class ManifestError(ValueError):
    """A document that cannot be read or is rejected. The text contains the file and the number of
    the document."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and its source."""

    source: str
    object: Object

    @property
    def order(self) -> int:
        """The order of creation: definitions, then namespaces, then other objects."""
        return _FIRST.get(self.object["kind"], _OTHERS)


def files(path: Path) -> list[Path]:
    """Return the file, or every manifest in the folder and below it. Raises FileNotFoundError."""
    if path.is_dir():
        candidates = (
            file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file()
        )
        return sorted(candidates)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    return [path]


def read(sources: Iterable[Source]) -> list[Manifest]:
    """Return every object in the sources, in their order. Raises ManifestError, OSError."""
    return list(_read(sources))


def _read(sources: Iterable[Source]) -> Iterator[Manifest]:
    for number, source in enumerate(sources, 1):
        if isinstance(source, Mapping):
            yield from _objects(f"definition {number}", copy.deepcopy(dict(source)))
            continue
        for file in files(Path(source)):
            yield from parse(str(file), file.read_bytes())


def parse(name: str, body: bytes) -> Iterator[Manifest]:
    """Yield every object in a text. Raises ManifestError."""
    for document in documents.split(name, body):
        position = f"{document.file}: document {document.number}, line {document.line}"
        yield from _objects(position, _decode(position, document))


def _decode(source: str, document: documents.Document) -> Any:
    try:
        return bodies.decode(document.body, document.media, want_duplicates=False).value
    except DecodeError as error:
        raise ManifestError(f"{source}: {error.text}") from error


def _objects(source: str, value: Any) -> Iterator[Manifest]:
    """Yield the object, or the items of a List."""
    if value is None:
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ManifestError(f"{source}: this is not a Kubernetes object: kind is missing")
    if (items := items_of(value)) is not None:
        for number, item in enumerate(items):
            yield from _objects(f"{source}: items[{number}]", item)
        return
    yield Manifest(source, value)


async def install(
    client: InProcessClient,
    manifests: Iterable[Manifest],
    wait_settled: Callable[[], Awaitable[None]],
    *,
    put: "Put | None" = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Create the missing objects. `wait_settled` returns when new CRDs are served. Raises
    ManifestError.

    `put` writes one object; the default is `create`. `report` is called with the number of finished
    objects and the number of all objects.
    """
    put = put or create
    ordered = sorted(manifests, key=lambda manifest: manifest.order)
    crds = [manifest for manifest in ordered if manifest.order == 0]
    for done, manifest in enumerate(crds):
        report(done, len(ordered))
        await put(client, manifest)
    if crds:
        await wait_settled()
    for manifest in crds:
        await _check_served(client, manifest)
    for done, manifest in enumerate(ordered[len(crds) :], len(crds)):
        report(done, len(ordered))
        await put(client, manifest)


async def _check_served(client: InProcessClient, manifest: Manifest) -> None:
    """Raise ManifestError for a CRD whose names belong to another one."""
    crd = await client.get(CRDS, manifest.object["metadata"]["name"])
    condition = conditions.find(crd["status"], conditions.NAMES_ACCEPTED)
    if condition is not None and condition["status"] == "False":
        raise ManifestError(f"{manifest.source}: it is not served: {condition['message']}")


async def create(client: InProcessClient, manifest: Manifest) -> None:
    """Create a missing object. A stored CRD is replaced. Raises ManifestError."""
    obj = manifest.object
    try:
        try:
            await client.create(with_namespace(client, obj))
        except StatusError as error:
            if error.reason != status.Reason.ALREADY_EXISTS:
                raise
            if manifest.order == 0:
                await _replace_crd(client, obj)
    except StatusError as error:
        raise ManifestError(f"{manifest.source}: {error.message}") from error


async def apply(client: InProcessClient, manifest: Manifest) -> Object:
    """Give an object the state in its file, by a forced server-side apply as MANAGER, and return
    it.

    A CRD is replaced instead, because an apply would keep members of an earlier start. Raises
    ManifestError.
    """
    if manifest.order == 0:
        await create(client, manifest)
        return await client.get(CRDS, manifest.object["metadata"]["name"])
    try:
        resource, obj = client.resource_of(manifest.object), with_namespace(client, manifest.object)
        metadata = obj.get("metadata") or {}
        if not metadata.get("name"):
            raise ManifestError(f"{manifest.source}: metadata.name is missing")
        return await client.patch(
            resource,
            metadata["name"],
            metadata.get("namespace", ""),
            patch=obj,
            type="apply",
            field_manager=MANAGER,
            force=True,
        )
    except StatusError as error:
        raise ManifestError(f"{manifest.source}: {error.message}") from error


Put = Callable[[InProcessClient, Manifest], Awaitable[object]]
"""`create` or `apply`."""


async def _replace_crd(client: InProcessClient, obj: Object) -> None:
    stored = await client.get(CRDS, obj["metadata"]["name"])
    version = stored["metadata"]["resourceVersion"]
    await client.update({**obj, "metadata": {**obj["metadata"], "resourceVersion": version}})


def with_namespace(client: InProcessClient, obj: Object, namespace: str = "default") -> Object:
    """Return the object with that namespace, if it needs a namespace and does not name one."""
    group, _ = split_api_version(obj.get("apiVersion") or "")
    metadata = obj.get("metadata") or {}
    if not client.is_namespaced(group, obj.get("kind", "")) or metadata.get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace}}
