"""What becomes a Warning header, and how much of it.

Follows apiserver/pkg/endpoints/filters/warning.go and NewWarningHeader of apimachinery.
"""

import unicodedata
from collections.abc import Iterable

MAX_TOTAL = 4 * 1024
"""Characters of all warnings together, above which every one is shortened."""
MAX_SHORTENED = 256


def limited(texts: Iterable[str]) -> list[str]:
    """The warnings shown: none that is empty, repeated or has control characters.

    Where they are too long together, each is cut and those past the limit are dropped.
    """
    found = [text for text in dict.fromkeys(texts) if text and not _has_controls(text)]
    if sum(map(len, found)) <= MAX_TOTAL:
        return found
    shown, written = [], 0
    for text in found:
        if written >= MAX_TOTAL:
            break
        shown.append(text[:MAX_SHORTENED])
        written += len(shown[-1])
    return shown


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(char) == "Cc" for char in text)
