"""What discovery shows of the kinds of inkube's own modules, known without loading them.

To load the modules takes longer than half of a start, with pydantic, the models and their checks;
the first question of most clients is which kinds there are. `outlines.json` has the answer, made by
`tools/generate_outlines.py` of the modules themselves.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from inkube.apiserver.modules.selection import built_in
from inkube.schemas import caches
from inkube.schemas.definitions import Definition, Names, Origin, Subresource, Version

FILE = Path(__file__).with_name("outlines.json")


def definitions(names: Sequence[str]) -> tuple[Definition, ...] | None:
    """The definitions of these modules without schemas; None if one comes from a package."""
    if not all(name in built_in() for name in names):
        return None
    return tuple(definition for name in names for definition in _read()[name])


@caches.of_values(1)
def _read() -> dict[str, tuple[Definition, ...]]:
    found = orjson.loads(FILE.read_bytes())
    return {name: tuple(map(_definition, kinds)) for name, kinds in found.items()}


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
    """JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value


def outline(definition: Definition) -> dict[str, Any]:
    """What the file says of a definition."""
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
