"""Where uids, times and random names come from: injected once, at the root."""

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from inkube.schemas import meta

# apimachinery/pkg/util/rand: no vowels, so that no words appear
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_MAX_BASE = 63 - _SUFFIX


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class Identity:
    """Clock, uid factory and name generator of one server."""

    def __init__(
        self,
        now: Callable[[], datetime] = utc_now,
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
        chooser: random.Random | None = None,
    ) -> None:
        self.now = now
        self.uid = uid
        self._chooser = chooser or random.Random()  # noqa: S311 # names need no secrecy

    def timestamp(self) -> str:
        """Now, as metadata shows it."""
        return meta.format_time(self.now())

    def generate_name(self, base: str) -> str:
        """`base` and five characters, cut to fit a label (names.SimpleNameGenerator)."""
        suffix = "".join(self._chooser.choices(_ALPHABET, k=_SUFFIX))
        return base[:_MAX_BASE] + suffix
