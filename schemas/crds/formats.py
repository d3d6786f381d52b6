"""Formats that nobody checks are worth a warning.

Follows pkg/registry/customresourcedefinition/strategy.go (WarningsOnCreate, WarningsOnUpdate).
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas import gotext
from inkube.schemas.structural import Node

Object = dict[str, Any]


def warnings(crd: Object) -> list[str]:
    """Texts for Warning headers, each once."""
    found: set[str] = set()
    for version in crd["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            found.update(_unknown(schema))
    return [f"unrecognized format {gotext.quote(name)}" for name in sorted(found)]


def _unknown(node: Object) -> Iterator[str]:
    if "format" in node and not Node(node).format:
        yield node["format"]
    for key in ("items", "additionalProperties", "not"):
        child = node.get(key)
        if isinstance(child, dict):
            yield from _unknown(child)
    for child in node.get("properties", {}).values():
        yield from _unknown(child)
    for key in ("allOf", "anyOf", "oneOf"):
        for child in node.get(key, ()):
            yield from _unknown(child)
