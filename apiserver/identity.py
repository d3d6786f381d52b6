"""Where uids, times and random names come from: injected once, at the root."""

import os
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from inkube.schemas import meta

# apimachinery/pkg/util/rand: no vowels, so that no words appear, and no digits like letters
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_AT_ONCE = 128
_MAX_BASE = 63 - _SUFFIX


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


def _random_uids() -> Iterator[str]:
    """UUIDs of version 4, their bits asked of the system for many at a time."""
    while True:
        bits = os.urandom(16 * _AT_ONCE)
        for start in range(0, len(bits), 16):
            yield str(uuid.UUID(bytes=bits[start : start + 16], version=4))


class Identity:
    """Clock, uid factory and name generator of one server."""

    def __init__(
        self,
        now: Callable[[], datetime] = utc_now,
        uid: Callable[[], str] | None = None,
        chooser: random.Random | None = None,
    ) -> None:
        self.now = now
        self.uid = uid or _random_uids().__next__
        self._chooser = chooser or random.Random()  # noqa: S311 # names need no secrecy

    def timestamp(self) -> str:
        """Now, as metadata shows it."""
        return meta.format_time(self.now())

    def generate_name(self, base: str) -> str:
        """`base` and five characters, cut to fit a label (names.SimpleNameGenerator)."""
        suffix = "".join(self._chooser.choices(_ALPHABET, k=_SUFFIX))
        return base[:_MAX_BASE] + suffix
