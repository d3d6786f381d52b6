"""Validation without a server: the checks that a server runs for a create or an update.

CRDs are validated as objects, and also define the kinds of the other objects. This module does no
I/O: its caller, `apiserver.commands.validate`, reads the files.
"""

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from inkube.schemas import bodies, builtin, crds, empties, releases
from inkube.schemas.builtin import keep, served, strategies
from inkube.schemas.cel import NOT_CHECKED, RuleSet, blocks_rules
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.documents import Document
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.metadata import names, objectmeta
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Context, Strategy
from inkube.schemas.structural import CompiledSchema, scale

CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
UNREADABLE = "BadRequest"
"""The type of an error in a document that cannot be decoded to fields."""
UNKNOWN_KIND = "NotFound"
_GENERATED = "xxxxx"  # what a server puts behind a generateName
NOW = "2026-01-01T00:00:00Z"
"""The time of the simulated writes; no rule depends on it."""
_OF_THE_SERVER = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
    "resourceVersion",
)  # fmt: skip
_PATH = re.compile(r"[a-z]\w*(\[[^\]]*\]|\.[\w/-]+)*")
_LINE = re.compile(r"\bline (\d+)")
_INTERNAL_PATHS = (
    ("spec.validation", "spec.versions[0].schema"),
    ("spec.subresources", "spec.versions[0].subresources"),
    ("spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"),
    ("spec.selectableFields", "spec.versions[0].selectableFields"),
    ("spec.version.", "spec.versions[0].name"),
    ("spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"),
    (
        "spec.conversion.conversionReviewVersions",
        "spec.conversion.webhook.conversionReviewVersions",
    ),
)
"""Field paths in errors of CRDs, which are of the internal version, and those of v1 in files."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One error or warning: its place in a file, its object and its field."""

    file: str
    document: int
    line: int
    subject: str
    field: str
    type: str
    message: str
    warns: bool = False
    """Whether a server accepts the object with a warning."""

    def text(self) -> str:
        """The finding as one readable line."""
        where, word = f"{self.file}:{self.line}", "warning" if self.warns else ""
        parts = (where, self.subject, self.field, word, self.message)
        return ": ".join(part for part in parts if part)


@dataclass(slots=True)
class _Read:
    """An object of a document; `path` leads to it inside of a List."""

    document: Document
    value: Object
    path: str = ""

    @property
    def group_kind(self) -> tuple[str, str]:
        return split_api_version(self.value.get("apiVersion") or "")[0], self.value["kind"]

    @property
    def key(self) -> tuple[str, str, str, str]:
        metadata = self.value.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        return (*self.group_kind, metadata.get("namespace") or "", metadata.get("name") or "")


class Declared(Protocol):
    """A kind declared in Python: the parts that a server uses for a write, without live checks."""

    @property
    def definition(self) -> Definition:
        """The definition of the kind."""
        ...

    def strategy(self) -> Strategy:
        """The strategy of the kind."""
        ...

    def mutate(self, obj: Object, old: Object | None) -> Object:
        """Normalise in place."""
        ...


