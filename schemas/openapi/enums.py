"""Go's string types that are enumerations: their values, and the fields of these types.

They are only for documents; validation has its own lists. `enums.json` contains, by Go type, each
value with the text after it in documents of kube-apiserver, and the fields. Follows
kube-openapi/pkg/generators/enum.go.
"""

from pathlib import Path

import orjson

from inkube.schemas import caches
from inkube.schemas.objects import Object

Texts = dict[str, str]
"""Keys: values. Values: the texts after them in the list of values."""
_PREFIX = "io.k8s.api."


def of_type(name: str) -> dict[str, Texts]:
    """Return the fields of a type that are enumerations."""
    return _fields().get(name, {})


def apply(node: Object, texts: Texts) -> None:
    """Add the values to a field's schema, or to the schema of its items or values."""
    values = sorted(texts)
    for inner in ("items", "additionalProperties"):
        if inner in node:
            node[inner]["enum"] = values
            return
    node["enum"] = values
    listed = "\n".join(f' - `"{value}"`{texts[value]}' for value in values)
    node["description"] = f"{node.get('description', '')}\n\nPossible enum values:\n{listed}"


@caches.of_values(1)
def _fields() -> dict[str, dict[str, Texts]]:
    fields: dict[str, dict[str, Texts]] = {}
    content = orjson.loads(Path(__file__).with_name("enums.json").read_bytes())
    for enum in content.values():
        for place in enum["fields"]:
            name, _, field = place.rpartition(".")
            full = name if name.startswith("io.") else _PREFIX + name
            fields.setdefault(full, {})[field] = enum["values"]
    return fields
