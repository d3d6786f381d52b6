"""Bad values as field errors show structs: the JSON of kube-apiserver's internal Go types.

These have no JSON tags, so Go's own names stand there, in the order of the type, with a null for
each nil. The order is that of the protobuf messages, which the internal types follow; where one
does not, `_ORDER` says so.
"""

from typing import Any

from inkube.schemas.builtin.protobuf import messages
from inkube.schemas.builtin.rules import shapes
from inkube.schemas.builtin.rules.shapes import Shape
from inkube.schemas.fielderrors import Verbatim
from inkube.schemas.golang import gotext

_ORDER: dict[str, tuple[str, ...]] = {
    "storage.v1.VolumeAttachmentSource": ("persistentVolumeName", "inlineVolumeSpec"),
    "storage.v1.CSINodeDriver": ("name", "nodeID", "topologyKeys", "allocatable"),
}
_NAMES = {
    "apiGroup": "APIGroup", "apiGroups": "APIGroups", "apiVersion": "APIVersion",
    "apiVersions": "APIVersions", "csi": "CSI", "fc": "FC", "fsType": "FSType",
    "dnsPolicy": "DNSPolicy", "dnsConfig": "DNSConfig", "ip": "IP", "nfs": "NFS", "rbd": "RBD",
    "uid": "UID", "url": "URL", "hostIP": "HostIP",
}  # fmt: skip
"""Where a name is more than the member's with a capital."""
_ZEROS = {"string": '""', "bool": "false", "int32": "0", "int64": "0", "float": "0", "intstr": "0",
          "quantity": '"0"'}  # fmt: skip


def shown(name: str, value: Any) -> Verbatim:
    """A struct of a type, such as `storage.v1.VolumeAttachmentSpec`."""
    return Verbatim(_struct(name, value))


def shown_list(name: str, values: Any) -> Verbatim:
    """A list of such structs; null where there is none."""
    return Verbatim(_items(name, values))


def shown_member(name: str, member: str, value: Any) -> Any:
    """A member of a type as its value is shown: as Go shows it where it is a struct."""
    struct = shapes.fields(name)[member].struct
    return shown(struct, value) if struct and value is not None else value


def _items(name: str, values: Any) -> str:
    if not values:
        return "null"
    return f"[{','.join(_struct(name, each) for each in values)}]"


def _struct(name: str, value: Any) -> str:
    value = value or {}
    known = shapes.fields(name)
    members = _ORDER.get(name) or [
        row.member for row in messages.rows(shapes.full_name(name)) if row.member in known
    ]
    return "{" + ",".join(_member(known[member], member, value) for member in members) + "}"


def _member(shape: Shape, member: str, value: dict[str, Any]) -> str:
    name = _NAMES.get(member) or member[0].upper() + member[1:]
    return f'"{name}":{_value(shape, value.get(member))}'


def _value(shape: Shape, given: Any) -> str:
    if given is None:
        if shape.kind == "struct" and not shape.pointer:
            return _struct(shape.struct, {})
        return "null" if shape.pointer else _ZEROS.get(shape.kind, "null")
    if shape.struct and shape.kind == "struct":
        return _struct(shape.struct, given)
    if shape.struct and shape.kind == "list":
        return _items(shape.struct, given)
    if not given and shape.kind in ("list", "map"):
        return "null"
    return gotext.compact_json(given)
