"""The settings that a project keeps in a file: `.inkube.yaml`, or a table in `pyproject.toml`.

The file is found by walking up from the first path. Its paths are relative to its folder. Keys are
the names of the command's long options, and options on the command line replace them.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from inkube.apiserver.validate.plan import InputError

FILE = ".inkube.yaml"
_PROJECT = "pyproject.toml"
_LISTS = frozenset({"definitions", "old", "exclude", "skip", "kubernetes-version", "policies"})
_PLACES = frozenset({"definitions", "old", "policies"})
_FLAGS = frozenset(
    {
        "warn-unknown",
        "ignore-missing-definitions",
        "references",
        "only-objects",
        "allow-empty",
        "admission",
    }
)
_TEXTS = frozenset({"modules", "operation", "output", "removed-in", "user"})
_KEYS = _LISTS | _FLAGS | _TEXTS


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a file: values by the name of the option with underscores."""

    file: Path | None
    values: Mapping[str, Any]


def find(start: Path) -> Settings:
    """Return the settings of the nearest file in the folder or above. Raises InputError."""
    start = start.resolve()
    for folder in (start, *start.parents):
        own = folder / FILE
        if own.is_file():
            return _checked(own, _section(own, _yaml(own)))
        project = folder / _PROJECT
        if project.is_file():
            table = _toml(project).get("tool", {}).get("inkube")
            if table is not None:
                return _checked(project, _section(project, table))
    return Settings(None, {})


def _yaml(file: Path) -> Any:
    try:
        return yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader) or {}
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _section(file: Path, value: Any) -> Mapping[str, Any]:
    """Return the settings of this command."""
    section = value
    if isinstance(value, Mapping):
        section = value.get("validate", {})
        misplaced = next((str(key) for key in value if key in _KEYS), None)
        if misplaced is not None:
            raise InputError(f"{file}: {misplaced} belongs below validate")
    if not isinstance(section, Mapping):
        raise InputError(f"{file}: the settings of validate are a mapping of options to values")
    return section


def _checked(file: Path, section: Mapping[str, Any]) -> Settings:
    values = {}
    for key, value in section.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, 1)
            hint = (
                f"; did you mean {near[0]}?" if near else f"; use one of {', '.join(sorted(_KEYS))}"
            )
            raise InputError(f"{file}: {key} is not a setting of validate{hint}")
        values[key.replace("-", "_")] = _value(file, key, value)
    return Settings(file, values)


def _value(file: Path, key: str, value: Any) -> Any:
    """Return the value with its type. Raises InputError."""
    if key in _FLAGS:
        if isinstance(value, bool):
            return value
        raise InputError(f"{file}: {key} is true or false, not {value!r}")
    if key in _TEXTS:
        return str(value)
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | float) for item in items):
        raise InputError(f"{file}: {key} is a text or a list of texts")
    texts = tuple(map(str, items))
    return tuple(_place(file, text) for text in texts) if key in _PLACES else texts


def _place(file: Path, text: str) -> str:
    """Return a path relative to the folder of the file. Addresses of servers stay."""
    return text if "://" in text else str(file.parent / text)
