"""A finding: what is wrong, where, and how severe it is. Severity belongs to the finding."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inkube.schemas.documents import Place
from inkube.schemas.fielderrors import Type
from inkube.schemas.offline.reading import Read

Severity = Literal["error", "warning"]

CODES = {
    "syntax": "The document is not YAML or JSON that a server can read.",
    "not-an-object": "The document has no apiVersion or no kind.",
    "unknown-kind": "No server without further definitions has this kind.",
    "removed-version": "The version of the kind was removed from Kubernetes.",
    "not-creatable": "Clients cannot create objects of this kind.",
    "scope": "The object has a namespace, but its kind has none.",
    "wrong-type": "The value cannot be decoded to the type of its field.",
    "unknown-field": "The field does not exist.",
    "repeated-field": "The field occurs more than once.",
    "required": "The field needs a value.",
    "invalid": "The value is not valid.",
    "duplicate": "The value must be unique.",
    "not-supported": "The value is not one of the supported values.",
    "forbidden": "The field or the value is not allowed.",
    "too-long": "The value is too long.",
    "too-many": "The list or map has too many items.",
    "not-found": "The value names something that does not exist.",
    "internal": "A check of a server failed.",
    "type-invalid": "The value has the wrong type.",
    "refused": "Admission refuses the object.",
    "warning": "A server accepts the object with a warning.",
    "deprecated": "The version of the kind is deprecated.",
    "repeated-name": "Another object has the same kind, namespace and name.",
    "missing-reference": "The object names another one that is not in the set.",
}
"""Every code of a finding, with the rule behind it."""

_OF_TYPES = {
    Type.NOT_FOUND: "not-found",
    Type.REQUIRED: "required",
    Type.DUPLICATE: "duplicate",
    Type.INVALID: "invalid",
    Type.NOT_SUPPORTED: "not-supported",
    Type.FORBIDDEN: "forbidden",
    Type.TOO_LONG: "too-long",
    Type.TOO_MANY: "too-many",
    Type.INTERNAL: "internal",
    Type.TYPE_INVALID: "type-invalid",
}


def code_of(type: str) -> str:
    """Return the code for the type of a field error."""
    return _OF_TYPES[Type(type)]


@dataclass(frozen=True, slots=True)
class Finding:
    """One error or warning: its place in a file, its object and its field."""

    file: str
    document: int
    """The number of the document in its file, from 1."""
    line: int
    column: int
    length: int
    """The number of characters from the column that the finding is about."""
    subject: str
    """The object: `Deployment shop/web`."""
    field: str
    """The path of the field, as the file has it; "" for the whole object."""
    code: str
    """A key of CODES."""
    type: str
    """The server's machine-readable reason."""
    message: str
    """The server's words, without the field."""
    severity: Severity = "error"
    value: str = ""
    """The value of the field as the file has it, "" for lists, maps and Secrets."""
    hint: str = ""
    """What to do, where the server does not say."""
    source: str = ""
    """The file of which a generator made the document."""
    excerpt: str = ""
    """The line of the file, "" if it is part of a Secret."""
    minors: tuple[int, ...] = ()
    """The minors of Kubernetes with the finding, if several were asked for and not all have it."""

    @property
    def is_error(self) -> bool:
        """Whether the finding fails a check."""
        return self.severity == "error"

    def text(self) -> str:
        """Return the finding as one readable line."""
        where = f"{self.file}:{self.line}:{self.column}"
        word = "" if self.is_error else self.severity
        parts = (where, self.subject, self.field, word, self.message)
        return ": ".join(part for part in parts if part)


def at(
    read: Read,
    code: str,
    message: str,
    path: str = "",
    *,
    type: str = "",
    severity: Severity = "error",
    hint: str = "",
    on_key: bool = False,
) -> Finding:
    """Return a finding about a field of an object, or about the whole object without a path.

    `on_key` places it at the name of the field instead of its value.
    """
    place = read.document.place_of(read.path + (path or "apiVersion"), on_key=on_key or not path)
    return at_place(read, place, code, message, path, type=type, severity=severity, hint=hint)


def at_place(
    read: Read,
    place: Place,
    code: str,
    message: str,
    path: str = "",
    *,
    type: str = "",
    severity: Severity = "error",
    hint: str = "",
) -> Finding:
    """Return a finding at a place of the document."""
    document = read.document
    return Finding(
        document.file, document.number, place.line, place.column, place.length, read.subject,
        read.path + path if path else read.path.rstrip("."), code, type or "BadRequest", message,
        severity, "" if read.is_secret else place.value, hint, read.source,
        "" if read.is_secret else document.line_text(place.line),
    )  # fmt: skip


def ignored(read: Read, findings: Iterable[Finding]) -> Iterable[Finding]:
    """Return the findings that no comment of the document ignores."""
    document = read.document
    if not document.has_comments_for_us:
        return findings
    return (each for each in findings if not document.ignores(each.code, each.line))
