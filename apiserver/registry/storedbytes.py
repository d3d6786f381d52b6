"""What stored bytes tell or give without being decoded: short cuts, each as sound as decoding.

Stored bytes are orjson's: no spaces, no key twice, ASCII never escaped. Measured with a pod of
489 bytes: `untyped` takes 0.4 µs instead of 9.0, `may_be_bound` 1.3 µs instead of 7.3.
"""

from collections.abc import Iterable, Iterator

import orjson

_OWNERS, _DELETION = b'"ownerReferences":', b'"deletionTimestamp":'


def untyped(objects: Iterable[bytes], api_version: str, kind: str) -> Iterator[bytes]:
    """Objects of that type without apiVersion and kind.

    Cut off where they come first, as nearly always; else decoded and encoded again.
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
    """False only where an object has no owners and is not being deleted.

    A member of that name anywhere else in it makes this True as well: who asks decodes then.
    """
    return _OWNERS in data or _DELETION in data
