"""What may be done to objects: one behaviour per sort of kind.

    Behaviour          nothing special; what all have in common
    ├── Builtin        a kind of kube-apiserver: `schemas.builtin.behaviours` says what is its own
    ├── Definitions    CustomResourceDefinitions (`crds`)
    └── Custom         custom resources and kinds declared in Python, whose static rules are given

The registry calls the hooks in this order: `decode`, `prepare_*`, `validate*`, `warnings`. They
change the object in place; they must not store, wait or look at other objects. How answers are
worded is `voices`, what has to be asked over the network for another version is `conversions`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from inkube.apiserver.registry.served import Served
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.transactions import Transactor
from inkube.schemas import bodies, fielderrors
from inkube.schemas.builtin import behaviours as builtin
from inkube.schemas.builtin import conversion
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.builtin.behaviours.base import Stamp, keep
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.metadata import metadecoding, names, objectmeta
from inkube.schemas.objects import same
from inkube.schemas.ownership import resetfields
from inkube.schemas.ownership.fieldsets import FieldSet
from inkube.schemas.status import StatusError
from inkube.schemas.structural import scale
from inkube.storage.entry import Entry

Object = dict[str, Any]
Warn = Callable[[str], None]

_NO_TEXT = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
_ENVELOPE = ("apiVersion", "kind", "metadata")
_FIRST = ("name", "generateName", "namespace", "uid")


class Converter(Protocol):
    """Converts objects between versions over the network; combines with any behaviour."""

    async def convert(
        self, objects: Sequence[Object], api_version: str, anew: bool = False
    ) -> list[Object]:
        """Copies in that version, for the caller to change. Raises StatusError 500.

        `anew` forgets what was converted a moment ago.
        """
        ...


class Behaviour:
    """The hooks of the registry, and what most kinds answer to them."""

    create_on_update = False
    """Whether PUT of a missing object creates it."""
    unconditional_update = False
    """Whether PUT may leave out the resourceVersion."""
    lenient_status = True
    """Whether these two hold for PUT of a subresource as well."""
    returns_deleted = False
    """Whether DELETE answers the object instead of a Status."""
    deletes_itself = False
    """Whether `mark_deleted` does something; preconditions read differently then."""
    dependents: Literal["delete", "orphan", "ignore"] = "delete"
    """What becomes of dependents when a DELETE does not say; `ignore`: it cannot be asked for."""
    undecided_warning = ""
    """What a DELETE that says nothing about dependents is warned of."""

    transactor: Transactor | None = None
    """What the kind does around its writes, between their last check and their commit."""

    def versionless(self, name: str) -> StatusError | None:
        """How a PUT without resourceVersion is refused, where the kind has words of its own."""
        return None

    def stale(self, name: str) -> StatusError | None:
        """How a write of an older version is refused, where the kind has words of its own."""
        return None

    def is_costly(self, served: Served) -> bool:
        """Whether even a small object may take long: where expressions are compiled, or run."""
        return False

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        """Give an incoming object its types: prune, default. Collects unknown fields if asked.

        Raises DecodeError when a value cannot be what its field is.
        """
        raise NotImplementedError

    def decode_applied(self, served: Served, obj: Object) -> Object:
        """Default what an apply merged."""
        return self.decode(served, obj, None)

    def decode_admitted(self, served: Served, obj: Object, kind: GVK) -> Object:
        """The same for what a webhook made of an object. Raises DecodeError.

        `kind` is another than the version's where a subresource takes objects of its own.
        """
        obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
        if kind != served.gvk:
            return _decode_builtin(obj, kind).object
        return self.decode(served, obj, None)

    def prepare_create(self, served: Served, obj: Object) -> None:
        """Drop what a create may not set."""

    def prepare_update(self, served: Served, obj: Object, old: Object, subresource: str) -> None:
        """Keep what this address may not change, and count the generation."""

    leaves_ownership = False
    """Whether `prepare_create` leaves alone what a creator comes to own."""
    named_by_uid = False
    """Whether a new object without a name gets a uid for one."""
    stamps = False
    """Whether `stamp` does something."""

    def stamp(self, obj: Object, old: Object | None, subresource: str, stamp: Stamp) -> None:
        """Set what depends on the time or on who asks, after the preparation."""

    def error_group(self, served: Served) -> str:
        """The group that a 422 names."""
        return served.gvk.group

    def validate(self, served: Served, obj: Object, warn: Warn) -> list[FieldError]:
        """Everything wrong with a new object."""
        raise NotImplementedError

    def validate_update(
        self, served: Served, obj: Object, old: Object, *, subresource: str, warn: Warn
    ) -> list[FieldError]:
        """Everything wrong with a change; what stood there before may be ratcheted."""
        raise NotImplementedError

    def warnings(self, obj: Object, old: Object | None, subresource: str) -> list[str]:
        """Texts for Warning headers."""
        return []

    def name_prefix(self, obj: Object) -> str:
        """What the server's name for a nameless object begins with; "" where it needs a name."""
        return ""

    def computed_name(self, obj: Object) -> str:
        """The name that follows from the rest of an object; "" where names are chosen."""
        return ""

    def mark_deleted(self, obj: Object) -> bool:
        """Whether a deletion of the kind's own keeps the object for now; marks it if need be."""
        return False

    def may_go(self, obj: Object) -> bool:
        """Whether nothing of the kind's own holds an object that is being deleted."""
        return True

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        """How long a graceful deletion takes; None where the kind knows no such thing."""
        return None

    def reset_fields(self, served: Served, subresource: str) -> FieldSet:
        """The fields that a write to this address leaves alone, so that nobody owns them by it."""
        gvk, status = served.gvk, served.version.status
        return resetfields.of_builtin(gvk.group, gvk.kind, subresource, status=status)

    def converted(self, obj: Object, served: Served) -> Object:
        """A new object in another version and pruned by it, where nobody has to be asked."""
        return obj

    def prune(self, served: Served, obj: Object) -> None:
        """Drop what a version does not have, of an object that came into it."""

    def fit(self, served: Served, obj: Object) -> None:
        """Prune and default by a version what came into it."""

    def complete(self, served: Served, obj: Object) -> None:
        """Give back their defaults to members dropped on the way, such as a new one's status."""

    def renewed(self, storage: Served, entry: Entry) -> Object | None:
        """A stored object under today's schema; None where nothing differs."""
        return None


