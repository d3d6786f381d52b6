"""Numbers in texts that clients write: annotations, percentages and indexes."""

import re

_WHOLE = re.compile(r"0*([0-9]{1,18})", re.ASCII)
"""Go's Atoi refuses more than an int64. Eighteen digits always fit."""


def whole(text: str) -> int | None:
    """Return a whole number, or None for another text or a number beyond an int64."""
    found = _WHOLE.fullmatch(text)
    return int(found[1]) if found else None
