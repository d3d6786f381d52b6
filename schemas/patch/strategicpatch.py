"""Strategic merge patch: merging by the schema's merge keys and strategies, with directives.

`$patch: replace|delete`, `$deleteFromPrimitiveList/FIELD`, `$setElementOrder/FIELD` and
`$retainKeys`, as in apimachinery strategicpatch/patch.go. Lists without the strategy `merge` are
replaced. Invalid directives raise a 400, nested lists a 422, and all other errors a 500, as in
kube-apiserver.
"""

from typing import Any

import orjson

from inkube.schemas import status
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object
from inkube.schemas.patch import ordering

Schema = dict[str, Any]
_MARK = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder"
_REMOVE = "$deleteFromPrimitiveList"
_BAD_RETAIN = "invalid patch format of retainKeys"
_BAD_ORDER = "invalid patch format of setElementOrder list"
_BAD_REMOVE = "invalid patch format of primitive list"


def strategic(obj: Object, patch: Any, schema: Schema) -> Object:
    """`obj` merged with `patch` by `schema`. Raises StatusError (400, 422 or 500).

    Changes neither of them. The result contains unchanged parts of `obj` itself, but no part of
    `patch`.
    """
    if patch is None:
        return obj
    if not isinstance(patch, dict):
        raise status.bad_request(
            f"json: cannot unmarshal {gotext.json_kind(patch)} into Go value of type "
            "map[string]interface {}"
        )
    return _merge_map(obj, _copy(patch), schema)


def remainder(obj: Object, patch: Any, schema: Schema) -> Any:
    """Return a patch as upstream's merge with `obj` leaves it, and as refusals show it: without
    nulls in new values, without most directives and without lists that `$setElementOrder` sorts.
    The merge must succeed."""
    left = _copy(patch)
    if left is not None:
        _merge_map(obj, left, schema)
    return left


def _copy(value: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(value))
    return copied


def _merge_map(original: Object, patch: Object, schema: Schema) -> Object:
    """`original` with `patch` merged into it, without a change of `original`; `patch` is changed in
    place (mergeMap)."""
    if _MARK in patch:
        return _by_directive(patch)
    original = dict(original)
    _retain_keys(original, patch)
    _set_orders(original, patch, schema)
    for field, value in patch.items():
        removes = field.startswith(_REMOVE)
        name = _field_of(field, _REMOVE, _BAD_REMOVE) if removes else field
        if value is None:
            original.pop(name, None)
        elif type(original.get(name)) is not type(value):
            if not removes:
                _take(original, name, value)
        elif isinstance(value, dict):
            original[name] = _merged_map(original[name], value, _field(schema, name))
        elif isinstance(value, list):
            field_schema = _field(schema, name)
            original[name] = _merged_list(original[name], value, field_schema, removes=removes)
        else:
            original[name] = value
    return original


def _by_directive(patch: Object) -> Object:
    directive = patch[_MARK]
    if directive == "replace":
        del patch[_MARK]
        return patch
    if directive == "delete":
        return {}
    raise _bad_directive(patch)


def _bad_directive(patch: Object) -> status.StatusError:
    return status.unknown(
        f"unknown patch type: {gotext.as_text(patch[_MARK])} in map: {gotext.plain(patch)}"
    )


def _field_of(key: str, prefix: str, complaint: str) -> str:
    parts = key.split("/", 1)
    if len(parts) < 2 or parts[0] != prefix:
        raise status.bad_request(complaint)
    return parts[1]


def _take(original: Object, name: str, value: Any) -> None:
    """Set the value of the patch, without its nulls and without values that are only directives."""
    _discard_nulls(value)
    new = _without_directives(value)
    if new is None:
        original.pop(name, None)
    else:
        original[name] = new


