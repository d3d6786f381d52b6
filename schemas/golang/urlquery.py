"""The query of a URL as Go's net/url reads it (`parseQuery`, as `URL.Query` calls it).

Pairs with a semicolon or a broken escape are left out, blank values are kept. What is no UTF-8
becomes U+FFFD. `truthy` is what Kubernetes makes of a value that should be a bool.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

_BROKEN: Final = re.compile(r"%(?![0-9a-fA-F]{2})", re.ASCII)


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values in their order."""
    for pair in text.split("&"):
        if not pair or ";" in pair or _BROKEN.search(pair):
            continue
        name, _, value = pair.partition("=")
        yield _unescape(name), _unescape(value)


def truthy(value: str | None) -> bool:
    """Return a query value as a bool: only a missing one, "0" and "false" are False.

    apimachinery/pkg/runtime/conversion.go: Convert_Slice_string_To_bool.
    """
    return value is not None and value.lower() not in ("false", "0")


def _unescape(text: str) -> str:
    text = text.replace("+", " ")
    if "%" not in text and text.isascii():
        return text
    return unquote_to_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
