"""Documents to objects: decoded as a server decodes bodies, Lists unpacked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inkube.schemas import bodies
from inkube.schemas.documents import Document
from inkube.schemas.golang import DecodeError, gotext
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object, items_of

_LOOKS_LIKE = re.compile(
    rb"""^(apiVersion|kind)\s*:|^\s{0,4}"(apiVersion|kind)"\s*:""", re.MULTILINE
)
"""A member of objects at the top of a document, even if the document cannot be read."""
_REPEATED_KEY = re.compile(r'^line (\d+): key (".*") already set in map$', re.DOTALL)
_MERGES = re.compile(rb"<<\s*:")
_ORIGINS = ("config.kubernetes.io/path", "internal.config.kubernetes.io/path")
"""Annotations of kustomize with the file of an object."""

Key = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object."""


@dataclass(slots=True)
class Read:
    """An object of a document; `path` leads to it inside of a List: `items[0].`."""

    document: Document
    value: Object
    path: str = ""

    @property
    def group_kind(self) -> tuple[str, str]:
        """The API group and the kind."""
        return split_api_version(self.value.get("apiVersion") or "")[0], self.value["kind"]

    @property
    def metadata(self) -> Object:
        """The metadata, {} if the document has none that can be read."""
        metadata = self.value.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def key(self) -> Key:
        """The key of the object."""
        namespace, name = (self.metadata.get(each) for each in ("namespace", "name"))
        return (
            *self.group_kind,
            namespace if isinstance(namespace, str) else "",
            name if isinstance(name, str) else "",
        )

    @property
    def subject(self) -> str:
        """The object as findings name it: `Deployment shop/web`."""
        if not self.value:
            return ""
        _, kind, namespace, name = self.key
        return f"{kind} {namespace}/{name}" if namespace and name else f"{kind} {name}".rstrip()

    @property
    def is_secret(self) -> bool:
        """Whether reports must not show the text of the object."""
        return self.value.get("kind") == "Secret"

    @property
    def source(self) -> str:
        """The file of which a generator made the object, "" if it does not say so."""
        annotations = self.metadata.get("annotations")
        notes = annotations if isinstance(annotations, dict) else {}
        named = next((str(notes[name]) for name in _ORIGINS if notes.get(name)), "")
        return self.document.source or named


@dataclass(slots=True)
class Unreadable:
    """A document or a part of it that is no object."""

    read: Read
    code: str
    message: str
    is_other: bool = False
    """Whether the document does not even look like an object: the file of another program."""


@dataclass(slots=True)
class Repeated:
    """A repeated key, in the words of a server."""

    read: Read
    message: str


Part = Read | Unreadable | Repeated


def parts(document: Document) -> Iterator[Part]:
    """Yield the objects of a document, and what cannot be read in it. Empty documents have no
    parts."""
    whole = Read(document, {})
    try:
        decoded = bodies.decode(document.body, document.media, want_duplicates=True)
    except DecodeError as error:
        yield Unreadable(whole, "syntax", error.text, _LOOKS_LIKE.search(document.body) is None)
        return
    if decoded.value is None:
        return
    objects = list(_unpacked(document, decoded.value, ""))
    first = next((each for each in objects if isinstance(each, Read)), whole)
    for text in decoded.duplicates:
        if not _only_replaces(document, text):
            yield Repeated(first, text)
    yield from objects


def _only_replaces(document: Document, text: str) -> bool:
    """Return whether a key that a server's YAML calls repeated replaces one of a merge (`<<:
    *base`). kubectl resolves merges before it sends the object."""
    told = _REPEATED_KEY.search(text)
    return (
        told is not None
        and _MERGES.search(document.body) is not None
        and not document.has_twice(gotext.unquote(told[2]), int(told[1]))
    )


def _unpacked(document: Document, value: Any, path: str) -> Iterator[Part]:
    missing = _missing(value)
    if missing:
        read = Read(document, {}, path)
        yield Unreadable(read, "not-an-object", missing, not path and not _looks_like(value))
    elif (items := items_of(value)) is not None:
        for index, item in enumerate(items):
            yield from _unpacked(document, item, f"{path}items[{index}].")
    else:
        yield Read(document, value, path)


def _looks_like(value: Any) -> bool:
    """Return whether a value has a member of objects as objects have it: `kind:
    discovery#restDescription` and `apiVersion: 2` are of other programs."""
    if not isinstance(value, dict):
        return False
    kind = value.get("kind", "")
    named = not isinstance(kind, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9]*|", kind) is not None
    return ("kind" in value and named) or isinstance(value.get("apiVersion"), str)


def _missing(value: Any) -> str:
    """Return the server's error for a value that does not say what it is, or ""."""
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str) or not value["kind"]:
        return "Object 'Kind' is missing"
    if not isinstance(value.get("apiVersion"), str) or not value["apiVersion"]:
        return "Object 'apiVersion' is missing"
    return ""
