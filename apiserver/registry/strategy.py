"""What a kind may do differently in the generic registry.

`Strategy` holds the behaviour of custom resources and kinds declared in Python; `BuiltinStrategy`
adapts the pure behaviours of built-in kinds. Hooks must not store, wait or look at other objects.
Follows apiextensions-apiserver/pkg/registry/customresource/strategy.go.
"""

from typing import Any, Literal

import orjson

from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.identity import Identity
from inkube.apiserver.registry.resources import Resource, Served
from inkube.schemas.builtin import conversion
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.builtin.behaviours import Behaviour, Stamp
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import bodies
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.metadata import metadecoding, names, objectmeta
from inkube.schemas.structural import scale
from inkube.storage.entry import Entry

Object = dict[str, Any]

_ENVELOPE = ("apiVersion", "kind", "metadata")


class Strategy:
    """Custom resources: status apart from spec, generation, schema and rules."""

    create_on_update = False
    unconditional_update = False
    returns_deleted = False
    goes_its_own_way = False
    """Whether `mark_deleted` does something; preconditions read differently then."""
    dependents: Literal["delete", "orphan", "ignore"] = "delete"
    """What becomes of dependents when a DELETE does not say; `ignore`: it cannot be asked for."""

    undecided_warning = ""
    """What a DELETE that says nothing about dependents is warned of."""

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        """Give an incoming object its types: prune, default. Collects unknown fields if asked.

        Raises DecodeError when a value cannot be what its field is.
        """
        paths: list[str] | None = None if unknown is None else []
        served.schema.prune_and_default(obj, paths)
        if unknown is not None and paths:
            unknown.extend(bodies.unknown_fields(paths))
        return obj

    def settle_applied(self, served: Served, obj: Object) -> Object:
        """Default what an apply merged. Its fields are known already, its nulls are meant."""
        served.schema.default(obj)
        obj["metadata"] = metadecoding.decode(obj["metadata"], [], lenient=True)
        return obj

    def prepare_create(self, call: Call, obj: Object) -> None:
        """Drop what a create may not set."""
        if call.served.version.status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, call: Call, obj: Object, old: Object) -> None:
        """Keep what this address may not change, and count the generation."""
        meta = obj["metadata"]
        meta["generation"] = old["metadata"].get("generation", 0)
        if call.subresource == "status":
            _only_status(obj, old)
            return
        if call.served.version.status:
            _carry(obj, old, "status")
        if _differs(obj, old, call.served.version.status):
            meta["generation"] = meta["generation"] + 1

    def error_group(self, call: Call) -> str:
        """The group that a 422 names."""
        return call.resource.group

    def validate(self, call: Call, obj: Object) -> list[FieldError]:
        """Everything wrong with a new object."""
        errors = objectmeta.validate(
            obj["metadata"], namespaced=call.resource.namespaced, name_check=names.subdomain
        )
        errors += call.served.schema.validate(obj)
        errors += _scale_errors(call, obj)
        return errors + self._rules(call, obj, None, errors)

    def validate_update(self, call: Call, obj: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a change; what stood there before is ratcheted."""
        errors = objectmeta.validate_update(
            obj["metadata"], old["metadata"], namespaced=call.resource.namespaced
        )
        schema = call.served.schema
        if call.subresource == "status":
            errors += schema.validate_status(obj, old)
        else:
            errors += schema.validate(obj, old)
        errors += _scale_errors(call, obj)
        return errors + self._rules(call, obj, old, errors)

    def _rules(
        self, call: Call, obj: Object, old: Object | None, found: list[FieldError]
    ) -> list[FieldError]:
        rules = call.served.rules
        if rules is None:
            return []
        errors, warnings = rules.judge(found, obj, old)
        for warning in warnings:
            call.warn(warning)
        return errors

    def warnings(self, call: Call, obj: Object, old: Object | None) -> list[str]:
        """Texts for Warning headers."""
        return objectmeta.finalizer_warnings(obj["metadata"], old and old["metadata"])

    def mark_deleted(self, obj: Object) -> bool:
        """Whether a deletion of the kind's own keeps the object for now; marks it if need be."""
        return False

    def may_go(self, obj: Object) -> bool:
        """Whether nothing of the kind's own holds an object that is being deleted."""
        return True

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        """How long a graceful deletion takes; None where the kind knows no such thing."""
        return None

    def to_storage(self, resource: Resource, obj: Object) -> Object:
        """From the version of the request to the stored one; pruned and defaulted by the latter."""
        storage = resource.storage
        if obj.get("apiVersion") == storage.api_version:
            # what was dropped on the way, such as the status of a new object, has its default back
            storage.schema.default_missing(obj)
            return obj
        stored = self.copy_as(obj, storage.api_version)
        storage.schema.prune_and_default(stored, None, lenient=True)
        return stored

    def from_storage(self, obj: Object, served: Served) -> Object:
        """A new object in another version than the stored one; pruned by that version's schema."""
        shown = self.copy_as(obj, served.api_version)
        served.schema.prune(shown)
        return shown

    def copy_as(self, obj: Object, api_version: str) -> Object:
        """A copy in another version that the caller may change."""
        copied: Object = orjson.loads(orjson.dumps(obj))
        copied["apiVersion"] = api_version
        return copied

    def convert(self, obj: Object, api_version: str) -> Object:
        """An object of any version in another one, for the ownership of its fields."""
        return {**obj, "apiVersion": api_version}

    def renew(self, resource: Resource, entry: Entry) -> Object:
        """A stored object under today's schema; the same object when nothing differs."""
        fresh: Object = orjson.loads(entry.data)
        fresh["apiVersion"] = resource.storage.api_version
        resource.storage.schema.prune_and_default(fresh, None, lenient=True)
        return entry.value if _same(fresh, entry.value) else fresh


def _scale_errors(call: Call, obj: Object) -> list[FieldError]:
    """What is wrong where the scale subresource reads; /status answers for its own part only."""
    paths = call.served.version.scale
    if paths is None:
        return []
    spec = [] if call.subresource == "status" else scale.spec(obj, paths)
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


def _carry(obj: Object, old: Object, member: str) -> None:
    if member in old:
        obj[member] = old[member]
    else:
        obj.pop(member, None)


def _differs(obj: Object, old: Object, has_status: bool) -> bool:
    """Whether anything but metadata (and a status of its own) changed."""
    left = {key for key in obj if key not in _ENVELOPE}
    right = {key for key in old if key not in _ENVELOPE}
    if has_status:
        left.discard("status")
        right.discard("status")
    return left != right or any(not _same(obj[key], old[key]) for key in left)


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1, 1.0 and true differ, the order of keys does not matter."""
    return left is right or (
        left == right
        and orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
        == orjson.dumps(right, option=orjson.OPT_SORT_KEYS)
    )


same = _same


_FIRST = ("name", "generateName", "namespace", "uid")


def _in_order(meta: Object) -> Object:
    """Metadata with the members first that Go writes first."""
    first = {member: meta[member] for member in _FIRST if member in meta}
    return {**first, **meta}


class BuiltinStrategy(Strategy):
    """A built-in kind: its behaviour says what the data cannot."""

    def __init__(self, behaviour: Behaviour, identity: Identity) -> None:
        self.behaviour = behaviour
        self._identity = identity
        self.create_on_update = behaviour.create_on_update
        self.unconditional_update = behaviour.unconditional_update
        self.returns_deleted = behaviour.returns_deleted
        self.dependents = behaviour.dependents
        self.undecided_warning = behaviour.undecided_warning
        self.goes_its_own_way = behaviour.goes_its_own_way

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        try:
            decoded = builtin_decoding.decode(obj, served.gvk)
        except builtin_decoding.DecodeError as error:
            raise DecodeError(str(error)) from error
        if unknown is not None:
            unknown.extend(decoded.unknown)
        self.behaviour.default(decoded.object)
        return decoded.object

    def settle_applied(self, served: Served, obj: Object) -> Object:
        return self.decode(served, obj, None)

    def prepare_create(self, call: Call, obj: Object) -> None:
        self.behaviour.prepare_create(obj)
        self._stamp(call, obj, None)
        obj["metadata"] = _in_order(obj["metadata"])

    def prepare_update(self, call: Call, obj: Object, old: Object) -> None:
        if "generation" in old["metadata"]:
            obj["metadata"]["generation"] = old["metadata"]["generation"]
        else:
            obj["metadata"].pop("generation", None)
        if call.subresource == "status":
            self.behaviour.prepare_status(obj, old)
        elif call.subresource:
            self.behaviour.prepare_part(call.subresource, obj, old)
        else:
            self.behaviour.prepare_update(obj, old)
        self._stamp(call, obj, old)
        obj["metadata"] = _in_order(obj["metadata"])

    def _stamp(self, call: Call, obj: Object, old: Object | None) -> None:
        if self.behaviour.stamps:
            user = call.user
            stamp = Stamp(self._identity.timestamp(), user.name, user.uid, user.groups, user.extra)
            self.behaviour.stamp(obj, old, call.subresource, stamp)

    def error_group(self, call: Call) -> str:
        return self.behaviour.error_group

    def validate(self, call: Call, obj: Object) -> list[FieldError]:
        return self.behaviour.validate(obj)

    def validate_update(self, call: Call, obj: Object, old: Object) -> list[FieldError]:
        errors = self.behaviour.validate_metadata(
            obj["metadata"], old["metadata"], call.subresource
        )
        if call.subresource == "status":
            return errors + self.behaviour.validate_status(obj, old)
        if call.subresource:
            return errors + self.behaviour.validate_part(call.subresource, obj, old)
        return errors + self.behaviour.validate_update(obj, old)

    def warnings(self, call: Call, obj: Object, old: Object | None) -> list[str]:
        return self.behaviour.warnings(obj, old)

    def mark_deleted(self, obj: Object) -> bool:
        return self.behaviour.prepare_delete(obj, self._identity.timestamp())

    def may_go(self, obj: Object) -> bool:
        return self.behaviour.may_go(obj)

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        return self.behaviour.grace_seconds(obj, asked)

    def to_storage(self, resource: Resource, obj: Object) -> Object:
        if obj.get("apiVersion") == resource.storage.api_version:
            return obj
        return conversion.convert(obj, resource.storage.api_version)

    def from_storage(self, obj: Object, served: Served) -> Object:
        return conversion.convert(obj, served.api_version)

    def renew(self, resource: Resource, entry: Entry) -> Object:
        return entry.value