@dataclass(slots=True)
class Kinds:
    """The kinds that objects are checked against, and the objects as they were before."""

    definitions: dict[tuple[str, str], Definition] = field(default_factory=dict)
    defined: dict[tuple[str, str], Definition] = field(default_factory=dict)
    """Kinds that CRDs among the documents define."""
    old: dict[tuple[str, str, str, str], Object] = field(default_factory=dict)
    schemas: dict[GVK, tuple[CompiledSchema, RuleSet]] = field(default_factory=dict)
    declared_groups: frozenset[str] = frozenset()
    """Groups of kinds declared in Python; `declare` is called for the objects of these groups."""
    declare: Callable[[], Iterable[Declared]] = tuple
    declared: dict[tuple[str, str], Declared] = field(default_factory=dict)

    @classmethod
    def builtin(cls, minor: int = releases.NEWEST.minor) -> "Kinds":
        """The built-in kinds of a minor of Kubernetes."""
        definitions = builtin.definitions(minor)
        return cls(
            {(definition.group, definition.names.kind): definition for definition in definitions}
        )

    def define(self, documents: Iterable[Document]) -> Iterator[Finding]:
        """Add the kinds that CRDs among the documents define; yields the errors of these CRDs."""
        for read in _objects(documents):
            if isinstance(read, Finding):
                yield read
            elif read.group_kind == CRD:
                yield from self._define(read)

    def remember(self, documents: Iterable[Document]) -> Iterator[Finding]:
        """Use these objects as the stored ones; `check` treats later objects as updates of them."""
        for read in _objects(documents):
            if isinstance(read, Finding):
                yield read
            else:
                self.old[read.key] = read.value

    def check(self, documents: Iterable[Document]) -> Iterator[Finding]:
        """Yields all findings about the objects; first adds the kinds of CRDs among them."""
        objects = list(_objects(documents))
        for read in objects:
            if isinstance(read, _Read) and read.group_kind == CRD:
                yield from self._define(read)
        for read in objects:
            if isinstance(read, Finding):
                yield read
            elif read.group_kind != CRD:
                yield from self._check(read)

    def _define(self, read: _Read) -> Iterator[Finding]:
        old = self.old.get(read.key)
        try:
            crd, strict = crds.decode(read.value)
        except StatusError as refused:
            yield _finding(read, UNREADABLE, refused.message)
            return
        yield from _strict(read, strict)
        crds.default(crd)
        if old is None:
            crds.prepare_create(crd)
            errors = crds.validate_create(crd)
        else:
            before, _ = crds.decode(old)
            crds.default(before)
            crds.prepare_update(crd, before)
            errors = crds.validate_update(crd, before)
        yield from (_from_error(read, error, _in_file(error.field)) for error in errors)
        if not errors:
            definition = crds.to_definition(crd)
            self.defined[definition.group, definition.names.kind] = definition

    def _check(self, read: _Read) -> Iterator[Finding]:
        gvk = GVK.of(read.value.get("apiVersion") or "", read.value["kind"])
        custom = self.defined.get((gvk.group, gvk.kind))
        own = None if custom is not None else self._declared(gvk)
        supported = self.definitions.get((gvk.group, gvk.kind)) if own is None else own.definition
        definition = custom or supported
        version = definition.version(gvk.version) if definition is not None else None
        if definition is None or version is None:
            text = f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"'
            yield _finding(read, UNKNOWN_KIND, text)
        elif own is not None:
            served_as = crds.CustomServed(definition, version)
            yield from self._check_served(read, served_as, own.strategy(), own.mutate)
        elif custom is None:
            strategy = strategies.of(gvk.group, definition.names.plural, definition.minor)
            yield from self._check_served(read, served.of(definition, version), strategy)
        else:
            if gvk not in self.schemas:
                self.schemas[gvk] = (
                    CompiledSchema(version.schema, minor=definition.minor),
                    RuleSet(version.schema, minor=definition.minor),
                )
            yield from self._check_custom(read, definition, version)

    def _declared(self, gvk: GVK) -> Declared | None:
        if gvk.group not in self.declared_groups:
            return None
        if not self.declared:
            for each in self.declare():
                self.declared[each.definition.group, each.definition.names.kind] = each
        return self.declared.get((gvk.group, gvk.kind))

    def _check_served(
        self,
        read: _Read,
        served: Served,
        strategy: Strategy,
        mutate: Callable[[Object, Object | None], Object] | None = None,
    ) -> Iterator[Finding]:
        """Yields the findings of a create, or of an update if `old` has the object."""
        stored = self.old.get(read.key)
        unknown: list[str] = []
        sent: list[Empty] = []
        context = Context(served, NOW)
        try:
            old = None if stored is None else _decoded(stored, served, strategy, None, None)
            obj = _decoded(read.value, served, strategy, unknown, sent)
            if mutate is not None:
                mutate(obj, old)
                served.schema.default(obj)
            yield from _strict(read, unknown)
            restored = empties.show(obj, sent)
            errors, warnings = _judged(context, strategy, obj, old)
            empties.hide(restored)
        except DecodeError as error:
            yield _finding(read, UNREADABLE, str(error))
            return
        except StatusError as refused:
            yield _finding(read, refused.reason, refused.message)
            return
        yield from (_from_error(read, error) for error in errors)
        for text in warnings:
            path, _, _ = text.partition(": ")
            named = path if _PATH.fullmatch(path) else ""
            message = text.removeprefix(f"{path}: ") if named else text
            yield replace(_finding(read, "Warning", message, named), warns=True)

    def _check_custom(
        self, read: _Read, definition: Definition, version: Version
    ) -> Iterator[Finding]:
        schema, rules = self.schemas[definition.gvk(version.name)]
        obj, unknown = copy.deepcopy(read.value), list[str]()
        obj.setdefault("metadata", {})
        try:
            schema.prune_and_default(obj, unknown)
        except DecodeError as error:
            yield _finding(read, UNREADABLE, error.text)
            return
        old = copy.deepcopy(self.old.get(read.key))
        if old is not None:
            old.setdefault("metadata", {})
            schema.prune_and_default(old, None, lenient=True)
        yield from _strict(read, bodies.unknown_fields(unknown))
        if version.status:  # only a write to /status can set it
            keep(obj, old or {}, "status")
        _place(obj, namespaced=definition.namespaced)
        errors = objectmeta.validate(
            obj["metadata"], namespaced=definition.namespaced, name_check=names.subdomain
        )
        errors += schema.validate(obj, old)
        if version.scale is not None:
            errors += scale.spec(obj, version.scale) + scale.status(obj, version.scale)
        if rules and blocks_rules(errors):
            errors.append(NOT_CHECKED)
        elif rules:
            errors += rules.validate(obj, old)[0]
        yield from (_from_error(read, error) for error in errors)


