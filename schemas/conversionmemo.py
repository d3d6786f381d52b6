"""Conversions that have to be waited for, under functions that do not wait.

Ownership asks for objects in other versions through a plain function (`typed.Versions`). Where
conversion is a webhook's, that function looks here first, and what is missing is fetched outside:

    memo = ConversionMemo()
    while True:
        try:
            return apply(…, versions=Versions(schemas, memo.convert))
        except NeededError as needed:
            memo.put(needed, await convert(needed.object, needed.api_version))

Applying is pure, so starting over gives the same questions in the same order.
"""

from typing import Any

import orjson

Object = dict[str, Any]


class NeededError(Exception):
    """A conversion nobody has made yet."""

    def __init__(self, obj: Object, api_version: str) -> None:
        super().__init__(f"conversion to {api_version} needed")
        self.object, self.api_version = obj, api_version


class ConversionMemo:
    """The conversions made for one request."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, bytes], Object] = {}

    def convert(self, obj: Object, api_version: str) -> Object:
        """The object in that version. Raises NeededError until it has been put here."""
        made = self._made.get(_key(obj, api_version))
        if made is None:
            raise NeededError(obj, api_version)
        return made

    def put(self, needed: NeededError, converted: Object) -> None:
        """Remember what was needed."""
        self._made[_key(needed.object, needed.api_version)] = converted


def _key(obj: Object, api_version: str) -> tuple[str, bytes]:
    return api_version, orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
