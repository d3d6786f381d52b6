"""How long fixtures wait at most: every limit times `INKUBE_PATIENCE`, for machines that have much
else to do. What a test waits for ends the wait, whatever the limit is."""

import os

SETTLED = 30.0
"""Seconds in which controllers have done what there is to do."""
HOLDS = 30.0
"""Seconds in which a condition becomes true."""
_PATIENCE = float(os.environ.get("INKUBE_PATIENCE", "1"))


def limit(seconds: float) -> float:
    """The seconds that a wait takes at most."""
    return seconds * _PATIENCE
