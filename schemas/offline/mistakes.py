"""Every value of a wrong type in an object, not only the first.

A decoder ends with the first error. `decode` drops the value of each error and decodes again, so
that later errors and the rules for other fields are found too. The words are always the decoder's.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from inkube.schemas.documents import first_parts, index_of
from inkube.schemas.golang import DecodeError
from inkube.schemas.objects import Object

MOST = 100
"""The largest number of wrong values that are reported for one object."""


class Mistake(NamedTuple):
    """A value that cannot be decoded: its path, "" if it is not known, and the decoder's error."""

    path: str
    text: str


class Decoded(NamedTuple):
    """The object without its wrong values, None if the rest cannot be decoded either."""

    object: Object | None
    mistakes: list[Mistake]

    def is_consequence(self, path: str) -> bool:
        """Return whether an error at a path can follow from a dropped value."""
        return any(
            path == each.path or path.startswith((f"{each.path}.", f"{each.path}["))
            for each in self.mistakes
        )


def decode(value: Object, decoder: Callable[[Object], Object]) -> Decoded:
    """Decode copies of an object until `decoder` raises no DecodeError, or MOST errors occurred."""
    mistakes: list[Mistake] = []
    left = value
    while len(mistakes) < MOST:
        sent = copy.deepcopy(left)
        try:
            return Decoded(decoder(sent), mistakes)
        except DecodeError as error:
            mistakes.append(Mistake(error.path, error.text))
            left = copy.deepcopy(left)
            if not error.path or not _drop(left, error.path):
                break
    return Decoded(None, mistakes)


def _drop(value: Any, path: str) -> bool:
    """Remove the value at a path. Returns whether it was there. An item of a list becomes null,
    so that the paths of later items stay."""
    if isinstance(value, list):
        index = index_of(path)
        if index is None or index[0] >= len(value):
            return False
        at, rest = index
        if rest:
            return _drop(value[at], rest)
        changes = value[at] is not None
        value[at] = None
        return changes
    if not isinstance(value, dict):
        return False
    for name, rest in first_parts(path, value):
        if not rest:
            del value[name]
            return True
        if _drop(value[name], rest):
            return True
    return False
