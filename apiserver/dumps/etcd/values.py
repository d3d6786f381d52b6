"""What kube-apiserver stores under a key: an object in JSON or protobuf, or an encrypted one.

Follows apiserver/pkg/storage/etcd3 and apiserver/pkg/storage/value/encrypt.
"""

from typing import Final

import orjson

from inkube.apiserver.dumps.etcd.revisions import KeyValue
from inkube.apiserver.dumps.findings import Unread
from inkube.schemas import builtin
from inkube.schemas.builtin import decoding, protobuf
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

_ENCRYPTED: Final = b"k8s:enc:"
_PROTOBUF: Final = builtin.envelopes.PREFIX


def object_of(record: KeyValue) -> Object:
    """Return the object under a key, with its resource version. Raises Unread."""
    value = record.value
    if value.startswith(_ENCRYPTED):
        provider = value[len(_ENCRYPTED) :].split(b":", 1)[0].decode("ascii", "replace")
        raise Unread(f"encrypted values ({provider}), whose key is not in the snapshot")
    obj = _of_protobuf(value) if value.startswith(_PROTOBUF) else _of_json(value)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise Unread("values that are no objects")
    metadata["resourceVersion"] = str(record.revision)
    return obj


def _of_json(value: bytes) -> Object:
    try:
        obj = orjson.loads(value)
    except ValueError as error:
        raise Unread("values that are no objects") from error
    if not isinstance(obj, dict):
        raise Unread("values that are no objects")
    return obj


def _of_protobuf(value: bytes) -> Object:
    try:
        version, kind, data = builtin.envelopes.decode_envelope(value)
        gvk = GVK.of(version, kind)
        if not builtin.envelopes.can_carry(gvk):
            raise Unread(f"protobuf of {version} {kind}, which no server of this version knows")
        return decoding.decode(builtin.envelopes.decode(data, gvk), gvk).object
    except (protobuf.wire.WireError, DecodeError, LookupError) as error:
        raise Unread(f"protobuf that cannot be read: {error}") from error