class Builtin(Behaviour):
    """A built-in kind: what the data cannot say is in its own part."""

    def __init__(self, own: builtin.Behaviour, stamps: Stamps) -> None:
        self._own = own
        self._stamps = stamps
        self.create_on_update = own.create_on_update
        self.unconditional_update = own.unconditional_update
        self.returns_deleted = own.returns_deleted
        self.dependents = own.dependents
        self.undecided_warning = own.undecided_warning
        self.deletes_itself = own.deletes_itself
        self.named_by_uid = own.named_by_uid
        self.stamps = own.stamps

    def is_costly(self, served: Served) -> bool:
        return served.gvk.group == "admissionregistration.k8s.io"

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        meta = obj.get("metadata")
        resets = type(meta) is dict and meta.get("managedFields") == []
        decoded = _decode_builtin(obj, served.gvk)
        if resets:  # what Go leaves out when it writes has been read all the same
            decoded.object["metadata"]["managedFields"] = []
        for path in self._own.tells_empty:
            _keep_empty(obj, decoded.object, path.split("."))
        if unknown is not None:
            unknown.extend(decoded.unknown)
        self._own.default(decoded.object)
        return decoded.object

    def prepare_create(self, served: Served, obj: Object) -> None:
        self._own.prepare_create(obj)
        obj["metadata"] = _in_order(obj["metadata"])

    def prepare_update(self, served: Served, obj: Object, old: Object, subresource: str) -> None:
        if "generation" in old["metadata"]:
            obj["metadata"]["generation"] = old["metadata"]["generation"]
        else:
            obj["metadata"].pop("generation", None)
        if subresource == "status":
            self._own.prepare_status(obj, old)
        elif subresource:
            self._own.prepare_part(subresource, obj, old)
        else:
            self._own.prepare_update(obj, old)
        obj["metadata"] = _in_order(obj["metadata"])

    def stamp(self, obj: Object, old: Object | None, subresource: str, stamp: Stamp) -> None:
        self._own.stamp(obj, old, subresource, stamp)

    def error_group(self, served: Served) -> str:
        return self._own.error_group

    def validate(self, served: Served, obj: Object, warn: Warn) -> list[FieldError]:
        return self._own.validate(obj)

    def validate_update(
        self, served: Served, obj: Object, old: Object, *, subresource: str, warn: Warn
    ) -> list[FieldError]:
        errors = self._own.validate_metadata(obj["metadata"], old["metadata"], subresource)
        if subresource == "status":
            return errors + self._own.validate_status(obj, old)
        if subresource:
            return errors + self._own.validate_part(subresource, obj, old)
        return errors + self._own.validate_update(obj, old)

    def warnings(self, obj: Object, old: Object | None, subresource: str) -> list[str]:
        return self._own.warnings(obj, old)

    def mark_deleted(self, obj: Object) -> bool:
        return self._own.prepare_delete(obj, self._stamps.timestamp())

    def may_go(self, obj: Object) -> bool:
        return self._own.may_go(obj)

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        return self._own.grace_seconds(obj, asked)

    def converted(self, obj: Object, served: Served) -> Object:
        return conversion.convert(obj, served.api_version)


