"""Custom resources, and kinds declared in Python: custom resources with additional parts.

Follows apiextensions-apiserver/pkg/registry/customresource/strategy.go and
pkg/apiserver/customresource_handler.go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from inkube.schemas import bodies, fielderrors
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import DecodeError
from inkube.schemas.meta import GVK, split_api_version
from inkube.schemas.metadata import metadecoding, names, objectmeta
from inkube.schemas.objects import Empty, Object, same
from inkube.schemas.ownership import FieldSet, resetfields
from inkube.schemas.served import Served
from inkube.schemas.strategy import Context, Strategy
from inkube.schemas.structural import scale

_NO_TEXT = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
_NOWHERE = "<nil>"
"""The text that upstream prints as the field of an error without a field."""
_ENVELOPE = ("apiVersion", "kind", "metadata")


class CustomServed(Served):
    """A version with a structural schema, which prunes and defaults its objects."""

    def decode(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        """Decode an object, as upstream's unstructuredSchemaCoercer.

        An object of another kind or group is neither pruned nor defaulted; validation refuses it.
        """
        paths: list[str] | None = None if unknown is None else []
        sent = obj.get("apiVersion", self.api_version)
        if sent == self.api_version and obj.get("kind", self.kind) == self.kind:
            self.schema.prune_and_default(obj, paths)
        else:
            self._decode_other(obj, sent, paths)
        if unknown is not None and paths:
            unknown.extend(bodies.unquoted_unknown_fields(paths))
        return obj

    def _decode_other(
        self, obj: Object, api_version: str | None, unknown: list[str] | None
    ) -> None:
        """Decode an object with another apiVersion or kind than the version. Raises DecodeError."""
        if api_version is None:
            raise DecodeError(_NO_TEXT)
        group, version = split_api_version(api_version)
        if group != self.gvk.group or obj.get("kind", self.kind) != self.kind:
            self.schema.type_metadata(obj, unknown)
        elif any(declared.name == version for declared in self.definition.versions):
            self.schema.prune_and_default(obj, unknown)
        else:
            self.schema.drop_all(obj, unknown)

    def decode_restored(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        """Set defaults and decode metadata; nulls are intended. An apply may set fields that are
        pruned when the object is stored: those of a declared struct below a field that preserves
        unknown ones."""
        self.schema.default(obj)
        obj["metadata"] = metadecoding.decode(obj["metadata"], [], lenient=True)
        return obj

    def admitted_gvk(self, obj: Object) -> GVK:
        bodies.check_unstructured(obj)
        return GVK.of(obj.get("apiVersion") or "", obj["kind"])

    def decode_admitted(self, obj: Object, kind: GVK) -> Object:
        self.fit(obj)
        obj["metadata"] = metadecoding.decode(obj["metadata"], [], lenient=True)
        return obj

    def converted(self, obj: Object) -> Object:
        converted: Object = orjson.loads(orjson.dumps(obj))
        converted["apiVersion"] = self.api_version
        self.prune(converted)
        return converted

    def prune(self, obj: Object) -> None:
        self.schema.coerce(obj)

    def fit(self, obj: Object) -> None:
        self.schema.prune_and_default(obj, None, lenient=True)

    def complete(self, obj: Object) -> None:
        self.schema.default_missing(obj)

    def renewed(self, data: bytes, stored: Object) -> Object | None:
        fresh: Object = orjson.loads(data)
        fresh["apiVersion"] = self.api_version
        self.fit(fresh)
        return None if same(fresh, stored) else fresh


class Rules(Protocol):
    """Static rules next to the schema: returns the errors of an object; `old` is None on create."""

    def __call__(self, obj: Object, old: Object | None, /) -> list[FieldError]: ...


class Part(Protocol):
    """The rules for writes to one address of a kind: the object itself, or a subresource."""

    def prepare(self, obj: Object, old: Object | None) -> None:
        """Restore, in place, the members that writes to this address cannot change."""
        ...

    def validate(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the errors of a write to this address. Raises StatusError for a code other than
        422."""
        ...


