"""Resources inside resources: fields marked `x-kubernetes-embedded-resource`.

`coerce` is a part of decoding: it types apiVersion, kind and metadata. `validate` checks the
members that every object must have.
Follows apiextensions-apiserver/pkg/apiserver/schema/objectmeta.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.fielderrors import FieldError, invalid, required
from inkube.schemas.golang import DecodeError
from inkube.schemas.metadata import metadecoding, names, objectmeta
from inkube.schemas.structural.nodes import Node

KEYWORD = "x-kubernetes-embedded-resource"


def coerce(node: Node, value: Any, unknown: list[str], *, lenient: bool = False) -> None:
    """Type the metadata of every embedded resource, in place.

    Raises DecodeError with a whole field error as text; `lenient` drops malformed members instead.
    """
    for path, obj in _embedded(node, value, ""):
        for name in ("apiVersion", "kind"):
            if name in obj and type(obj[name]) is not str:
                if not lenient:
                    raise _refused(f"{path}.{name}", obj[name], "must be a string")
                del obj[name]
        if "metadata" in obj:
            obj["metadata"] = _metadata(obj["metadata"], path, unknown, lenient=lenient)


def validate(node: Node, value: Any) -> Iterator[FieldError]:
    """Yield the errors of apiVersion and kind, which are required, and of metadata."""
    for path, obj in _embedded(node, value, ""):
        for name in ("apiVersion", "kind"):
            if name not in obj:
                yield required(f"{path}.{name}", before="must not be empty")
            elif type(obj[name]) is not str:  # the object has another kind than its address
                yield invalid(f"{path}.{name}", obj[name], "must be a string")
        yield from _type_errors(path, obj)
        if "metadata" in obj:
            try:
                decoded = metadecoding.decode(obj["metadata"], [])
            except DecodeError as error:
                yield invalid(f"{path}.metadata", obj["metadata"], error.text)
                continue
            meta = {"name": "fakename", **decoded}
            yield from objectmeta.validate(
                meta,
                namespaced="namespace" in meta,
                name_check=names.path_segment,
                path=f"{path}.metadata",
            )


def _type_errors(path: str, obj: dict[str, Any]) -> Iterator[FieldError]:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if version == "":
        yield invalid(f"{path}.apiVersion", "", "must not be empty")
    elif isinstance(version, str) and version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        yield invalid(f"{path}.apiVersion", version, text)
    if kind == "":
        yield invalid(f"{path}.kind", "", "must not be empty")
    elif isinstance(kind, str) and (wrong := names.dns1035_label(kind.lower())):
        text = "may have mixed case, but should otherwise match: " + ",".join(wrong)
        yield invalid(f"{path}.kind", kind, text)


def _embedded(node: Node, value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every embedded resource with its path, in which map keys are in brackets."""
    if type(value) is dict:
        if node.embedded:
            yield path, value
        children = node.children
        for name, item in list(value.items()):
            child = children[name] if type(item) in {dict, list} else None
            if child is None or not child.holds(KEYWORD):
                continue
            if name not in children.declared:
                yield from _embedded(child, item, f"{path}[{name}]")
            else:
                yield from _embedded(child, item, f"{path}.{name}" if path else name)
    elif type(value) is list and node.items is not None and node.items.holds(KEYWORD):
        for index, item in enumerate(value):
            yield from _embedded(node.items, item, f"{path}[{index}]")


def _metadata(value: Any, path: str, unknown: list[str], *, lenient: bool) -> dict[str, Any]:
    place = f"{path}.metadata"
    try:
        return metadecoding.decode(value, unknown, path=place, lenient=lenient)
    except DecodeError as error:
        raise _refused(place, value, error.text) from error


def _refused(path: str, value: Any, text: str) -> DecodeError:
    return DecodeError(invalid(path, value, text).text())
