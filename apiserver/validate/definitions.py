"""Definitions of kinds from where they are: files and folders of CRDs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from inkube.apiserver.validate import files
from inkube.schemas import documents
from inkube.schemas.definitions import Definition
from inkube.schemas.documents import Document


@dataclass(slots=True)
class Sources:
    """What sources of definitions contain."""

    documents: list[Document] = field(default_factory=list)
    """Documents, of which the CRDs define kinds."""
    definitions: list[Definition] = field(default_factory=list)
    """Kinds that other formats define."""


def read(places: Iterable[str]) -> Sources:
    """Read sources of definitions. Raises InputError."""
    sources = Sources()
    for file in files.find(places):
        sources.documents += documents.split(file.name, files.read(file))
    return sources
