"""The formats of reports by their names."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inkube.apiserver.validate.plan import Result
from inkube.apiserver.validate.reports import annotations, junit, plainjson, sarif, tap, text


class Style(NamedTuple):
    """How a report for people looks."""

    colours: bool = False


FORMATS: dict[str, Callable[[Result], Iterator[str]]] = {
    "short": text.short,
    "json": plainjson.render,
    "junit": junit.render,
    "tap": tap.render,
    "sarif": sarif.render,
    "github": annotations.render,
}
"""Formats that have no style. `text` is another one."""


def render(result: Result, name: str, style: Style) -> Iterator[str]:
    """Yield the lines of a report."""
    if name == "text":
        return text.render(result, colours=style.colours)
    return FORMATS[name](result)
