"""JSON patch, RFC 6902, on jsonpatch with the semantics of evanphx/json-patch v4 (patch.go).

If they differ, evanphx applies: an index can count from the end, `replace` of a missing member adds
it, `add` without a value adds null, `test` of a missing member with null succeeds, numbers are
equal only if their texts are equal, and only `replace` can be about the document itself.
"""

from collections.abc import Callable
from typing import Any

import jsonpatch
import jsonpointer
import orjson

from inkube.schemas import bodies, status
from inkube.schemas.golang import gotext, strconv
from inkube.schemas.objects import Object, same

MAX_OPERATIONS = 10_000
"""The largest number of operations in a patch (`maxJSONPatchOperations`)."""
MAX_COPIED = 3 * 1024 * 1024
"""The largest number of bytes that the `copy` operations of a patch can copy in total
(`JSONPatchMaxCopyBytes`)."""
_MEMBERS = ("op", "path", "from", "value")
_NO_OPERATIONS = "json: cannot unmarshal {} into Go value of type {}"


def apply_json_patch(
    obj: Object, operations: Any, *, checks_members: bool = False
) -> tuple[Any, list[str]]:
    """Return the patched object, which can be a list, and a text for every unknown member of an
    operation.

    With `checks_members`, members of a wrong type are refused before the first operation, as for a
    request with fieldValidation Warn or Strict; else the operation fails. Raises StatusError: 400
    if `operations` is not a list of operations, 413 for more than MAX_OPERATIONS, 422 for one that
    fails.
    """
    checked = _checked(operations, checks_members)
    if len(checked) > MAX_OPERATIONS:
        raise status.too_large(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(checked)}"
        )
    document = orjson.loads(orjson.dumps(obj))
    copied = 0
    for operation in checked:
        try:
            copied += _carry_out(document, operation)
        except _Replaced as whole:
            document = whole.document
        if copied > MAX_COPIED:
            message = (
                f"unable to copy, the accumulated size increase of copy is {copied}, exceeding "
                f"the limit {MAX_COPIED}"
            )
            raise JSONPatchFailure(message)
    return document, _unknown_members(checked)


class JSONPatchFailure(status.StatusError):
    """A 422 for an operation that fails; `bare_message` is the text of evanphx, which only patches
    of webhooks show."""

    def __init__(self, bare_message: str) -> None:
        message = "the server rejected our request due to an error in our request"
        super().__init__(422, status.Reason.INVALID, message, details={})
        self.bare_message = bare_message


class PatchTestFailure(JSONPatchFailure):
    """An operation `test` found another value (ErrTestFailed of evanphx)."""


class _Replaced(Exception):
    """An operation that replaces the document itself."""

    def __init__(self, document: Any) -> None:
        super().__init__()
        self.document = document


def _checked(operations: Any, checks_members: bool) -> list[Object]:
    """Return the checked list of operations; null is an empty list, a null item an empty operation.

    Raises StatusError 400.
    """
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _not_decoded(operations, checks_members, "[]handlers.jsonPatchOp", "jsonpatch.Patch")
    return [_checked_operation(operation, checks_members) for operation in operations]


def _checked_operation(operation: Any, checks_members: bool) -> Object:
    if operation is None:
        return {}
    if not isinstance(operation, dict):
        raise _not_decoded(operation, checks_members, "handlers.jsonPatchOp", "jsonpatch.Operation")
    for member in ("op", "path", "from") if checks_members else ():
        value = operation.get(member)
        if value is not None and not isinstance(value, str):
            raise status.bad_request(
                f"error decoding patch: json: cannot unmarshal {gotext.json_kind(value)} into Go "
                f"struct field jsonPatchOp.{member} of type string"
            )
    return operation


def _not_decoded(
    value: Any, checks_members: bool, checked_type: str, plain_type: str
) -> status.StatusError:
    """Return the error of a value that is decoded into one of two types of Go."""
    text = _NO_OPERATIONS.format(
        gotext.json_kind(value), checked_type if checks_members else plain_type
    )
    return status.bad_request(f"error decoding patch: {text}" if checks_members else text)


