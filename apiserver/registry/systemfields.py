"""Times, uids and generated names of objects: the metadata that only a server sets."""

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from inkube.schemas import meta

# apimachinery/pkg/util/rand: no vowels, so that no words appear, and no digits like letters
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_AT_FIRST, _AT_ONCE = 8, 128
_MAX_BASE = 63 - _SUFFIX
_SECOND = timedelta(seconds=1)
_VARIANTS = "89ab"  # RFC 9562: the two high bits are 10


def utc_now() -> datetime:
    """Return the current time of the system clock, in UTC."""
    return datetime.now(UTC)


class _RandomUids:
    """UUIDs of version 4. One system call provides the bits of many, at first of a few: servers of
    tests use no more.

    Safe in all threads: a list returns each item once, but a running generator refuses calls of
    other threads.
    """

    def __init__(self) -> None:
        self._ready: list[str] = []
        self._many = _AT_FIRST

    def __call__(self) -> str:
        """Return a new uid."""
        while True:
            try:
                return self._ready.pop()
            except IndexError:
                digits = os.urandom(16 * self._many).hex()
                self._many = _AT_ONCE
                self._ready.extend(
                    _uuid(digits[start : start + 32]) for start in range(0, len(digits), 32)
                )


def seeded_uids(seed: int) -> Callable[[], str]:
    """Return a function that generates the same UUIDs in every run."""
    source = random.Random(f"uids of {seed}")  # noqa: S311 # to be the same again
    return lambda: _uuid(f"{source.getrandbits(128):032x}")


def _uuid(digits: str) -> str:
    variant = _VARIANTS[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class SystemFields:
    """Sources of the metadata that a server sets: times, uids and generated names.

    With a seed, uids and names are the same in every run. Upstream fills the same fields in
    `rest.FillObjectMetaSystemFields`.
    """

    def __init__(
        self,
        now: Callable[[], datetime] = utc_now,
        uid: Callable[[], str] | None = None,
        chooser: random.Random | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.now = now
        self.uid = uid or (_RandomUids() if seed is None else seeded_uids(seed))
        self.review_uid = self.uid if seed is None else seeded_uids(~seed)
        """Generates uids of reviews for webhooks. With a seed, they do not use up uids of objects,
        so a read that calls a webhook does not change later uids."""
        names = None if seed is None else f"names of {seed}"
        self._chooser = chooser or random.Random(names)  # noqa: S311 # names need no secrecy
        self._begins = self._ends = utc_now()
        self._text = ""  # the timestamp of that second: many writes share it

    def timestamp(self) -> str:
        """Return the current time in the format of metadata."""
        now = self.now()
        if not self._begins <= now < self._ends:
            self._begins = now.replace(microsecond=0)
            self._ends = self._begins + _SECOND
            self._text = meta.format_time(now)
        return self._text

    def generate_name(self, base: str) -> str:
        """Return `base` and five random characters, at most 63 characters
        (names.SimpleNameGenerator)."""
        suffix = "".join(self._chooser.choices(_ALPHABET, k=_SUFFIX))
        return base[:_MAX_BASE] + suffix