class Rules(Protocol):
    """Static rules beside the schema: what is wrong with an object; `old` is None on create."""

    def __call__(self, obj: Object, old: Object | None) -> list[FieldError]: ...


class Part(Protocol):
    """What an address of a kind (the object itself, or a subresource) lets change, and how."""

    def prepare(self, obj: Object, old: Object | None) -> None:
        """Put back, in place, what this address does not change."""
        ...

    def validate(self, obj: Object, old: Object | None) -> list[FieldError]:
        """What is wrong with a change at this address. Raises StatusError for another code."""
        ...


@dataclass(frozen=True, slots=True)
class Traits:
    """What kinds declared in Python may allow their clients beyond custom resources, or forbid.

    `make_name` gives the prefix of the name of an object that comes without name and generateName,
    `compute_name` a whole name that follows from the rest. `parts` are by subresource, "" is the
    object itself. `finalizers` are the kind's own, of which nobody is warned whatever their names
    look like.
    """

    create_on_update: bool = False
    unconditional_update: bool = False
    make_name: Callable[[Object], str] | None = None
    compute_name: Callable[[Object], str] | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    transactor: Transactor | None = None
    versionless: Callable[[str], StatusError] | None = None
    stale: Callable[[str], StatusError] | None = None
    malformed: Callable[[str, list[FieldError]], StatusError] | None = None
    returns_deleted: bool = False
    """Whether DELETE answers the object instead of a Status."""
    finalizers: frozenset[str] = frozenset()