def _discard_nulls(value: Any) -> None:
    """Remove members that are null from a value of the patch (discardNullValuesFromPatch)."""
    if isinstance(value, dict):
        for key in [key for key, member in value.items() if member is None]:
            del value[key]
        for member in value.values():
            _discard_nulls(member)
    elif isinstance(value, list):
        for item in value:
            _discard_nulls(item)


def _without_directives(value: Any) -> Any:
    """Return the value without directives; None for a map that contains `$patch`. Changes maps in
    place (removeDirectives)."""
    if isinstance(value, dict):
        if _MARK in value:
            return None
        for key, member in list(value.items()):
            value[key] = _without_directives(member)
            if value[key] is None and member is not None:
                del value[key]
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_marked(item)]
    return value


def _is_marked(item: Any) -> bool:
    return isinstance(item, dict) and _MARK in item


def _field(schema: Schema, name: str) -> Schema:
    """Return the schema of a member of a struct or map. Raises StatusError 500 for an unknown
    member."""
    field_schema = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    if isinstance(field_schema, dict):
        return field_schema
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return schema
    raise status.unknown(f'unable to find api field in struct for the json field "{name}"')


def _strategies(schema: Schema) -> list[str]:
    return str(schema.get("x-kubernetes-patch-strategy", "")).split(",")


def _merged_map(original: Object, patch: Object, schema: Schema) -> Object:
    if "replace" in _strategies(schema):
        return patch
    return _merge_map(original, patch, schema)


def _merged_list(
    original: list[Any], patch: list[Any], schema: Schema, *, removes: bool = False
) -> list[Any]:
    if not removes and "merge" not in _strategies(schema):
        return patch
    if not original and not patch:
        return original
    if _item_type(original, patch) is dict:
        return _merged_maps(original, patch, schema)
    if removes:
        removed = {*map(ordering.hashable, patch)}
        return [item for item in original if ordering.hashable(item) not in removed]
    merged = list(dict.fromkeys(original + patch))
    return ordering.arrange(merged, patch, original, ordering.key_of(""))


def _item_type(*lists: list[Any]) -> type:
    """Return the type of all items (sliceElementType). Raises StatusError 422 for nested lists, 500
    for different types and without items."""
    item_type: type | None = None
    for item in (item for items in lists for item in items):
        if item_type is None:
            item_type = type(item)
            if item_type is list:
                raise status.StatusError(422, status.Reason.INVALID, _REJECTED, details={})
        elif type(item) is not item_type:
            printed = gotext.plain(list(lists))
            raise status.unknown(f"list element types are not identical: {printed}")
    if item_type is None:
        raise status.unknown("no elements in any of the given slices")
    return item_type


_REJECTED = "the server rejected our request due to an error in our request"


