"""Warnings about formats that are not checked.

Follows pkg/registry/customresourcedefinition/strategy.go (WarningsOnCreate, WarningsOnUpdate).
"""

from inkube.schemas.crds.schemastructure import SIMPLE
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object, may_mention
from inkube.schemas.structural import Node

FORMATS_WARN = 36
"""The first minor that warns about unknown formats."""


def warnings(crd: Object, old: Object | None = None) -> list[str]:
    """Return texts for Warning headers about the formats that the old definition does not have,
    sorted."""
    new = _formats(crd) - (_formats(old) if old is not None else set())
    return [f"unrecognized format {gotext.quote(name)}" for name in sorted(new)]


def _formats(crd: Object) -> set[str]:
    formats: set[str] = set()
    if not may_mention(crd["spec"], "format"):
        return formats
    for version in crd["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            _gather(schema, formats)
    return formats


def _gather(node: Object, formats: set[str]) -> None:
    """Add the unknown formats of a schema node, and of the nodes below it, to `formats`."""
    if "format" in node and not Node(node).format:
        formats.add(node["format"])
    for child in node.get("properties", _NOTHING).values():
        if not child.keys() <= SIMPLE or "format" in child:
            _gather(child, formats)
    for key in node.keys() & _BELOW:
        below = node[key]
        for child in below if isinstance(below, list) else (below,):
            if isinstance(child, dict):
                _gather(child, formats)


_NOTHING: Object = {}
_BELOW = frozenset({"items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"})
