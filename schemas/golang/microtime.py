"""metav1.MicroTime in JSON: RFC 3339 with exactly six digits of a second, and Go's errors."""

import re

from inkube.schemas import meta
from inkube.schemas.golang import gotext, rfc3339
from inkube.schemas.golang.unmarshal import DecodeError

ZERO = "0001-01-01T00:00:00.000000Z"
"""The zero time of Go, as metav1.MicroTime formats it."""
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}")
_FRACTION = re.compile(r"[.,][0-9]{6}")


def canonical(text: str) -> str:
    """Return the same time in UTC with six digits. Raises DecodeError with Go's text."""
    try:
        moment = rfc3339.parse(text)
    except DecodeError as error:
        raise DecodeError(error.text.replace(_LAYOUT, _MICRO_LAYOUT)) from error
    seconds = _SECONDS.match(text)
    rest = text[seconds.end() :] if seconds else text
    fraction = _FRACTION.match(rest)
    if fraction is None:
        raise _unparsed(text, rest, ".000000")
    if rest[fraction.end()].isdecimal():
        raise _unparsed(text, rest[fraction.end() :], "Z07:00")
    return meta.format_micro_time(moment)


def _unparsed(text: str, rest: str, element: str) -> DecodeError:
    return DecodeError(
        f"parsing time {gotext.quote(text)} as {gotext.quote(_MICRO_LAYOUT)}: "
        f"cannot parse {gotext.quote(rest)} as {gotext.quote(element)}"
    )
