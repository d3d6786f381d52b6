"""The encoding of objects as stored bytes: JSON that includes the resourceVersion."""

from collections.abc import Sequence

import orjson

from inkube.schemas.golang import strconv
from inkube.schemas.objects import Object


class JSONCodec:
    """The Codec that storage uses."""

    def encode(self, value: Object, revision: int) -> bytes:
        """Return the object's bytes at a revision; 0 leaves the metadata unchanged (a dry run)."""
        if revision:
            metadata = {**value["metadata"], "resourceVersion": str(revision)}
            value = {**value, "metadata": metadata}
        return orjson.dumps(value)

    def decode(self, data: bytes) -> Object:
        """Return a new object on each call."""
        return orjson.loads(data)  # type: ignore[no-any-return] # every stored value is an object

    def strip(self, value: Object) -> bool:
        """Remove resourceVersion and selfLink (storage.Versioner, PrepareObjectForStorage).

        Returns whether the resourceVersion was a number other than 0 (ObjectResourceVersion).
        """
        metadata = value["metadata"]
        metadata.pop("selfLink", None)
        text = metadata.pop("resourceVersion", "")
        if not text:
            return False
        try:
            return strconv.parse_uint(text) != 0
        except ValueError:
            return False

    def is_sound(self, data: bytes, revision: int) -> bool:
        """Return whether the bytes are an object whose resourceVersion is that revision."""
        try:
            value = orjson.loads(data)
            version = value["metadata"]["resourceVersion"]
        except (ValueError, TypeError, LookupError):
            return False
        return bool(version == str(revision))

    def are_sound(self, data: Sequence[bytes], revisions: Sequence[int]) -> bool:
        """Return whether all objects are sound (`is_sound`), in one call."""
        loads = orjson.loads
        try:
            versions = [loads(each)["metadata"]["resourceVersion"] for each in data]
        except (ValueError, TypeError, LookupError):
            return False
        return versions == list(map(str, revisions))
