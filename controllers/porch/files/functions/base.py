"""What every built-in function is given and gives back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from inkube.controllers.porch.files.documents import Document
from inkube.schemas.objects import Object


class Failed(Exception):
    """A function could not do its work; the text is for people."""


class Result(NamedTuple):
    """One remark of a function."""

    message: str
    document: Document | None = None
    path: str = ""
    current: Any = None
    proposed: Any = None
    severity: str = "info"


@dataclass(frozen=True, slots=True)
class Package:
    """What a function works on: the chosen objects, and all documents, for those that add some."""

    where: str
    """The directory of the package, with a slash at its end; "" is the root."""
    chosen: Sequence[Document]
    all: list[Document]

    @property
    def mutable(self) -> list[Document]:
        """Objects that mutators may change: neither Kptfiles nor local configuration."""
        return [
            each
            for each in self.chosen
            if not each.is_local and each.value.get("kind") != "Kptfile"
        ]


Function = Callable[[Object, Package], Sequence[Result]]


def parameters(config: Object, member: str = "") -> Object:
    """The parameters in a ConfigMap's data, or in the member of a config of its own kind."""
    if config.get("kind") == "ConfigMap":
        found = config.get("data")
    else:
        found = config.get(member) if member else config
    return found if isinstance(found, dict) else {}
