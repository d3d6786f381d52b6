"""The kinds of inkube's own modules for discovery, without loading the modules.

To load the modules, with pydantic, the models and their checks, takes longer than half of a start,
and the first request of most clients is discovery. The files in `builtin` contain the kinds.
"""

from collections.abc import Sequence
from typing import Any

from inkube.apiserver.modules.descriptions import built_in
from inkube.schemas import caches
from inkube.schemas.definitions import Definition, Names, Origin, Subresource, Version


def definitions(names: Sequence[str]) -> tuple[Definition, ...] | None:
    """Return the definitions of these modules without schemas, or None if one comes
    from a package."""
    if not all(name in built_in() for name in names):
        return None
    return tuple(definition for name in names for definition in _definitions(name))


@caches.of_texts(16)
def _definitions(name: str) -> tuple[Definition, ...]:
    return tuple(map(_definition, built_in()[name].kinds))


def _definition(outline: dict[str, Any]) -> Definition:
    return Definition(
        group=outline["group"],
        names=Names(*map(_tuple, outline["names"])),
        versions=tuple(map(_version, outline["versions"])),
        namespaced=outline["namespaced"],
        origin=Origin.PYTHON,
        verbs=tuple(outline["verbs"]),
    )


def _version(outline: dict[str, Any]) -> Version:
    return Version(
        outline["name"],
        served=outline["served"],
        storage=outline["storage"],
        subresources=tuple(Subresource(*map(_tuple, each)) for each in outline["subresources"]),
    )


def _tuple(value: Any) -> Any:
    """Return a tuple for a list, because JSON has no tuples; return other values unchanged."""
    return tuple(value) if isinstance(value, list) else value


def outline(definition: Definition) -> dict[str, Any]:
    """Return the members of a definition that the file contains."""
    return {
        "group": definition.group,
        "names": list(definition.names),
        "versions": [
            {
                "name": each.name,
                "served": each.served,
                "storage": each.storage,
                "subresources": [list(sub) for sub in each.subresources],
            }
            for each in definition.versions
        ],
        "namespaced": definition.namespaced,
        "verbs": definition.verbs,
    }
