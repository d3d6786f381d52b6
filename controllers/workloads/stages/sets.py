"""Sets of stages: the built-in ones, and those that users name: sets, files, folders, objects."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from inkube.client import Object
from inkube.formats import DecodeError, bodies, caches, documents

FOLDER = Path(__file__).with_name("builtin")
NAMES = ("fast", "slow", "chaotic")
DEFAULT = "fast"
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class StagesError(ValueError):
    """A set that does not exist, or a file that cannot be read."""


def load_stages(sources: Iterable[Path | str | Mapping[str, Any]]) -> list[Object]:
    """Return the first stages of a server: those of the default set, then those of the sources.

    A later object replaces an earlier object of the same kind, namespace and name. Raises
    StagesError.
    """
    sources = [DEFAULT, *sources]
    found: dict[tuple[str, str, str], Object] = {}
    for source in sources:
        for obj in _objects(source):
            meta = obj.get("metadata") or {}
            name = (obj.get("kind", ""), meta.get("namespace", ""), meta.get("name", ""))
            found[name] = obj
    return list(found.values())


@caches.of_values(4)
def builtin(name: str) -> tuple[Object, ...]:
    """Return the objects of a built-in set. Do not change them."""
    return tuple(read(FOLDER / f"{name}.yaml"))


def _objects(source: Path | str | Mapping[str, Any]) -> Iterable[Object]:
    if isinstance(source, Mapping):
        return [dict(source)]
    if source in NAMES:
        return builtin(str(source))
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)
        return [obj for file in files for obj in read(file)]
    if not path.exists():
        raise StagesError(f"{source}: neither a file nor one of the sets {', '.join(NAMES)}")
    return read(path)


def read(path: Path) -> list[Object]:
    """Return the objects of a file. Raises StagesError if it cannot be decoded."""
    found = []
    for document in documents.split(str(path), path.read_bytes()):
        try:
            value = bodies.decode(document.body, document.media, want_duplicates=False).value
        except DecodeError as error:
            raise StagesError(f"{path}: line {document.line}: {error.text}") from error
        if value is None:
            continue
        if not isinstance(value, dict) or not value.get("kind"):
            raise StagesError(f"{path}: line {document.line}: this is not a Kubernetes object")
        found.append(value)
    return found
