"""Servers with the plain engine of writes, where tests start them without options."""

from collections.abc import Callable
from typing import Any

import pytest

from inkube.apiserver.registry import registry
from inkube.apiserver.registry.engine import PlainEngine

only_fast = pytest.mark.parametrize("engine", ["fast"], indirect=True)
"""For tests of parts that only the fast engine has."""


def replace(set_attribute: Callable[[object, str, Any], object]) -> None:
    """Give every server the plain engine from now on."""
    set_attribute(registry, "FastEngine", _plain)


def _plain(*parts: Any, **switches: Any) -> PlainEngine:
    return PlainEngine(*parts)
