"""The selection and length of texts for Warning headers.

Follows apiserver/pkg/endpoints/filters/warning.go and NewWarningHeader of apimachinery.
"""

import re
from collections.abc import Iterable

MAX_TOTAL = 4 * 1024
"""The limit of characters of all warnings together; above it, each warning is shortened."""
MAX_SHORTENED = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def limited(texts: Iterable[str]) -> list[str]:
    """Return the warnings to send, without those that are empty, repeated or have control
    characters.

    If they exceed MAX_TOTAL together, each is cut to MAX_SHORTENED characters, and warnings after
    the limit are dropped.
    """
    usable, least = [], 0
    for text in dict.fromkeys(texts):
        if text and not _CONTROL.search(text):
            usable.append(text)
            least += min(len(text), MAX_SHORTENED)
            if least > MAX_TOTAL:  # later texts are not sent, and there can be many
                break
    if sum(map(len, usable)) <= MAX_TOTAL:
        return usable
    shortened, written = [], 0
    for text in usable:
        if written >= MAX_TOTAL:
            break
        shortened.append(text[:MAX_SHORTENED])
        written += len(shortened[-1])
    return shortened
