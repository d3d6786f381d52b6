"""The envelope of protobuf bodies: `k8s\\0`, then a `runtime.Unknown` with kind and object.

PREFIX  1: TypeMeta {1: apiVersion, 2: kind}  2: object  3: contentEncoding  4: contentType
"""

from typing import Final

from inkube.schemas import caches
from inkube.schemas.builtin.protobuf import decoding, encoding, messages, wire
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.objects import Object

PREFIX: Final = b"k8s\0"
TAIL: Final = b"\x1a\x00\x22\x00"
"""contentEncoding and contentType, which are empty in every object."""
_BODY: Final = 2
_LIST_META: Final = f"{messages.META}ListMeta"


def can_carry(gvk: GVK) -> bool:
    """Return whether the kind has a message."""
    return bool(messages.of(gvk))


def decode_envelope(body: bytes) -> tuple[str, str, bytes]:
    """Return the apiVersion, the kind and the object's bytes. Raises WireError."""
    version = kind = ""
    raw, place, end = b"", len(PREFIX), len(body)
    while place < end:
        start = place
        key, place = wire.varint(body, place)
        if key >> 3 not in (1, _BODY):
            place = wire.skip(body, start)
            continue
        if key & 7 != wire.BYTES:
            name = "TypeMeta" if key >> 3 == 1 else "Raw"
            raise wire.WireError(f"proto: wrong wireType = {key & 7} for field {name}")
        start, place = wire.end_of(body, place)
        if key >> 3 == 1:
            head = decoding.decode(f"{messages.RUNTIME}TypeMeta", body[start:place])
            version, kind = head.get("apiVersion", version), head.get("kind", kind)
        else:
            raw = body[start:place]
    return version, kind, raw


def decode(data: bytes, gvk: GVK) -> Object:
    """Return an object of the kind, with its apiVersion and kind. Raises WireError."""
    found = decoding.decode(messages.of(gvk), data)
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **found}


def list_start(api_version: str, kind: str, metadata: Object, size: int) -> bytes:
    """Return the bytes before the items of a list. `size` is the size of all items in bytes. TAIL
    follows the items."""
    first = encoding.sized(1, encoding.encode(_LIST_META, metadata))
    return b"%b\x12%b%b" % (_head(api_version, kind), wire.size(len(first) + size), first)


def item(api_version: str, kind: str) -> slice:
    """Return the part of an encoded object that is an item of a list: field 2 in both envelopes."""
    return slice(len(_head(api_version, kind)), -len(TAIL))


def encode_envelope(obj: Object) -> bytes:
    """Return the envelope of an object with apiVersion and kind. Its kind must have a message.

    APIVersions has no apiVersion.
    """
    version, kind = obj.get("apiVersion", ""), obj["kind"]
    group, short = split_api_version(version or "v1")
    body = encoding.encode(messages.of(GVK(group, short, kind)), obj)
    return b"%b%b%b" % (_head(version, kind), encoding.sized(_BODY, body), TAIL)


def watch_event(type: str, data: bytes) -> bytes:
    """Return a frame of a watch: its size as four bytes, then a WatchEvent. `data` is an
    envelope."""
    event = encoding.sized(1, type.encode()) + encoding.sized(2, encoding.sized(1, data))
    return len(event).to_bytes(4, "big") + event


@caches.of_texts(512)
def _head(api_version: str, kind: str) -> bytes:
    named = encoding.sized(1, api_version.encode()) + encoding.sized(2, kind.encode())
    return PREFIX + encoding.sized(1, named)
