"""Packages that import a module of theirs when something of it is first used (PEP 562).

A server that starts needs few of the rules it knows. Packages whose rules it can do without at
first name what they offer in a table and have `__getattr__ = lazy.exports(__name__, TABLE)`;
type checkers see the same names under `TYPE_CHECKING`.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`; `homes` says which of its modules has which name."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
