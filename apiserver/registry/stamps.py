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


def _random_uids() -> Iterator[str]:
    """UUIDs of version 4, their bits asked of the system for many at a time."""
    while True:
        digits = os.urandom(16 * _AT_ONCE).hex()
        for start in range(0, len(digits), 32):
            yield _uuid(digits[start : start + 32])


def seeded_uids(seed: int) -> Iterator[str]:
    """The same UUIDs in every run."""
    source = random.Random(f"uids of {seed}")  # noqa: S311 # to be the same again
    while True:
        yield _uuid(f"{source.getrandbits(128):032x}")


def _uuid(one: str) -> str:
    variant = _VARIANTS[int(one[16], 16) % 4]
    return f"{one[:8]}-{one[8:12]}-4{one[13:16]}-{variant}{one[17:20]}-{one[20:]}"


class Stamps:
    """Clock, uid factory and name generator of one server; with a seed, the same in every run."""

    def __init__(
        self,
        now: Callable[[], datetime] = utc_now,
        uid: Callable[[], str] | None = None,
        chooser: random.Random | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.now = now
        uids = _random_uids() if seed is None else seeded_uids(seed)
        self.uid = uid or uids.__next__
        self.review_uid = self.uid if seed is None else seeded_uids(~seed).__next__
        """Of what webhooks are asked: with a seed, reads that ask them cost objects no uid."""
        names = None if seed is None else f"names of {seed}"
        self._chooser = chooser or random.Random(names)  # noqa: S311 # names need no secrecy
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
