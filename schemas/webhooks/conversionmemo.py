"""Conversions that have to be waited for, under functions that do not wait.

Views of objects and ownership of fields ask for objects in other versions through plain functions.
Where conversion is a webhook's, these look here first, and what is missing is fetched outside:

    while True:
        try:
            return apply(…, versions=Versions(schemas, memo.convert))
        except NeededError as needed:
            memo.put(needed, await convert(needed.object, needed.api_version))

What is tried again must be pure up to the first conversion, so that it asks the same again.
"""

import orjson

from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

LIMIT = 2048  # objects kept, where no single list needs more


class NeededError(StatusError):
    """A conversion nobody has made yet; a 501 where nobody waits for it."""

    def __init__(self, obj: Object, api_version: str) -> None:
        message = f"the object would have to be converted to {api_version} by a webhook here"
        super().__init__(501, Reason.NOT_IMPLEMENTED, message)
        self.object, self.api_version = obj, api_version


class ConversionMemo:
    """Conversions made; the oldest are forgotten when there are more than `limit`."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._made: dict[tuple[str, bytes], Object] = {}

    def convert(self, obj: Object, api_version: str) -> Object:
        """The object in that version. Raises NeededError until it has been put here."""
        made = self._made.get(_key(obj, api_version))
        if made is None:
            raise NeededError(obj, api_version)
        return made

    def clear(self) -> None:
        """Forget all."""
        self._made.clear()

    def put(self, needed: NeededError, converted: Object) -> None:
        """Remember what was needed."""
        self._made[_key(needed.object, needed.api_version)] = converted
        while len(self._made) > self.limit:
            del self._made[next(iter(self._made))]


def _key(obj: Object, api_version: str) -> tuple[str, bytes]:
    return api_version, orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
