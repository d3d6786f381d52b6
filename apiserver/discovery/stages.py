"""How far a start is."""

from typing import NamedTuple

LOADING, IMPORTING = "log", "poststarthook/crd-informer-synced"
"""The checks of `/readyz` that fail while the log is read, and while definitions are made."""


class Stage(NamedTuple):
    """What a start is busy with: the check that fails until then, and how far it is.

    `done` of `total` (0: not known); `detail` is for people.
    """

    check: str
    doing: str
    done: int = 0
    total: int = 0
    detail: str = ""

    @property
    def fraction(self) -> float | None:
        """How much is done, from 0 to 1; None where nobody knows."""
        return min(self.done / self.total, 1.0) if self.total else None

    def __str__(self) -> str:
        text = self.doing if self.fraction is None else f"{self.doing}: {self.fraction:.0%}"
        return f"{text} ({self.detail})" if self.detail else text
