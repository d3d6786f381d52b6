"""Validation of a node's x-kubernetes-list-type, -list-map-keys and -map-type.

Follows validation.go (ValidateCustomResourceDefinitionOpenAPISchema, validateMapListKeysMapSet).
"""

from collections.abc import Iterator

from inkube.schemas.crds import printing
from inkube.schemas.fielderrors import FieldError, forbidden, invalid, not_supported, required
from inkube.schemas.objects import Object

LIST_TYPE = "x-kubernetes-list-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
KEYS = frozenset({LIST_TYPE, MAP_KEYS, MAP_TYPE})

_LIST_TYPES = ("atomic", "set", "map")
_MAP_TYPES = ("atomic", "granular")


def validate(node: Object, path: str) -> Iterator[FieldError]:
    """Yield the errors of the node's list and map types."""
    map_type, list_type = node.get(MAP_TYPE), node.get(LIST_TYPE)
    if map_type is not None:
        yield from _typed(node, "object", MAP_TYPE, path)
        if map_type not in _MAP_TYPES:
            yield not_supported(f"{path}.{MAP_TYPE}", map_type, _MAP_TYPES)
    if list_type is not None:
        yield from _typed(node, "array", LIST_TYPE, path)
        if list_type not in _LIST_TYPES:
            yield not_supported(f"{path}.{LIST_TYPE}", list_type, _LIST_TYPES)
    items = node.get("items")
    single = items if isinstance(items, dict) else None
    if list_type == "set" and node.get("type") == "array" and single is not None:
        yield from _set_items(single, f"{path}.items")
    if node.get(MAP_KEYS) and list_type != "map":
        at, detail = f"{path}.{LIST_TYPE}", f"must be map if {MAP_KEYS} is non-empty"
        yield required(at, detail) if list_type is None else invalid(at, list_type, detail)
    if list_type == "map":
        yield from _map(node, path)
    if single is not None and list_type in ("set", "map"):
        if single.get("nullable"):
            yield forbidden(
                f"{path}.items.nullable", f"cannot be nullable when {LIST_TYPE} is {list_type}"
            )
        if list_type == "map":
            yield from _key_properties(node.get(MAP_KEYS, ()), single, f"{path}.items")


def _typed(node: Object, expected: str, keyword: str, path: str) -> Iterator[FieldError]:
    kind = node.get("type", "")
    if kind != expected:
        at, detail = f"{path}.type", f"must be {expected} if {keyword} is specified"
        yield invalid(at, kind, detail) if kind else required(at, detail)


def _set_items(items: Object, path: str) -> Iterator[FieldError]:
    detail = f"must be atomic as item of a list with {LIST_TYPE}=set"
    kind = items.get("type")
    if kind == "array" and items.get(LIST_TYPE, "atomic") != "atomic":
        yield invalid(f"{path}.{LIST_TYPE}", items[LIST_TYPE], detail)
    elif kind == "object" and items.get(MAP_TYPE) != "atomic":
        # the reference shows the list type here
        yield invalid(f"{path}.{MAP_TYPE}", items.get(LIST_TYPE), detail)


def _map(node: Object, path: str) -> Iterator[FieldError]:
    keys, items = node.get(MAP_KEYS, []), node.get("items")
    if not keys:
        yield required(f"{path}.{MAP_KEYS}", f"must not be empty if {LIST_TYPE} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {LIST_TYPE} is map")
        return
    if isinstance(items, list):
        detail = f"must only have a single schema if {LIST_TYPE} is map"
        yield invalid(f"{path}.items", printing.items(items), detail)
        return
    kind = items.get("type", "")
    if kind != "object":
        detail = f"must be object if parent array's {LIST_TYPE} is map"
        yield invalid(f"{path}.items.type", kind, detail)
        return
    seen: set[str] = set()
    for key in keys:
        yield from _key(key, keys, items, path)
        if key in seen:
            yield invalid(f"{path}.{MAP_KEYS}", keys, "must not contain duplicate entries")
        seen.add(key)


def _key(key: str, keys: list[str], items: Object, path: str) -> Iterator[FieldError]:
    properties = items.get("properties", {})
    if key not in properties:
        yield invalid(f"{path}.{MAP_KEYS}", keys, "entries must all be names of item properties")
    elif properties[key].get("type") in ("array", "object"):
        detail = f"must be a scalar type if parent array's {LIST_TYPE} is map"
        # the reference shows the type of the items
        yield invalid(f"{path}.items.properties[{key}].type", items["type"], detail)


def _key_properties(keys: list[str], items: Object, path: str) -> Iterator[FieldError]:
    always = items.get("required", ())
    for key in keys:
        key_schema = items.get("properties", {}).get(key)
        if key_schema is None:
            continue
        at, this = f"{path}.properties[{key}]", f"this property is in {MAP_KEYS}, so it"
        if key not in always and "default" not in key_schema:
            yield required(f"{at}.default", f"{this} must have a default or be a required property")
        if key_schema.get("nullable"):
            yield forbidden(f"{at}.nullable", f"{this} cannot be nullable")
