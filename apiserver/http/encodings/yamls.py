"""YAML in the format of sigs.k8s.io/yaml.

Follows go.yaml.in/yaml/v2 encode.go (stringv): a text with several lines is a block, a text that
YAML would read as another type is in double quotes, and other texts are plain. Long texts are
folded at 80 characters. libyaml, of which Go's emitter is a translation, decides the rest.
"""

import re
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


def write(value: Any) -> bytes:
    """Return a value as YAML with sorted keys."""
    value_as_json = orjson.loads(orjson.dumps(value))
    text: str = yaml.dump(
        value_as_json, Dumper=_Dumper, default_flow_style=False, allow_unicode=True
    )
    if text.endswith("\n...\n"):  # after a text that ends with several lines; Go omits it
        text = text[:-4]
    return text.encode()


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
