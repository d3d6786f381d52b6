"""The progress of a start."""

from typing import NamedTuple

LOADING, DEFINING = "log", "poststarthook/crd-informer-synced"
"""The checks of `/readyz` that fail while the log is loaded, and while definitions are created."""


class Stage(NamedTuple):
    """The current step of a start: the health check that fails during it, and its progress.

    `done` of `total` (0: unknown); `detail` is a text for people.
    """

    check: str
    description: str
    done: int = 0
    total: int = 0
    detail: str = ""

    @property
    def fraction(self) -> float | None:
        """The progress from 0 to 1; None if it is unknown."""
        return min(self.done / self.total, 1.0) if self.total else None

    def __str__(self) -> str:
        text = (
            self.description
            if self.fraction is None
            else f"{self.description}: {self.fraction:.0%}"
        )
        return f"{text} ({self.detail})" if self.detail else text
