"""JSON patch, RFC 6902, on jsonpatch with the semantics of evanphx/json-patch v4 (patch.go).

Where they differ, evanphx holds: an index may count from the end, `replace` of a missing member
adds it, `add` without a value adds null, `test` of a missing member with null holds, numbers are
equal only when written alike, and the document itself cannot be replaced.
"""

from typing import Any

import jsonpatch
import jsonpointer
import orjson

from inkube.schemas import gotext, status

Object = dict[str, Any]
MAX_OPERATIONS = 10_000
"""`maxJSONPatchOperations` of the reference."""
MAX_COPIED = 3 * 1024 * 1024
"""How many bytes all `copy` operations of a patch may duplicate (`JSONPatchMaxCopyBytes`)."""
_MEMBERS = ("op", "path", "from", "value")
_NO_OPERATIONS = "error decoding patch: json: cannot unmarshal {} into Go value of type {}"


def apply_json_patch(obj: Object, operations: Any) -> tuple[Object, list[str]]:
    """The patched object, and a text for every unknown member of an operation.

    Raises StatusError: 400 for what is no list of operations, 413 for too many of them, 422 for one
    that cannot be carried out.
    """
    found = _checked(operations)
    if len(found) > MAX_OPERATIONS:
        raise status.too_large(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(found)}"
        )
    document = orjson.loads(orjson.dumps(obj))
    copied = 0
    for operation in found:
        copied += _carry_out(document, operation)
        if copied > MAX_COPIED:
            raise _refused()
    return document, _unknown_members(found)


def _refused() -> status.StatusError:
    return status.StatusError(
        422,
        status.Reason.INVALID,
        "the server rejected our request due to an error in our request",
        details={},
    )


def _checked(operations: Any) -> list[Object]:
    """The list of operations; null is no operation, as is a null among them."""
    if operations is None:
        return []
    if not isinstance(operations, list):
        kind = gotext.json_kind(operations)
        raise status.bad_request(_NO_OPERATIONS.format(kind, "[]handlers.jsonPatchOp"))
    return [_checked_operation(operation) for operation in operations]


def _checked_operation(operation: Any) -> Object:
    if operation is None:
        return {}
    if not isinstance(operation, dict):
        kind = gotext.json_kind(operation)
        raise status.bad_request(_NO_OPERATIONS.format(kind, "handlers.jsonPatchOp"))
    for member in ("op", "path", "from"):
        value = operation.get(member)
        if value is not None and not isinstance(value, str):
            raise status.bad_request(
                f"error decoding patch: json: cannot unmarshal {gotext.json_kind(value)} into Go "
                f"struct field jsonPatchOp.{member} of type string"
            )
    return operation


def _unknown_members(operations: list[Object]) -> list[str]:
    return [
        f'json patch unknown field "[{index}].{member}"'
        for index, operation in enumerate(operations)
        for member in operation
        if member not in _MEMBERS
    ]


def _carry_out(document: Object, operation: Object) -> int:
    """Do one operation in place; answers how many bytes it copied."""
    try:
        return _perform(document, operation)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, LookupError) as error:
        raise _refused() from error


def _perform(document: Object, operation: Object) -> int:
    op, path, value = (operation.get(member) for member in ("op", "path", "value"))
    copied = 0
    if op in ("move", "copy"):
        source = _absolute(document, operation.get("from"))
        value = _found(document, source)
        if op == "move":
            _standard(document, {"op": "remove", "path": source})
        else:
            text = orjson.dumps(value)
            value, copied = orjson.loads(text), len(text)
        op = "add"
    place = _absolute(document, path, inserts=op == "add")
    if op == "test":
        _test(document, place, value)
    else:
        adds = op == "replace" and _is_missing_member(document, place)
        _standard(document, {"op": "add" if adds else op or "", "path": place, "value": value})
    return copied


def _standard(document: Object, operation: Object) -> None:
    jsonpatch.apply_patch(document, [operation], in_place=True)


def _absolute(document: Object, path: str | None, *, inserts: bool = False) -> str:
    """The path with indices counted from the start; -1 inserts after the last item."""
    if not path or not path.startswith("/"):
        raise LookupError(f"{path!r} leads nowhere")
    parts = [_unescaped(part) for part in path.split("/")[1:]]
    container: Any = document
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if isinstance(container, list) and part.startswith("-") and part[1:].isdecimal():
            parts[depth] = part = str(_from_end(container, part, inserts=inserts and last))
        container = None if last else _child(container, part)
    made: str = jsonpointer.JsonPointer.from_parts(parts).path
    return made


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _from_end(container: list[Any], part: str, *, inserts: bool) -> int:
    index = len(container) + int(part) + inserts
    if index < 0:
        raise LookupError(f"index {part} is out of bounds")
    return index


def _child(container: Any, part: str) -> Any:
    if isinstance(container, list):
        if not part.isdecimal():
            raise LookupError(f"{part!r} is no index")
        return container[int(part)]
    if isinstance(container, dict):
        return container[part]
    raise LookupError(f"nothing is below a scalar: {part!r}")


def _is_missing_member(document: Object, path: str) -> bool:
    parent, _, last = path.rpartition("/")
    container = jsonpointer.resolve_pointer(document, parent)
    return isinstance(container, dict) and _unescaped(last) not in container


def _found(document: Object, path: str) -> Any:
    """The value there; null for a missing member of an object that exists."""
    if _is_missing_member(document, path):
        return None
    return jsonpointer.resolve_pointer(document, path)


def _test(document: Object, path: str, value: Any) -> None:
    if not _same(_found(document, path), value):
        raise jsonpatch.JsonPatchTestFailed("testing value failed")


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON texts: 1, 1.0 and true are three things."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
