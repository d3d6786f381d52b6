"""Uids, times and generated names, which a server stamps on objects: injected once, at the root."""

import math
import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from inkube.schemas import meta

# apimachinery/pkg/util/rand: no vowels, so that no words appear, and no digits like letters
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_AT_ONCE = 128
_MAX_BASE = 63 - _SUFFIX
_VARIANTS = "89ab"  # RFC 9562: the two high bits are 10


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class _RandomUids:
    """UUIDs of version 4, their bits asked of the system for many at a time.

    Any thread may ask: a list gives each of its items once, where a generator that runs in one
    thread refuses the others.
    """

    def __init__(self) -> None:
        self._ready: list[str] = []

    def __call__(self) -> str:
        """A uid nobody had."""
        while True:
            try:
                return self._ready.pop()
            except IndexError:
                self._ready.extend(_uids(os.urandom(16 * _AT_ONCE).hex()))


def _uids(digits: str) -> Iterator[str]:
    for start in range(0, len(digits), 32):
        one = digits[start : start + 32]
        variant = _VARIANTS[int(one[16], 16) % 4]
        yield f"{one[:8]}-{one[8:12]}-4{one[13:16]}-{variant}{one[17:20]}-{one[20:]}"


class Stamps:
    """Clock, uid factory and name generator of one server."""

    def __init__(
        self,
        now: Callable[[], datetime] = utc_now,
        uid: Callable[[], str] | None = None,
        chooser: random.Random | None = None,
    ) -> None:
        self.now = now
        self.uid = uid or _RandomUids()
        self._chooser = chooser or random.Random()  # noqa: S311 # names need no secrecy
        self._second, self._text = math.nan, ""  # the last timestamp: many writes share one

    def timestamp(self) -> str:
        """Now, as metadata shows it."""
        now = self.now()
        second = now.timestamp() // 1
        if second != self._second:
            self._second, self._text = second, meta.format_time(now)
        return self._text

    def generate_name(self, base: str) -> str:
        """`base` and five characters, cut to fit a label (names.SimpleNameGenerator)."""
        suffix = "".join(self._chooser.choices(_ALPHABET, k=_SUFFIX))
        return base[:_MAX_BASE] + suffix
