"""etcd's keys in the bucket `key`: the newest state of each key that exists.

An entry of the bucket is a revision (8 bytes, "_", 8 bytes, "t" for a deletion) and a KeyValue: key
1, create_revision 2, mod_revision 3, version 4, value 5, lease 6. Follows
etcd/server/storage/mvcc/revision.go, api/mvccpb/kv.proto.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from inkube.apiserver.dumps.etcd.pages import Database
from inkube.apiserver.dumps.findings import Unread
from inkube.schemas.builtin import protobuf

_BUCKET: Final = b"key"
_REVISION_SIZE: Final = 17
_KEY, _MOD_REVISION, _VALUE = 1, 3, 5
KEYS: Final = 10_000_000
"""The most keys of a snapshot."""


class KeyValue(NamedTuple):
    """The newest state of a key."""

    key: str
    revision: int
    value: bytes


def newest(database: Database) -> Iterator[KeyValue]:
    """Yield the newest state of each key, in the order of revisions. Raises Unread."""
    revisions: dict[bytes, bytes] = {}
    for revision, data in database.bucket(_BUCKET):
        key, _, _ = _parse(data)
        if revision[_REVISION_SIZE:] == b"t":
            revisions.pop(key, None)
        elif len(revisions) < KEYS:
            revisions[key] = revision
        else:
            raise Unread(f"more than {KEYS} keys of etcd")
    for revision, data in database.bucket(_BUCKET):
        key, number, value = _parse(data)
        if revisions.get(key) == revision:
            yield KeyValue(key.decode("utf-8", "replace"), number, value)


def _parse(data: bytes) -> tuple[bytes, int, bytes]:
    key = value = b""
    number, place = 0, 0
    try:
        while place < len(data):
            start = place
            tag, place = protobuf.wire.varint(data, place)
            if tag == _MOD_REVISION << 3:
                number, place = protobuf.wire.varint(data, place)
            elif tag in (_KEY << 3 | protobuf.wire.BYTES, _VALUE << 3 | protobuf.wire.BYTES):
                start, place = protobuf.wire.end_of(data, place)
                if tag >> 3 == _KEY:
                    key = data[start:place]
                else:
                    value = data[start:place]
            else:
                place = protobuf.wire.skip(data, start)
    except protobuf.wire.WireError as error:
        raise Unread(f"a damaged etcd snapshot: {error}") from error
    return key, number, value