def _unknown_members(operations: list[Object]) -> list[str]:
    return bodies.unknown_fields(
        f"[{index}].{member}"
        for index, operation in enumerate(operations)
        for member in operation
        if member not in _MEMBERS
    )


def _carry_out(document: Object, operation: Object) -> int:
    """Run one operation in place; returns the number of copied bytes. Raises JSONPatchFailure."""
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(op, str):
        op = "unknown"
    if op not in _OPERATIONS:
        raise JSONPatchFailure(f"Unexpected kind: {op}")
    if op in ("copy", "move"):
        complaint = f"{op} operation failed to decode from"
        if operation.get("from") is None:
            raise JSONPatchFailure(f"{complaint}: operation, missing from field: missing value")
        _check_text(operation["from"], complaint)
    if path is None:
        why = "" if op in _WITHOUT_REASON else "operation missing path field: "
        raise JSONPatchFailure(f"{op} operation failed to decode path: {why}missing value")
    if op in _WITHOUT_REASON and not isinstance(path, str):
        raise JSONPatchFailure(f"{op} operation failed to decode path: missing value")
    _check_text(path, f"{op} operation failed to decode path")
    try:
        return _OPERATIONS[op](document, path, operation)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        raise JSONPatchFailure(f"error in {op} for path: '{path}': {error}") from error


def _check_text(value: Any, complaint: str) -> None:
    """Raise JSONPatchFailure for a path that is not a string."""
    if not isinstance(value, str):
        why = _NO_OPERATIONS.format(gotext.json_kind(value), "string")
        raise JSONPatchFailure(f"{complaint}: {why}")


def _add(document: Object, path: str, operation: Object) -> int:
    place = _reach(document, path, f'add operation does not apply: doc is missing path: "{path}"')
    _insert(place, operation.get("value"), f"error in add for path: '{path}'")
    return 0


def _remove(document: Object, path: str, operation: Object) -> int:
    complaint = f'remove operation does not apply: doc is missing path: "{path}"'
    _take(_reach(document, path, complaint), f"error in remove for path: '{path}'")
    return 0


def _replace(document: Object, path: str, operation: Object) -> int:
    complaint = "replace operation does not apply: doc is missing"
    if not path:
        if not isinstance(operation.get("value"), dict | list):
            raise JSONPatchFailure("replace operation value must be object or array: %!w(<nil>)")
        raise _Replaced(orjson.loads(orjson.dumps(operation["value"])))
    place = _reach(document, path, f"{complaint} path: {path}")
    value = operation.get("value")
    container, key = place
    if isinstance(container, list):
        index = _index(container, key, f"{complaint} key: {path}", bare=True)
        _standard("replace", (container, str(index)), value)
    else:
        _standard("add", place, value)
    return 0


def _move(document: Object, path: str, operation: Object) -> int:
    origin = operation["from"]
    complaint = "move operation does not apply: doc is missing"
    source = _reach(document, origin, f"{complaint} from path: {origin}")
    in_move = f"error in move for path: '{source[1]}'"
    value = _value(source, in_move)
    _take(source, in_move)
    place = _reach(document, path, f"{complaint} destination path: {path}")
    _insert(place, value, f"error in move for path: '{path}'")
    return 0


def _copy(document: Object, path: str, operation: Object) -> int:
    origin = operation["from"]
    complaint = "copy operation does not apply: doc is missing"
    source = _reach(document, origin, f"{complaint} from path: {origin}")
    text = orjson.dumps(_value(source, f"error in copy for from: '{origin}'"))
    place = _reach(document, path, f"{complaint} destination path: {path}")
    _insert(place, orjson.loads(text), "error while adding value during copy")
    return len(text)


def _test(document: Object, path: str, operation: Object) -> int:
    place = _reach(document, path, f"test operation does not apply: is missing path: {path}")
    value = _value(place, f"error in test for path: '{path}'")
    if not same(value, operation.get("value")):
        raise PatchTestFailure(f"testing value {path} failed: test failed")
    return 0


