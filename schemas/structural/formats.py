"""The string formats that upstream checks, by name without dashes; it ignores other formats.

Follows kube-openapi/pkg/validation/strfmt and its fork of govalidator, with Go's net, net/url,
net/mail and time packages beneath.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from inkube.schemas.golang import gourl, mailaddress, patterns

Check = Callable[[str], bool]


def check_for(format: str) -> Check | None:
    """Return the check of a format, or None if upstream does not know the format."""
    return _CHECKS.get(format.replace("-", ""))


_SINCE = {
    "k8sshortname": 35, "k8slongname": 35, "int32": 36, "int64": 36, "float": 36, "double": 36,
}  # fmt: skip
"""The first minor that checks a format; earlier minors remove the format from schemas."""


def checked_in(schema: Mapping[str, Any], minor: int) -> Mapping[str, Any]:
    """Return the schema without formats that the minor does not check; `schema` itself without such
    ones.

    Follows pkg/apiserver/schema/formats (StripUnsupportedFormatsPostProcess).
    """
    changed = {key: _below(schema[key], minor) for key in schema.keys() & _BELOW}
    changed = {key: value for key, value in changed.items() if value is not schema[key]}
    for key in schema.keys() & _NAMED:
        below = {name: _below(node, minor) for name, node in (schema[key] or {}).items()}
        if any(node is not schema[key][name] for name, node in below.items()):
            changed[key] = below
    if minor < _SINCE.get((schema.get("format") or "").replace("-", ""), 0):
        changed["format"] = ""
    return {**schema, **changed} if changed else schema


_NAMED = frozenset({"properties", "patternProperties", "definitions"})
_BELOW = frozenset({"items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"})


def _below(value: Any, minor: int) -> Any:
    if isinstance(value, Mapping):
        return checked_in(value, minor)
    if not isinstance(value, list):
        return value
    below = [_below(each, minor) for each in value]
    return below if any(new is not old for new, old in zip(below, value, strict=True)) else value


def is_known(format: str) -> bool:
    """Return whether the format is checked; dashes in its name are ignored."""
    return format.replace("-", "") in _CHECKS


def _matching(pattern: str, flags: int = 0) -> Check:
    match = re.compile(rf"(?:{pattern})\Z", re.ASCII | flags).match
    return lambda text: match(text) is not None


# ---------------------------------------------------------------------- addresses


def parse_ip_sloppy(text: str) -> bool:
    """Return whether netutils.ParseIPSloppy accepts the text: octets can have leading zeros."""
    first = next((char for char in text if char in ".:"), "")
    if first == ".":
        return _is_ipv4_sloppy(text)
    return first == ":" and _is_ipv6(text, sloppy=True)


def _is_ipv4_sloppy(text: str) -> bool:
    octets = text.split(".")
    return len(octets) == 4 and all(
        octet.isascii() and octet.isdigit() and len(octet) < 9 and int(octet) <= 255
        for octet in octets
    )


def _is_ipv6(text: str, *, sloppy: bool = False) -> bool:
    if "%" in text:
        return False
    if sloppy and "." in text:
        head, _, tail = text.rpartition(":")
        if not _is_ipv4_sloppy(tail):
            return False
        text = f"{head}:1.2.3.4"
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_ipv4_format(text: str) -> bool:
    return "." in text and parse_ip_sloppy(text)


def _is_ipv6_format(text: str) -> bool:
    return ":" in text and _is_ipv6(text)


def _is_cidr(text: str) -> bool:
    address, slash, mask = text.partition("/")
    if not slash or not (mask.isascii() and mask.isdigit() and len(mask) < 9):
        return False
    if _is_ipv4_sloppy(address):
        return int(mask) <= 32
    return _is_ipv6(address, sloppy=True) and int(mask) <= 128


_MAC = _matching(
    r"[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?::[0-9a-f]{2}){7}|(?::[0-9a-f]{2}){19}"
    r"|(?:-[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){7}|(?:-[0-9a-f]{2}){19})"
    r"|[0-9a-f]{4}(?:(?:\.[0-9a-f]{4}){2}|(?:\.[0-9a-f]{4}){3}|(?:\.[0-9a-f]{4}){9})",
    re.IGNORECASE,
)

_plain_uri = _matching(r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[!$&-~]*)?")
"""The usual URIs: those without escapes, which need no further check."""


def _is_uri(text: str) -> bool:
    if _plain_uri(text):
        return True
    try:
        gourl.parse_request_uri(text)
    except ValueError:
        return False
    return True


# ------------------------------------------------------------------- names and codes

_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}"
    r"([a-zA-Z\p{L}]){2,63})$"
)


def _is_hostname(text: str) -> bool:
    size = len(text.encode())
    if size > 255 or not patterns.matcher(_HOSTNAME)(text):
        return False
    return all(len(part.encode()) <= 63 for part in text.split("."))


_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_short_name = _matching(_LABEL)
_long_name = _matching(rf"{_LABEL}(\.{_LABEL})*")


def _uuid(third: str = "[0-9a-f]", fourth: str = "[0-9a-f]") -> Check:
    return _matching(
        rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}[0-9a-f]{{3}}-?{fourth}[0-9a-f]{{3}}-?"
        r"[0-9a-f]{12}",
        re.IGNORECASE,
    )


_SEPARATORS = re.compile(r"[\t\n\f\r -]+")


def _is_isbn10(text: str) -> bool:
    digits = _SEPARATORS.sub("", text)
    if not re.match(r"(?:[0-9]{9}X|[0-9]{10})\Z", digits):
        return False
    total = sum((place + 1) * int(digit) for place, digit in enumerate(digits[:9]))
    return (total + 10 * (10 if digits[9] == "X" else int(digits[9]))) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _SEPARATORS.sub("", text)
    if not re.match(r"[0-9]{13}\Z", digits):
        return False
    total = sum((1, 3)[place % 2] * int(digit) for place, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


_card_number = _matching(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
)


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _card_number(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number % 10 + number // 10 for number in doubled) % 10 == 0


_ssn = _matching(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_BYTE = r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"

# ---------------------------------------------------------------------------- times

_date_shape = _matching(r"\d{4}-\d{2}-\d{2}")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_date(text: str) -> bool:
    if not _date_shape(text):
        return False
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + leap


_clock = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")


_plain_time = _matching(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T[01]\d:[0-5]\d:[0-5]\d(?:\.\d+)?Z"
)


def _is_date_time(text: str) -> bool:
    if _plain_time(text):
        return True
    date, *rest = text.lower().split("t")
    if not rest or not _is_date(date):
        return False
    clock = _clock.match(rest[0])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


_go_duration = _matching(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_words = _matching(r"[\t\n\f\r ]*(?:\d+[\t\n\f\r ]*[A-Za-zµ]+[\t\n\f\r ]*)+")
_word = re.compile(r"\d+[\t\n\f\r ]*([A-Za-zµ]+)", re.ASCII)
_UNITS = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_UNIT_STARTS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _is_duration(text: str) -> bool:
    """Return whether a text is a Go duration (time.ParseDuration) or a Scala one, such as `2 days`.

    As upstream, one known unit in a Scala duration is enough.
    """
    if _go_duration(text):
        return True
    if not _words(text):
        return False
    units = (unit[1].lower() for unit in _word.finditer(text))
    return any(unit in _UNITS or unit.startswith(_UNIT_STARTS) for unit in units)


_base64_shape = _matching(r"[A-Za-z0-9+/]+={0,2}")


def _is_base64(text: str) -> bool:
    return len(text) % 4 == 0 and _base64_shape(text)


_CHECKS: dict[str, Check] = {
    "bsonobjectid": _matching(r"[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": mailaddress.is_address,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4_format,
    "ipv6": _is_ipv6_format,
    "cidr": _is_cidr,
    "mac": _MAC,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: len(text) == 11 and _ssn(text),
    "hexcolor": _matching(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(
        rf"rgb\([\t\n\f\r ]*{_BYTE}[\t\n\f\r ]*,[\t\n\f\r ]*{_BYTE}"
        rf"[\t\n\f\r ]*,[\t\n\f\r ]*{_BYTE}[\t\n\f\r ]*\)"
    ),
    "byte": _is_base64,
    "password": lambda _text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _short_name(text),
    "k8slongname": lambda text: len(text) <= 253 and _long_name(text),
}
