"""YAML in the format of sigs.k8s.io/yaml.

Follows go.yaml.in/yaml/v2 encode.go (stringv): a text with several lines is a block, a text that
YAML would read as another type is in double quotes, and other texts are plain. Long texts are
folded at 80 characters. libyaml, of which Go's emitter is a translation, decides the rest.
"""

import functools
import re
from collections.abc import Collection
from datetime import date
from typing import Any

import orjson
import yaml

from inkube.schemas import golang

_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_CLOCK = r"[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?"
_TIME = re.compile(
    rf"([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})"
    rf"(?:[Tt]{_CLOCK}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})| {_CLOCK})?",
    re.ASCII,
)
_TEXT = "tag:yaml.org,2002:str"
_SIMPLE_KEYS = re.compile(r"[A-Za-z./:-]*")
"""Keys that have the same order as texts."""


def write(value: Any) -> bytes:
    """Return a value as YAML with keys in the order of Go's YAML: numbers in them by size."""
    text: str = yaml.dump(
        _sorted(orjson.loads(orjson.dumps(value))),
        Dumper=_Dumper,
        default_flow_style=False,
        allow_unicode=True,
        sort_keys=False,
    )
    if text.endswith("\n...\n"):  # after a text that ends with several lines; Go omits it
        text = text[:-4]
    return text.encode()


def _sorted(value: Any) -> Any:
    """Return the value with the keys of each object in order."""
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _sorted(value[key]) for key in in_order(value)}


def in_order(keys: Collection[str]) -> list[str]:
    """Return keys in the order in which `write` writes them."""
    is_simple = _SIMPLE_KEYS.fullmatch("".join(keys)) is not None
    return sorted(keys, key=None if is_simple else functools.cmp_to_key(_compare))


def _compare(left: str, right: str) -> int:
    """Compare two keys (go.yaml.in/yaml/v2 sorter.go, keyList.Less): letters are last, and digits
    are numbers. Returns a negative number if the left one is first, a positive one if the right
    one."""
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), -1)
    if at < 0:
        return len(left) - len(right)
    is_letter = left[at].isalpha(), right[at].isalpha()
    if any(is_letter):
        is_less = left[at] < right[at] if all(is_letter) else is_letter[1]
    else:
        is_less = _place(left, at, right[at]) < _place(right, at, left[at])
    return -1 if is_less else 1


def _place(key: str, at: int, other: str) -> tuple[int, int, str]:
    """Return the number at a place of a key as an int64 of Go, its length, and the character. A
    number continues with 1 if it has digits before it that are not 0, and it or `other` begins with
    0."""
    start = at
    while start and key[start - 1].isdecimal():
        start -= 1
    number, end = int("0" in (key[at], other) and key[start:at].strip("0") != ""), at
    while end < len(key) and key[end].isdecimal():
        number = number * 10 + ord(key[end]) - ord("0")
        number = (number + 2**63) % 2**64 - 2**63
        end += 1
    return number, end - at, key[at]


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    return None if _is_plain(text) else '"'


def _is_plain(text: str) -> bool:
    """Return whether YAML reads the text as itself without quotes."""
    if _BASE_60.fullmatch(text) or _is_time(text):
        return False
    try:
        return isinstance(golang.goyaml.resolve(text, None, plain=True), str)
    except golang.DecodeError:  # infinite, or no number: JSON has neither
        return False


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    if found is None:
        return False
    try:
        date(*map(int, found.groups()))
    except ValueError:
        return False
    return True


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # C or Python
    """Writes no aliases: a value that occurs twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def resolve(self, kind: type[Any], value: Any, implicit: Any) -> Any:
        """Return the tag of a scalar. PyYAML reads more texts as other types than Go's YAML."""
        is_text = kind is yaml.ScalarNode and _is_plain(value)
        return _TEXT if is_text else super().resolve(kind, value, implicit)


def _text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(_TEXT, text, style=_style(text))


_Dumper.add_representer(str, _text)