class Custom(Behaviour):
    """Custom resources: status apart from spec, generation, schema and CEL rules.

    Follows apiextensions-apiserver/pkg/registry/customresource/strategy.go.
    """

    lenient_status = False

    def __init__(self, rules: Rules | None = None, traits: Traits | None = None) -> None:
        self._rules = rules
        self._traits = traits or Traits()
        self.create_on_update = self._traits.create_on_update
        self.unconditional_update = self._traits.unconditional_update
        self.returns_deleted = self._traits.returns_deleted
        self.transactor = self._traits.transactor
        # a status that goes is nobody's, as `reset_fields` say
        self.leaves_ownership = "" not in self._traits.parts

    def versionless(self, name: str) -> StatusError | None:
        return None if self._traits.versionless is None else self._traits.versionless(name)

    def stale(self, name: str) -> StatusError | None:
        return None if self._traits.stale is None else self._traits.stale(name)

    def computed_name(self, obj: Object) -> str:
        compute = self._traits.compute_name
        return "" if compute is None else compute(obj)

    def name_prefix(self, obj: Object) -> str:
        make = self._traits.make_name
        return "" if make is None else make(obj)

    def is_costly(self, served: Served) -> bool:
        return served.is_costly

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        """What says it is another kind, or of another group, is not pruned: validation refuses it
        (customresource_handler.go, unstructuredSchemaCoercer)."""
        paths: list[str] | None = None if unknown is None else []
        sent = obj.get("apiVersion", served.api_version)
        if sent == served.api_version and obj.get("kind", served.kind) == served.kind:
            served.schema.prune_and_default(obj, paths)
        else:
            _decode_other(served, obj, sent, paths)
        if unknown is not None and paths:
            unknown.extend(bodies.unknown_fields(paths))
        return obj

    def decode_applied(self, served: Served, obj: Object) -> Object:
        """The fields are known already, and nulls are meant."""
        served.schema.default(obj)
        obj["metadata"] = metadecoding.decode(obj["metadata"], [], lenient=True)
        return obj

    def decode_admitted(self, served: Served, obj: Object, kind: GVK) -> Object:
        self.fit(served, obj)
        obj["metadata"] = metadecoding.decode(obj["metadata"], [], lenient=True)
        return obj

    def prepare_create(self, served: Served, obj: Object) -> None:
        if served.version.status:
            obj.pop("status", None)
        self._prepare(served, obj, None, "")
        obj["metadata"]["generation"] = 1

    def prepare_update(self, served: Served, obj: Object, old: Object, subresource: str) -> None:
        meta = obj["metadata"]
        meta["generation"] = old["metadata"].get("generation", 0)
        if subresource == "status":
            _only_status(obj, old)
            return
        if served.version.status:
            keep(obj, old, "status")
        self._prepare(served, obj, old, subresource)
        if _differs(obj, old, served.version.status):
            meta["generation"] = meta["generation"] + 1

    def _prepare(self, served: Served, obj: Object, old: Object | None, subresource: str) -> None:
        """Let the kind's part prepare what fits the schema; of the rest validation tells."""
        part, malformed = self._traits.parts.get(subresource), self._traits.malformed
        if part is None and malformed is None:
            return
        errors = served.schema.validate(obj, old)
        if errors and malformed is not None:
            raise malformed(obj["metadata"].get("name") or "", errors)
        if part is not None and not errors:
            part.prepare(obj, old)

    def validate(self, served: Served, obj: Object, warn: Warn) -> list[FieldError]:
        put_off: list[FieldError] = []
        errors = _kind_errors(served, obj)
        if errors:
            errors += served.schema.other_errors(obj)
        else:
            errors = objectmeta.validate(
                obj["metadata"], namespaced=served.definition.namespaced, name_check=names.subdomain
            )
            if self._traits.compute_name is not None:
                # a computed name is as wrong as what it follows from, which is told first
                put_off = [error for error in errors if error.field == "metadata.name"]
                errors = [error for error in errors if error.field != "metadata.name"]
            errors += served.schema.validate(obj)
            errors += _scale_errors(served, obj)
        errors = self._judged(served, obj, None, errors, warn=warn)
        if not errors and "" in self._traits.parts:
            errors = self._traits.parts[""].validate(obj, None)
        return errors or self._ruled(obj, None) or put_off

    def validate_update(
        self, served: Served, obj: Object, old: Object, *, subresource: str, warn: Warn
    ) -> list[FieldError]:
        errors = objectmeta.validate_update(
            obj["metadata"], old["metadata"], namespaced=served.definition.namespaced
        )
        only_status = subresource == "status"
        wrong_kind = _kind_errors(served, obj)
        if wrong_kind:
            errors = wrong_kind + served.schema.other_errors(obj, old)
        elif only_status:
            errors += served.schema.validate_status(obj, old)
        else:
            errors += served.schema.validate(obj, old)
        if not wrong_kind:
            errors += _scale_errors(served, obj, only_status=only_status)
        errors = self._judged(served, obj, old, errors, warn=warn)
        part = self._traits.parts.get(subresource)
        if not errors and part is not None:
            errors = part.validate(obj, old)
        return errors if errors or subresource else self._ruled(obj, old)

    def _judged(
        self, served: Served, obj: Object, old: Object | None, found: list[FieldError], warn: Warn
    ) -> list[FieldError]:
        """What was found, and what the CEL rules say."""
        rules = served.rules
        if rules is None:
            return found
        errors, warnings = rules.judge(found, obj, old)
        for warning in warnings:
            warn(warning)
        return found + errors

    def _ruled(self, obj: Object, old: Object | None) -> list[FieldError]:
        return [] if self._rules is None else self._rules(obj, old)

    def warnings(self, obj: Object, old: Object | None, subresource: str) -> list[str]:
        known = self._traits.finalizers
        return objectmeta.finalizer_warnings(obj["metadata"], old and old["metadata"], known)

    def reset_fields(self, served: Served, subresource: str) -> FieldSet:
        return resetfields.of_custom(subresource, status=served.version.status)

    def converted(self, obj: Object, served: Served) -> Object:
        made: Object = orjson.loads(orjson.dumps(obj))
        made["apiVersion"] = served.api_version
        self.prune(served, made)
        return made

    def prune(self, served: Served, obj: Object) -> None:
        served.schema.prune(obj)

    def fit(self, served: Served, obj: Object) -> None:
        served.schema.prune_and_default(obj, None, lenient=True)

    def complete(self, served: Served, obj: Object) -> None:
        served.schema.default_missing(obj)

    def renewed(self, storage: Served, entry: Entry) -> Object | None:
        fresh: Object = orjson.loads(entry.data)
        fresh["apiVersion"] = storage.api_version
        self.fit(storage, fresh)
        return None if same(fresh, entry.value) else fresh