def _objects(documents: Iterable[Document]) -> Iterator["_Read | Finding"]:
    """The objects in the documents and in their Lists; a Finding for an unreadable document."""
    for document in documents:
        read = _Read(document, {})
        try:
            decoded = bodies.decode(document.body, document.media, want_duplicates=True)
        except DecodeError as error:
            yield _finding(read, UNREADABLE, error.text)
            continue
        if decoded.value is None:
            continue
        for text in decoded.duplicates:
            yield replace(_finding(read, UNREADABLE, text), warns=True)
        yield from _unpacked(document, decoded.value, "")


def _unpacked(document: Document, value: Any, path: str) -> Iterator["_Read | Finding"]:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str) or not value["kind"]:
        yield _finding(_Read(document, {}, path), UNREADABLE, "Object 'Kind' is missing")
    elif not isinstance(value.get("apiVersion"), str) or not value["apiVersion"]:
        yield _finding(_Read(document, {}, path), UNREADABLE, "Object 'apiVersion' is missing")
    elif isinstance(value.get("items"), list) and value["kind"].endswith("List"):
        for index, item in enumerate(value["items"]):
            yield from _unpacked(document, item, f"{path}items[{index}].")
    else:
        yield _Read(document, value, path)


def _place(obj: Object, *, namespaced: bool) -> None:
    """Set the namespace to `default` if it is missing, as clients do; complete a generateName."""
    metadata = obj.setdefault("metadata", {})
    if namespaced:
        metadata.setdefault("namespace", "default")
    else:
        metadata.pop("namespace", None)
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = f"{metadata['generateName']}{_GENERATED}"


def _decoded(
    value: Object,
    served: Served,
    strategy: Strategy,
    unknown: list[str] | None,
    sent: list[Empty] | None,
) -> Object:
    """Decode an object as a server does, with defaults and namespace. Raises DecodeError."""
    obj = served.decode(copy.deepcopy(value), unknown, sent)
    strategy.default(obj)
    _place(obj, namespaced=served.definition.namespaced)
    meta = obj["metadata"]
    if not meta.get("name"):
        computed, prefix = strategy.compute_name(obj), strategy.name_prefix(obj)
        meta["name"] = computed or (f"{prefix}{_GENERATED}" if prefix else "")
    return obj


def _judged(
    context: Context, strategy: Strategy, obj: Object, old: Object | None
) -> tuple[list[FieldError], list[str]]:
    """The errors of a create, or of an update; the warnings if there are no errors."""
    if old is None:
        strategy.prepare_for_create(context, obj)
        errors = strategy.validate(context, obj)
        return errors, [] if errors else strategy.warnings_on_create(context, obj)
    for member in _OF_THE_SERVER:
        if member in old["metadata"]:
            obj["metadata"].setdefault(member, old["metadata"][member])
    obj["metadata"].setdefault("resourceVersion", "1")  # the stored version, which files omit
    strategy.prepare_for_update(context, obj, old)
    errors = strategy.validate_update(context, obj, old)
    return errors, [] if errors else strategy.warnings_on_update(context, obj, old)


def _in_file(path: str) -> str:
    """Convert a field path of the internal version to the path in v1."""
    if path == "spec.version":
        return "spec.versions[0].name"
    for internal, written in _INTERNAL_PATHS:
        if path.startswith(internal):
            path = written + path.removeprefix(internal)
            break
    return path.replace(".JSONPath", ".jsonPath")


def _from_error(read: _Read, error: FieldError, written: str | None = None) -> Finding:
    path = "" if error.field == "<nil>" else error.field
    return _finding(read, str(error.type), error.message(), path, written)


_UNKNOWN = re.compile(r'unknown field "(.*)"', re.DOTALL)


def _strict(read: _Read, texts: Iterable[str]) -> Iterator[Finding]:
    for text in texts:
        match = _UNKNOWN.fullmatch(text)
        finding = _finding(read, UNREADABLE, text, match[1] if match else "")
        yield replace(finding, warns=True)


def _finding(
    read: _Read, type: str, message: str, path: str = "", written: str | None = None
) -> Finding:
    """A Finding. `written` is the path in the file, if it differs from the path of the error."""
    document = read.document
    line = document.line_of(read.path + (path if written is None else written))
    if type == UNREADABLE and (named := _LINE.search(message)):
        line = document.line + int(named[1]) - 1
    return Finding(document.file, document.number, line, _subject(read), path, type, message)


def _subject(read: _Read) -> str:
    if not read.value:
        return ""
    _, kind, namespace, name = read.key
    return f"{kind} {namespace}/{name}" if namespace and name else f"{kind} {name}".rstrip()