def _merged_maps(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key = str(schema.get("x-kubernetes-patch-merge-key", ""))
    if not key:
        raise status.unknown("cannot merge lists without merge key for struct")
    original, patch = _obey_items(original, patch, key)
    merged = list(original)
    places: dict[Any, int] = {}
    for at, item in enumerate(merged):
        places.setdefault(ordering.hashable(item.get(key)), at)
    for item in patch:
        value = ordering.hashable(_key_value(item, key))
        at = places.get(value, -1)
        if at < 0:
            places[value] = len(merged)
            merged.append(item)
        else:
            merged[at] = _merge_map(merged[at], item, schema.get("items", {}))
    return ordering.arrange(merged, patch, original, ordering.key_of(key))


def _obey_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Execute the items that are directives (mergeSliceWithSpecialElements)."""
    plain = [item for item in patch if not _is_marked(item)]
    replaces = False
    deleted = set()
    for item in patch:
        directive = item.get(_MARK)
        if directive == "delete":
            deleted.add(repr(_key_value(item, key)))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise status.unknown("merging lists cannot yet be specified in the patch")
        elif _MARK in item:
            raise _bad_directive(item)
    if replaces:
        return plain, []
    if deleted:
        original = [item for item in original if repr(item.get(key)) not in deleted]
    return original, plain


def _key_value(item: Object, key: str) -> Any:
    if key not in item:
        raise status.unknown(
            f"map: {gotext.plain(item)} does not contain declared merge key: {key}"
        )
    return item[key]


def _retain_keys(original: Object, patch: Object) -> None:
    """`$retainKeys`: remove members that it does not list.

    Raises StatusError 400 if the patch sets other members.
    """
    if _RETAIN not in patch:
        return
    retained = patch.pop(_RETAIN)
    if not isinstance(retained, list):
        raise status.bad_request(_BAD_RETAIN)
    retained = {field for field in retained if isinstance(field, str)}
    for field, value in patch.items():
        directive = field.startswith((_REMOVE, _ORDER))
        if value is not None and not directive and field not in retained:
            raise status.bad_request(_BAD_RETAIN)
    for field in [field for field in original if field not in retained]:
        del original[field]


def _set_orders(original: Object, patch: Object, schema: Schema) -> None:
    """`$setElementOrder/FIELD`: merge the list and sort it (mergePatchIntoOriginal)."""
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = _list(patch.pop(directive))
        name = _field_of(directive, _ORDER, _BAD_ORDER)
        field_schema = _field(schema, name)
        present = _list(original[name]) if name in original else None
        change = _list(patch.pop(name)) if name in patch else None
        _check_order(change or [], order, field_schema)
        merged = _contents(present, change, field_schema)
        if merged is not None:
            merge_key = str(field_schema.get("x-kubernetes-patch-merge-key", ""))
            key = ordering.key_of(merge_key)
            if not merge_key:
                _check_identities(order, merged, present or [])
            _item_type(present or [], change or [])
            original[name] = ordering.arrange(merged, order, present or [], key)


def _check_identities(order: list[Any], merged: list[Any], present: list[Any]) -> None:
    """Check that a list without a merge key contains scalars. Raises StatusError 500, with the text
    of upstream where upstream does not panic (validateMergeKeyInLists)."""
    for item in [*order, *merged]:
        ordering.hashable(item)
    for item in present:
        if isinstance(item, dict):
            _key_value(item, "")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _another_type("[]interface {}", value)
    return value


def _another_type(expected: str, value: Any) -> status.StatusError:
    """Return the error mergepatch.ErrBadArgType."""
    received = "%!s(<nil>)" if value is None else gotext.type_name(value)
    return status.unknown(f"expected a {expected}, but received a {received}")


def _contents(
    present: list[Any] | None, change: list[Any] | None, schema: Schema
) -> list[Any] | None:
    if change is None or present is None:
        contents: list[Any] | None = present if change is None else _without_directives(change)
        return contents
    return _merged_list(present, change, schema)


def _check_order(change: list[Any], order: list[Any], schema: Schema) -> None:
    """Check that the order list has all items of the patch, in the same order. One of the two may
    be empty, and items that are directives have no place in it (validatePatchWithSetOrderList).
    Raises StatusError 500."""
    merge_key = str(schema.get("x-kubernetes-patch-merge-key", ""))
    if merge_key:
        for item in change:
            if not isinstance(item, dict):
                raise _another_type("map[string]interface {}", item)
            if not _is_marked(item):
                _key_value(item, merge_key)
        for index, item in enumerate(order):
            if not isinstance(item, dict):
                raise status.unknown(f"value for key {index} is not a map")
            _key_value(item, merge_key)
    key = ordering.key_of(merge_key)
    items = [each for each in change if not (merge_key and each.get(_MARK) == "delete")]
    place = 0
    for each in map(key, order):
        while place < len(items) and _is_marked(items[place]):
            place += 1
        if place < len(items) and key(items[place]) == each:
            place += 1
    if order and place < len(items):  # also for a directive after the last item of the order
        raise status.unknown(
            f"The order in patch list:\n{gotext.plain(change)}\n doesn't match {_ORDER} list:\n"
            f"{gotext.plain(order)}\n"
        )