def _decode_builtin(obj: Object, kind: GVK) -> builtin_decoding.Decoded:
    try:
        return builtin_decoding.decode(obj, kind)
    except builtin_decoding.DecodeError as error:
        raise DecodeError(str(error)) from error


def _keep_empty(sent: Object, made: Object, path: list[str]) -> None:
    """Give a decoded object an empty list that was sent, which decoding leaves out."""
    for member in path[:-1]:
        inner, target = sent.get(member), made.get(member)
        if not isinstance(inner, dict) or not isinstance(target, dict):
            return
        sent, made = inner, target
    if sent.get(path[-1]) == []:
        made[path[-1]] = []


def _in_order(meta: Object) -> Object:
    """Metadata with the members first that Go writes first."""
    first = {member: meta[member] for member in _FIRST if member in meta}
    return {**first, **meta}


def _decode_other(
    served: Served, obj: Object, api_version: str | None, unknown: list[str] | None
) -> None:
    """Read what says it is of another type than the version's. Raises DecodeError."""
    if api_version is None:
        raise DecodeError(_NO_TEXT)
    group, version = split_api_version(api_version)
    if group != served.gvk.group or obj.get("kind", served.kind) != served.kind:
        served.schema.type_and_default(obj, unknown)
    elif any(known.name == version for known in served.definition.versions):
        served.schema.prune_and_default(obj, unknown)
    else:
        served.schema.drop_all(obj, unknown)


def _kind_errors(served: Served, obj: Object) -> list[FieldError]:
    """A body of another kind; nothing of its metadata and by the schema is said then
    (customresource/validator.go, ValidateTypeMeta)."""
    kind = obj.get("kind", served.kind)
    if kind == served.kind:
        return []
    return [fielderrors.invalid("kind", kind, f"must be {served.kind}")]


def _scale_errors(served: Served, obj: Object, *, only_status: bool = False) -> list[FieldError]:
    """What is wrong where the scale subresource reads; /status answers for its own part only."""
    paths = served.version.scale
    if paths is None:
        return []
    spec = [] if only_status else scale.spec(obj, paths)
    return spec + scale.status(obj, paths)


def _only_status(obj: Object, old: Object) -> None:
    """A write to /status changes status alone; the old spec, labels and all stay."""
    status, present = obj.get("status"), "status" in obj
    managed = obj["metadata"].get("managedFields")
    kept = orjson.loads(orjson.dumps(old))
    obj.clear()
    obj.update(kept)
    if managed is not None:
        obj["metadata"]["managedFields"] = managed
    if present:
        obj["status"] = status
    else:
        obj.pop("status", None)


def _differs(obj: Object, old: Object, has_status: bool) -> bool:
    """Whether anything but metadata (and a status of its own) changed."""
    left = {key for key in obj if key not in _ENVELOPE}
    right = {key for key in old if key not in _ENVELOPE}
    if has_status:
        left.discard("status")
        right.discard("status")
    return left != right or any(not same(obj[key], old[key]) for key in left)
