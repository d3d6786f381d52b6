"""One object against its kind: what a server checks for a create, or for an update of an old
object. CRDs among the objects add their kinds first."""

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from inkube.schemas import bodies, crds, empties
from inkube.schemas.documents import Document, Place
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.offline import findings, mistakes, scopes, unmatched
from inkube.schemas.offline.crdpaths import in_file
from inkube.schemas.offline.findings import Finding, at
from inkube.schemas.offline.kinds import CRD, Checked, Kinds
from inkube.schemas.offline.reading import Key, Part, Read, Repeated, Unreadable
from inkube.schemas.offline.references import Facts, facts_of
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Context

NOW = "2026-01-01T00:00:00Z"
"""The time of the simulated writes; no rule depends on it."""
_GENERATED = "xxxxx"  # what a server puts behind a generateName
_UID = "00000000-0000-4000-8000-000000000000"
"""The uid of the objects of simulated writes."""
_OF_THE_SERVER = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
    "resourceVersion",
)  # fmt: skip
_ANSWERED = ("create",)
"""The verbs of kinds that a server answers and does not store, such as SubjectAccessReview: nothing
but their decoding is checked."""
_PATH = re.compile(r"[a-z]\w*(\[[^\]]*\]|\.[\w/-]+)*")
_LINE = re.compile(r"\bline (\d+)")
_UNKNOWN = 'unknown field "'
_REPEATED = 'duplicate field "'


@dataclass(slots=True)
class Checks:
    """The checks of objects, with the kinds and the objects as they are stored."""

    kinds: Kinds
    old: dict[Key, Object] = field(default_factory=dict)
    warn_unknown: bool = False
    """Whether unknown and repeated fields are only warnings."""
    ignore_missing: bool = False
    """Whether objects of unknown kinds have no findings."""
    removed_in: int = 0
    """A minor: versions that are removed up to it are errors. 0: no later minor counts."""

    def define(self, parts: Iterable[Part]) -> Iterator[Finding]:
        """Add the kinds that CRDs among the parts define. Yields the findings about them."""
        for part in parts:
            if not isinstance(part, Read):
                yield from self.check(part)
            elif part.group_kind == CRD:
                yield from findings.ignored(part, self._object(part, self._add))

    def _add(self, crd: Object) -> None:
        self.kinds.add(replace(crds.to_definition(crd), minor=self.kinds.minor))

    def remember(self, parts: Iterable[Part]) -> Iterator[Finding]:
        """Use these objects as the stored ones: later objects with their keys are updates."""
        for part in parts:
            if isinstance(part, Read):
                self.old[part.key] = part.value
            else:
                yield from self.check(part)

    def check(self, part: Part) -> Iterator[Finding]:
        """Yield the findings about a part of a document, except those that its comments ignore."""
        read = part if isinstance(part, Read) else part.read
        yield from findings.ignored(read, self._check(part))

    def _check(self, part: Part) -> Iterator[Finding]:
        if isinstance(part, Unreadable):
            yield _unreadable(part)
        elif isinstance(part, Repeated):
            yield self._repeated(part)
        else:
            yield from self._object(part)

    def _object(
        self, read: Read, on_valid: Callable[[Object], None] = lambda _: None
    ) -> Iterator[Finding]:
        """Yield the findings about an object. `on_valid` receives it decoded if it is valid."""
        gvk = GVK.of(read.value.get("apiVersion") or "", read.value["kind"])
        kinds = self.kinds.find(gvk)
        if not kinds:
            if not self.ignore_missing:
                yield unmatched.finding(read, gvk, self.kinds.known(), self.kinds.minor)
            return
        yield from unmatched.removed_until(read, gvk, self.removed_in)
        if len(kinds) == 1:
            yield from self._against(read, kinds[0], on_valid)
            return
        # files do not say which definition a cluster has: an error is one that all of them find
        found = [list(self._against(read, kind, on_valid)) for kind in kinds]
        yield from min(found, key=lambda each: sum(finding.is_error for finding in each))

    def _against(
        self, read: Read, kind: Checked, on_valid: Callable[[Object], None]
    ) -> Iterator[Finding]:
        yield from scopes.check(read, kind.definition, kind.served.version)
        yield from self._judge(read, kind, on_valid)

    def _judge(
        self, read: Read, kind: Checked, on_valid: Callable[[Object], None]
    ) -> Iterator[Finding]:
        stored = self.old.get(read.key)
        unknown: list[str] = []
        sent: list[Empty] = []

        def decoder(value: Object) -> Object:
            unknown.clear()
            sent.clear()
            return _decoded(value, kind, unknown, sent)

        decoded = mistakes.decode(read.value, decoder)
        for path, text in decoded.mistakes:
            yield at(read, "wrong-type", text, path)
        for text in unknown:
            yield self._unknown(read, text, is_quoted=not kind.served.typed.custom)
        if decoded.object is None or kind.definition.verbs == _ANSWERED:
            return
        try:
            old = None if stored is None else _stored(stored, kind)
            errors, warnings = _judged(kind, decoded.object, sent, old)
        except DecodeError as error:
            yield at(read, "wrong-type", error.text, error.path)
            return
        except StatusError as refused:
            yield at(read, "refused", refused.message, type=refused.reason)
            return
        if not errors:
            on_valid(decoded.object)
        for each in errors:
            path = "" if each.field == "<nil>" else each.field
            path = in_file(path) if kind.is_crd else path
            if not decoded.is_consequence(path):
                code = findings.code_of(each.type)
                yield at(read, code, each.message(), path, type=str(each.type))
        for text in [] if decoded.mistakes else warnings:
            yield warning(read, text)

    def facts(self, read: Read, *, with_references: bool) -> Facts:
        """Return what the checks of a whole set need to know of an object."""
        kinds = self.kinds.find(GVK.of(read.value["apiVersion"], read.value["kind"]))
        namespaced = not kinds or kinds[0].definition.namespaced
        return facts_of(read, namespaced=namespaced, with_references=with_references)

    def _unknown(self, read: Read, text: str, *, is_quoted: bool) -> Finding:
        path = bodies.named_path(text) if is_quoted else text[len(_UNKNOWN) : -1]
        return at(read, "unknown-field", text, path, severity=self._strict, on_key=True)

    def _repeated(self, part: Repeated) -> Finding:
        read = part.read
        path = bodies.named_path(part.message) if part.message.startswith(_REPEATED) else ""
        place = read.document.place_of(path, on_key=True)
        return findings.at_place(
            read,
            _named_place(read.document, part.message) or place,
            "repeated-field",
            part.message,
            path,
            severity=self._strict,
        )

    @property
    def _strict(self) -> findings.Severity:
        return "warning" if self.warn_unknown else "error"


