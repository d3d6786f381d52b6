"""The time limits of fixtures, multiplied by `INKUBE_PATIENCE` for machines under load. A wait ends
as soon as its event occurs, so a larger limit does not slow down passing tests."""

import os

SETTLED = 30.0
"""Seconds until controllers must have finished all work."""
HOLDS = 30.0
"""Seconds until a condition must be true."""
_PATIENCE = float(os.environ.get("INKUBE_PATIENCE", "1"))


def limit(seconds: float) -> float:
    """Return the time limit in seconds, multiplied by `INKUBE_PATIENCE`."""
    return seconds * _PATIENCE