_WITHOUT_REASON = frozenset({"add", "remove", "copy"})
"""Operations whose errors about a path do not say what is wrong with it."""
_OPERATIONS: dict[str, Callable[[Object, str, Object], int]] = {
    "add": _add, "copy": _copy, "move": _move, "remove": _remove, "replace": _replace,
    "test": _test,
}  # fmt: skip
_Position = tuple[Any, str]
"""A container, and the last part of a path, unescaped."""


def _reach(document: Object, path: str, complaint: str) -> _Position:
    """Return the container and the last part of a path. Raises JSONPatchFailure if it does not
    exist."""
    parts = [_unescaped(part) for part in path.split("/")]
    if len(parts) < 2:
        raise JSONPatchFailure(f"{complaint}: missing value")
    container: Any = document
    for part in parts[1:-1]:
        try:
            container = _child(container, part)
        except (LookupError, ValueError) as error:
            raise JSONPatchFailure(f"{complaint}: missing value") from error
    if not isinstance(container, dict | list):
        raise JSONPatchFailure(f"{complaint}: missing value")
    return container, parts[-1]


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _child(container: Any, part: str) -> Any:
    if isinstance(container, list):
        return container[_place(part, len(container))]
    return container[part] if isinstance(container, dict) else None


def _place(key: str, length: int) -> int:
    """Return an index counted from the start; those below zero count from the end, at `length`.
    Raises ValueError for what strconv.Atoi does not read, IndexError for an index before the
    start."""
    index = strconv.atoi(key)
    if index < -length:
        raise IndexError(index)
    return index + length if index < 0 else index


def _outside(key: str, complaint: str) -> JSONPatchFailure:
    shown = strconv.atoi(key)
    message = f"Unable to access invalid index: {shown}: invalid index referenced"
    return JSONPatchFailure(f"{complaint}: {message}")


def _index(container: list[Any], key: str, complaint: str, *, bare: bool = False) -> int:
    """Return the index of an existing item, counted from the start. Raises JSONPatchFailure."""
    missing = JSONPatchFailure(f"{complaint}: missing value")
    try:
        index = _place(key, len(container))
    except IndexError:
        index = len(container)
    except ValueError as error:
        raise (missing if bare else JSONPatchFailure(f"{complaint}: {error}")) from error
    if index >= len(container):
        raise missing if bare else _outside(key, complaint)
    return index


def _value(position: _Position, complaint: str) -> Any:
    """Return the value at a place; None for a missing member. Raises JSONPatchFailure for a bad
    index."""
    container, key = position
    if isinstance(container, list):
        return container[_index(container, key, complaint)]
    return container.get(key)


def _take(position: _Position, complaint: str) -> None:
    container, key = position
    if isinstance(container, list):
        position = container, str(_index(container, key, complaint))
    elif key not in container:
        message = f"{complaint}: Unable to remove nonexistent key: {key}: missing value"
        raise JSONPatchFailure(message)
    _standard("remove", position, None)


def _insert(position: _Position, value: Any, complaint: str) -> None:
    """Insert a value at a place; -1 means the end of a list, like `-`."""
    container, key = position
    if isinstance(container, list) and key != "-":
        try:
            index = _place(key, len(container) + 1)
        except IndexError as error:
            raise _outside(key, complaint) from error
        except ValueError as error:
            message = f"{complaint}: value was not a proper array index: '{key}': {error}"
            raise JSONPatchFailure(message) from error
        if index > len(container):
            raise _outside(key, complaint)
        position = container, str(index)
    _standard("add", position, value)


def _standard(op: str, position: _Position, value: Any) -> None:
    """Apply one operation of RFC 6902 to a container, in place."""
    container, key = position
    path = jsonpointer.JsonPointer.from_parts([key]).path
    operation = {"op": op, "path": path, "value": value}
    jsonpatch.apply_patch(container, [operation], in_place=True)
