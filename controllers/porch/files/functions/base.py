"""The input and output types of every built-in function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.porch.files.documents import Document


class Failed(Exception):
    """A function failed; the text is an error message for users."""


class Result(NamedTuple):
    """One result of a function."""

    message: str
    document: Document | None = None
    path: str = ""
    current: Any = None
    proposed: Any = None
    severity: str = "info"


@dataclass(frozen=True, slots=True)
class Package:
    """The input of a function: the selected objects, and all documents, to which it can add
    some."""

    path: str
    """The directory of the package, with a trailing slash; "" is the root."""
    selected: Sequence[Document]
    all: list[Document]

    @property
    def mutable(self) -> list[Document]:
        """The objects that mutators can change: neither Kptfiles nor local configuration."""
        return [
            each
            for each in self.selected
            if not each.is_local and each.value.get("kind") != "Kptfile"
        ]


Function = Callable[[Object, Package], Sequence[Result]]


def parameters(config: Object, member: str = "") -> Object:
    """Return the parameters in the data of a ConfigMap, or in a member of a configuration of
    another kind."""
    if config.get("kind") == "ConfigMap":
        found = config.get("data")
    else:
        found = config.get(member) if member else config
    return found if isinstance(found, dict) else {}
