"""Decodes metadata as kube-apiserver does: through the Go struct ObjectMeta and back.

Members with a wrong type are refused with Go's text. In stored objects, they are dropped. Unknown
members are dropped and reported; empty ones are dropped. Follows
apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go.
"""

from typing import Any

from inkube.schemas.golang import DecodeError, cannot_unmarshal, gojson, rfc3339
from inkube.schemas.gotypes import decoding, types
from inkube.schemas.objects import Object

_TYPE = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def decode(
    value: Any, unknown: list[str], *, path: str = "metadata", lenient: bool = False
) -> Object:
    """Return a new metadata object. Raises DecodeError unless `lenient`."""
    if value is None:
        return {}
    if type(value) is not dict:
        if lenient:
            return {}
        raise cannot_unmarshal(value, "v1.ObjectMeta", path=path)
    usual = _usual(value)
    if usual is not None:
        return usual
    go = types.of(_TYPE)
    try:
        decoded = decoding.decode(go, {name: value[name] for name in sorted(value)}, path)
    except DecodeError:
        decoded = decoding.decode(go, _readable(value) if lenient else _sorted(value), path)
    unknown.extend(decoded.unknown)
    return decoded.object


_TEXTS = frozenset({"name", "namespace", "generateName", "uid", "resourceVersion", "selfLink"})
_MAPS = frozenset({"labels", "annotations"})
_TIMES = frozenset({"creationTimestamp", "deletionTimestamp"})
_OWNED = frozenset({"apiVersion", "fieldsType", "manager", "operation", "subresource"})
"""The texts of an entry in managedFields."""
_ONLY_TEXT = frozenset({str})
_MAX_INT = 2**63 - 1


def _usual(value: Object) -> Object | None:
    """Decode the metadata that most clients send without Go types: texts, maps of texts, and the
    members that a server sets. This takes a quarter of the time. Returns None for other
    metadata."""
    decoded: Object = {}
    for name in sorted(value):
        item = value[name]
        if name in _TEXTS:
            if item.__class__ is not str:
                return None
        elif name in _MAPS and item.__class__ is dict:
            if not {*map(type, item.values())} <= _ONLY_TEXT:
                return None
            item = item.copy()
        elif name in _TIMES:
            if not _is_written(item):
                return None
        elif name == "generation":
            if item.__class__ is not int or not 0 <= item <= _MAX_INT:
                return None
        elif name == "managedFields" and item.__class__ is list:
            if not all(_is_usual_entry(entry) for entry in item):
                return None
            item = [entry.copy() for entry in item]
        else:
            return None
        if item:
            decoded[name] = item
    return decoded


def _is_usual_entry(entry: Any) -> bool:
    """Return whether an entry of managedFields decodes to itself."""
    if entry.__class__ is not dict:
        return False
    for name, item in entry.items():
        if name in _OWNED:
            if item.__class__ is not str or not item:
                return False
        elif name == "time":
            if not _is_written(item):
                return False
        elif name != "fieldsV1" or item is None:
            return False
    return True


def _is_written(time: Any) -> bool:
    """Return whether a time has the format in which servers write it, and is not Go's zero time."""
    try:
        return time.__class__ is str and time != rfc3339.ZERO and rfc3339.rfc3339(time) == time
    except DecodeError:
        return False


def _readable(value: Object) -> Object:
    """Return the members that can be decoded."""
    readable = {}
    for name in sorted(value):
        try:
            decoding.decode(types.of(_TYPE), {name: value[name]})
        except DecodeError:
            continue
        readable[name] = value[name]
    return readable


def _sorted(value: Any) -> Any:
    """Sort the members by name, as Go does before it decodes the struct, so that the first error is
    the same. Whole floats become integers."""
    if type(value) is dict:
        return {name: _sorted(value[name]) for name in sorted(value)}
    if type(value) is list:
        return [_sorted(item) for item in value]
    return gojson.settle_numbers(value)
