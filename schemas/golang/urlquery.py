"""The query of a URL as Go's net/url parses it (`parseQuery`, which `URL.Query` calls).

Pairs with a semicolon or an invalid escape are omitted; empty values stay. Bytes that are not UTF-8
become U+FFFD. `truthy` is Kubernetes' conversion of a value to a bool.
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