def warning(read: Read, text: str) -> Finding:
    """Return a server's warning, at the field that its text begins with."""
    path, _, _ = text.partition(": ")
    named = path if _PATH.fullmatch(path) else ""
    message = text.removeprefix(f"{path}: ") if named else text
    return at(read, "warning", message, named, type="Warning", severity="warning")


def _unreadable(part: Unreadable) -> Finding:
    read, document = part.read, part.read.document
    place = document.place_of(read.path, on_key=True) if read.path else document.first
    place = _named_place(document, part.message) or place
    return findings.at_place(read, place, part.code, part.message)


def _named_place(document: Document, message: str) -> Place | None:
    """Return the place of the line that a message names."""
    named = _LINE.search(message)
    return document.place_in_line(int(named[1])) if named else None


def _decoded(
    value: Object, kind: Checked, unknown: list[str] | None, sent: list[Empty] | None
) -> Object:
    """Decode an object as a server does, with defaults, namespace and name. Raises DecodeError."""
    obj = kind.served.decode(value, unknown, sent)
    kind.strategy.default(obj)
    metadata = obj.setdefault("metadata", {})
    if kind.definition.namespaced:
        metadata.setdefault("namespace", "default")
    else:
        metadata.pop("namespace", None)
    if not metadata.get("name"):
        metadata["name"] = _name(obj, metadata, kind)
    return obj


def _name(obj: Object, metadata: Object, kind: Checked) -> str:
    """Return the name that a server gives to an object without one."""
    generate = metadata.get("generateName")
    computed = "" if generate else kind.strategy.compute_name(obj)
    prefix = generate or kind.strategy.name_prefix(obj)
    uid = _UID if kind.definition.named_by_uid else ""
    return computed or (f"{prefix}{_GENERATED}" if prefix else uid)


def _stored(value: Object, kind: Checked) -> Object:
    """Return an old object, as it is stored. Raises DecodeError."""
    return _decoded(copy.deepcopy(value), kind, None, None)


def _judged(
    kind: Checked, obj: Object, sent: list[Empty], old: Object | None
) -> tuple[list[FieldError], list[str]]:
    """Return the errors of a create or an update, and the warnings, which a server sends without
    errors. Raises StatusError for a refusal as a whole."""
    warnings: list[str] = []
    strategy = kind.strategy
    context = Context(kind.served, NOW, warn=warnings.append)
    if kind.mutate is not None:
        kind.mutate(obj, old)
        kind.served.schema.default(obj)
    restored = empties.show(obj, sent)
    if old is None:
        strategy.prepare_for_create(context, obj)
        errors = strategy.validate(context, obj)
        if not errors:
            warnings += strategy.warnings_on_create(context, obj)
    else:
        _take_over(obj["metadata"], old["metadata"])
        strategy.prepare_for_update(context, obj, old)
        errors = strategy.validate_update(context, obj, old)
        if not errors:
            warnings += strategy.warnings_on_update(context, obj, old)
    empties.hide(obj, restored)
    return errors, warnings


def _take_over(metadata: Object, old: Object) -> None:
    """Set the members that files omit as the server would."""
    for member in _OF_THE_SERVER:
        if member in old:
            metadata.setdefault(member, old[member])
    metadata.setdefault("resourceVersion", "1")  # the stored version
