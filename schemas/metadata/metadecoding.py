"""metadata as the reference decodes it: through the Go struct ObjectMeta and back.

Members of a wrong type are refused with Go's text or, when a stored object is read, dropped.
Unknown members are dropped and named; empty ones vanish. Follows
apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go and apimachinery's ObjectMeta.
"""

from collections.abc import Callable
from typing import Any

from inkube.schemas.golang import rfc3339
from inkube.schemas.golang.unmarshal import DecodeError, cannot_unmarshal

Object = dict[str, Any]
Reader = Callable[[Any, str, str, list[str]], Any]
"""(value, Go field for errors, path for unknown members, the unknown so far) → value or None."""


def decode(
    value: Any, unknown: list[str], *, path: str = "metadata", lenient: bool = False
) -> Object:
    """A new metadata object. Raises DecodeError unless `lenient`."""
    if value is None:
        return {}
    if type(value) is not dict:
        if lenient:
            return {}
        raise cannot_unmarshal(value, "v1.ObjectMeta")
    decoded: Object = {}
    for name in sorted(value):
        read = _MEMBERS.get(name)
        if read is None:
            unknown.append(f"{path}.{name}")
            continue
        try:
            item = read(value[name], f"ObjectMeta.{name}", f"{path}.{name}", unknown)
        except DecodeError:
            if not lenient:
                raise
            continue
        if item is not None:
            decoded[name] = item
    return decoded


def _string(go_type: str = "string") -> Reader:
    def read(value: Any, field: str, _path: str, _unknown: list[str]) -> str | None:
        if type(value) is str or value is None:
            return value or None
        raise cannot_unmarshal(value, go_type, field)

    return read


def _strings_by_name(value: Any, field: str, _path: str, _unknown: list[str]) -> Object | None:
    if value is None:
        return None
    if type(value) is not dict:
        raise cannot_unmarshal(value, "map[string]string", field)
    for item in value.values():
        if type(item) is not str and item is not None:
            wrong = next(value[name] for name in sorted(value) if _no_string(value[name]))
            raise cannot_unmarshal(wrong, "string", field)
    return {name: item or "" for name, item in value.items()} or None


def _no_string(value: Any) -> bool:
    return value is not None and type(value) is not str


def _strings(value: Any, field: str, _path: str, _unknown: list[str]) -> list[str] | None:
    if value is None:
        return None
    if type(value) is not list:
        raise cannot_unmarshal(value, "[]string", field)
    for item in value:
        if _no_string(item):
            raise cannot_unmarshal(item, "string", field)
    return [item or "" for item in value] or None


def _integer(*, keep_zero: bool) -> Reader:
    def read(value: Any, field: str, _path: str, _unknown: list[str]) -> int | None:
        if value is None:
            return None
        if type(value) is not int:
            raise cannot_unmarshal(value, "int64", field)
        return value if value or keep_zero else None

    return read


def _boolean(value: Any, field: str, _path: str, _unknown: list[str]) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise cannot_unmarshal(value, "bool", field)


def _time(value: Any, _field: str, _path: str, _unknown: list[str]) -> str | None:
    if value is None:
        return None
    if type(value) is not str:
        raise cannot_unmarshal(value, "string")
    return rfc3339.rfc3339(value)


def _anything(value: Any, _field: str, _path: str, _unknown: list[str]) -> Any:
    return value


def _structs(name: str, members: dict[str, Reader], always: tuple[str, ...]) -> Reader:
    """A list of Go structs; `always` are the members written even when empty."""

    def read_one(value: Any, field: str, path: str, unknown: list[str]) -> Object:
        decoded: Object = dict.fromkeys(always, "")
        for member in sorted(value or {}):
            read = members.get(member)
            if read is None:
                unknown.append(f"{path}.{member}")
                continue
            item = read(value[member], f"{name}.{field}.{member}", path, unknown)
            if item is not None:
                decoded[member] = item
        return decoded

    def read(value: Any, field: str, path: str, unknown: list[str]) -> list[Object] | None:
        if value is None:
            return None
        if type(value) is not list:
            raise cannot_unmarshal(value, f"[]v1.{name}", field)
        for item in value:
            if item is not None and type(item) is not dict:
                raise cannot_unmarshal(item, f"v1.{name}", field)
        bare = field.partition(".")[2]
        return [
            read_one(item, bare, f"{path}[{index}]", unknown) for index, item in enumerate(value)
        ] or None

    return read


_OWNER = {
    "apiVersion": _string(),
    "kind": _string(),
    "name": _string(),
    "uid": _string("types.UID"),
    "controller": _boolean,
    "blockOwnerDeletion": _boolean,
}
_ENTRY = {
    "manager": _string(),
    "operation": _string("v1.ManagedFieldsOperationType"),
    "apiVersion": _string(),
    "time": _time,
    "fieldsType": _string(),
    "fieldsV1": _anything,
    "subresource": _string(),
}
_MEMBERS: dict[str, Reader] = {
    "name": _string(),
    "generateName": _string(),
    "namespace": _string(),
    "selfLink": _string(),
    "uid": _string("types.UID"),
    "resourceVersion": _string(),
    "generation": _integer(keep_zero=False),
    "creationTimestamp": _time,
    "deletionTimestamp": _time,
    "deletionGracePeriodSeconds": _integer(keep_zero=True),
    "labels": _strings_by_name,
    "annotations": _strings_by_name,
    "ownerReferences": _structs("OwnerReference", _OWNER, ("apiVersion", "kind", "name", "uid")),
    "finalizers": _strings,
    "managedFields": _structs("ManagedFieldsEntry", _ENTRY, ()),
}
