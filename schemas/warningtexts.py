"""What becomes a Warning header, and how much of it.

Follows apiserver/pkg/endpoints/filters/warning.go and NewWarningHeader of apimachinery.
"""

import re
from collections.abc import Iterable

MAX_TOTAL = 4 * 1024
"""Characters of all warnings together, above which every one is shortened."""
MAX_SHORTENED = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def limited(texts: Iterable[str]) -> list[str]:
    """The warnings shown: none that is empty, repeated or has control characters.

    Where they are too long together, each is cut and those past the limit are dropped.
    """
    found, least = [], 0
    for text in dict.fromkeys(texts):
        if text and not _CONTROL.search(text):
            found.append(text)
            least += min(len(text), MAX_SHORTENED)
            if least > MAX_TOTAL:  # what follows is not shown, and may be much
                break
    if sum(map(len, found)) <= MAX_TOTAL:
        return found
    shown, written = [], 0
    for text in found:
        if written >= MAX_TOTAL:
            break
        shown.append(text[:MAX_SHORTENED])
        written += len(shown[-1])
    return shown
