"""Explains an error of a library that is older than inkube requires.

A constraint of somebody's project, or `pip install --no-deps`, can leave a library that lacks what
inkube uses. The import then fails with an error that says nothing about the version. `lazy` calls
this after such an error, and only then, because reading the metadata takes long.
"""

import re
from importlib import metadata

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)(?!.*extra ==)")


def explanation() -> str:
    """Return a sentence that names the installed libraries that are older than required, or ""."""
    found = map(_REQUIREMENT.match, _requirements())
    older = [text for match in found if match and (text := _older(match[1], match[2]))]
    return f"inkube requires newer libraries: {'; '.join(older)}" if older else ""


def _requirements() -> list[str]:
    try:
        return metadata.requires("inkube") or []
    except metadata.PackageNotFoundError:  # a source tree without an installation
        return []


def _older(name: str, required: str) -> str:
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed, {required} or later is required"
    if _numbers(installed) >= _numbers(required):
        return ""
    return f"{name} is {installed}, {required} or later is required"


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release of a version: 2.0.30rc1 is (2, 0, 30)."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(each) for each in release[0].split(".")] if release else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