@dataclass(frozen=True)
class CustomStrategy(Strategy):
    """The strategy of custom resources: separate status, generation, schema, CEL rules and parts.

    `prefix_of` returns the prefix for the name of an object without name and generateName.
    `name_of` returns a whole name, which follows from the rest of the object. The keys of `parts`
    are subresources, with "" for the object itself. `finalizers` are those of the kind itself,
    which never cause warnings about their names.
    """

    rules: Rules | None = None
    prefix_of: Callable[[Object], str] | None = None
    name_of: Callable[[Object], str] | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    finalizers: frozenset[str] = frozenset()
    forget: Callable[[Object, Object], None] | None = None
    """Removes from the status, in place, what no longer holds for the changed object."""

    def compute_name(self, obj: Object) -> str:
        return "" if self.name_of is None else self.name_of(obj)

    def name_prefix(self, obj: Object) -> str:
        return "" if self.prefix_of is None else self.prefix_of(obj)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        if context.served.version.status:
            obj.pop("status", None)
        self._prepare(context, obj, None)
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, context: Context, obj: Object, old: Object) -> None:
        has_status = context.served.version.status
        if context.subresource == "status":
            _only_status(obj, old)
            return
        if has_status:
            _keep_status(obj, old)
        self._prepare(context, obj, old)
        if _differs(obj, old, has_status):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
            if self.forget is not None and has_status:
                self.forget(obj, old)

    def _prepare(self, context: Context, obj: Object, old: Object | None) -> None:
        """Let the part of the address prepare the object, unless the schema has errors.

        Validation reports these errors later. Raises the kind's own error if it has `malformed`.
        """
        served, part = context.served, self.parts.get(context.subresource)
        malformed = served.definition.malformed
        if part is None and malformed is None:
            return
        if malformed is not None and (wrong_kind := _kind_errors(served, obj)):
            raise malformed(obj["metadata"].get("name") or "", wrong_kind)
        errors = served.schema.validate(obj, old)
        if errors and malformed is not None:
            raise malformed(obj["metadata"].get("name") or "", errors)
        if part is not None and not errors:
            part.prepare(obj, old)

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        served = context.served
        put_off: list[FieldError] = []
        errors = _kind_errors(served, obj)
        if errors:
            errors += served.schema.other_errors(obj)
        else:
            errors = objectmeta.validate(
                obj["metadata"], namespaced=served.definition.namespaced, name_check=names.subdomain
            )
            if self.name_of is not None:
                # errors of the fields behind a computed name are reported before those of the name
                put_off = [error for error in errors if error.field == "metadata.name"]
                errors = [error for error in errors if error.field != "metadata.name"]
            errors += served.schema.validate(obj)
            errors += _scale_errors(served, obj)
        errors += _rule_errors(context, obj, None, errors)
        if not errors and "" in self.parts:
            errors = self.parts[""].validate(obj, None)
        return self._ruled(errors, obj, None) or put_off

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        served, subresource = context.served, context.subresource
        only_status = subresource == "status"
        wrong_kind, metadata = _kind_errors(served, obj), (obj["metadata"], old["metadata"])
        namespaced = served.definition.namespaced
        if wrong_kind:
            errors = objectmeta.validate_before_update(*metadata, namespaced=namespaced)
            errors += wrong_kind + served.schema.other_errors(obj, old)
        else:
            errors = objectmeta.validate_update(*metadata, namespaced=namespaced)
            judge = served.schema.validate_status if only_status else served.schema.validate
            errors += judge(obj, old)
            errors += _scale_errors(served, obj, only_status=only_status)
        errors += _rule_errors(context, obj, old, errors)
        part = self.parts.get(subresource)
        if not errors and part is not None:
            errors = part.validate(obj, old)
        return errors if subresource else self._ruled(errors, obj, old)

    def _ruled(self, errors: list[FieldError], obj: Object, old: Object | None) -> list[FieldError]:
        """Return the given errors, and the errors of the kind's own rules for other fields.

        A kind with rules omits upstream's errors without a field if other errors have fields.
        """
        if self.rules is None:
            return errors
        named = [error for error in errors if error.field != _NOWHERE]
        errors = named or [error._replace(field="") for error in errors]
        fields = {error.field for error in errors}
        return errors + [error for error in self.rules(obj, old) if error.field not in fields]

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return objectmeta.finalizer_warnings(obj["metadata"], None, self.finalizers)

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return objectmeta.finalizer_warnings(obj["metadata"], old["metadata"], self.finalizers)

    def reset_fields(self, served: Served, subresource: str) -> FieldSet:
        return resetfields.of_custom(
            subresource, status=served.version.status, minor=served.definition.minor
        )

    def resets_elsewhere(self, served: Served, subresource: str) -> FieldSet:
        """Only the scope of the status has the fields of all versions (getStatusResetFields)."""
        return self.reset_fields(served, subresource) if subresource == "status" else {}


def _rule_errors(
    context: Context, obj: Object, old: Object | None, earlier: list[FieldError]
) -> list[FieldError]:
    """Return the errors of the CEL rules, which receive the earlier errors; sends their
    warnings."""
    rules = context.served.rules
    if rules is None:
        return []
    errors, warnings = rules.judge(earlier, obj, old)
    for warning in warnings:
        context.warn(warning)
    return errors


def _kind_errors(served: Served, obj: Object) -> list[FieldError]:
    """Return the error for a body of another kind, whose metadata and fields are then not validated
    (customresource/validator.go, ValidateTypeMeta)."""
    kind = obj.get("kind", served.kind)
    if kind == served.kind:
        return []
    return [fielderrors.invalid("kind", kind, f"must be {served.kind}")]


def _scale_errors(served: Served, obj: Object, *, only_status: bool = False) -> list[FieldError]:
    """Return the errors of fields that the scale subresource reads; /status checks only its own
    fields."""
    paths = served.version.scale
    if paths is None:
        return []
    spec = [] if only_status else scale.spec(obj, paths)
    return spec + scale.status(obj, paths)


def _keep_status(obj: Object, old: Object) -> None:
    if "status" in old:
        obj["status"] = old["status"]
    else:
        obj.pop("status", None)


def _only_status(obj: Object, old: Object) -> None:
    """Restore all members except status and managedFields from the old object, in place."""
    status, present = obj.get("status"), "status" in obj
    managed = obj["metadata"].get("managedFields")
    restored = orjson.loads(orjson.dumps(old))
    obj.clear()
    obj.update(restored)
    if managed is None:  # the write could not be typed
        obj["metadata"].pop("managedFields", None)
    else:
        obj["metadata"]["managedFields"] = managed
    if present:
        obj["status"] = status
    else:
        obj.pop("status", None)


def _differs(obj: Object, old: Object, has_status: bool) -> bool:
    """Return whether a member other than type and metadata changed; a separate status does not
    count."""
    left = {key for key in obj if key not in _ENVELOPE}
    right = {key for key in old if key not in _ENVELOPE}
    if has_status:
        left.discard("status")
        right.discard("status")
    return left != right or any(not same(obj[key], old[key]) for key in left)
