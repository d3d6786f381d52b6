"""JSON merge patch, RFC 7386, with the special cases of evanphx/json-patch (merge.go)."""

import copy
from typing import Any

import orjson

from inkube.schemas import status
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object


def merge(obj: Object, patch: Any) -> Object:
    """`obj` with `patch` merged in. Raises StatusError 400 for a patch that is not an object.

    Nulls remove members. Nulls inside new values are dropped, except as list items.
    """
    if patch is None:
        raise status.bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        kind = gotext.json_kind(patch)
        raise status.bad_request(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type "
            "map[string]interface {}"
        )
    return _merged(obj, _copied(patch))


def _merged(current: Object, patch: Object) -> Object:
    merged = dict(current)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _value(merged.get(key), value)
    return merged


def _value(current: Any, value: Any) -> Any:
    if not isinstance(current, dict):
        return without_nulls(value)
    return _merged(current, value) if isinstance(value, dict) else value


def without_nulls(value: Any) -> Any:
    """Return a value without the members that are null, at every depth."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _copied(patch: Any) -> Any:
    try:
        return orjson.loads(orjson.dumps(patch))
    except TypeError:  # a number that keeps its text
        return copy.deepcopy(patch)
