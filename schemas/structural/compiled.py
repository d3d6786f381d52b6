"""A compiled schema: all operations on values under one structural schema.

A served version keeps one. Creating it has no cost; a part of the schema is compiled for the first
value that reaches this part, and kept.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas import releases
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.metadata import metadecoding
from inkube.schemas.objects import Object
from inkube.schemas.structural import embedded, filling, formats, listtypes
from inkube.schemas.structural.compiler import Compiler
from inkube.schemas.structural.correlation import Correlation
from inkube.schemas.structural.fieldpaths import NO_FIELD
from inkube.schemas.structural.findings import BoundedSink, Enough, Sink
from inkube.schemas.structural.nodes import Node, Schema
from inkube.schemas.structural.ratcheting import RatchetCompiler, RatchetSink

NUMBERS_HAVE_FORMATS = 36
"""The first minor that checks all formats."""
_ENVELOPE = frozenset({"apiVersion", "kind", "metadata"})


class CompiledSchema:
    """A compiled openAPIV3Schema. At the root of a resource, metadata is ObjectMeta."""

    def __init__(
        self, schema: Schema, *, resource_root: bool = True, minor: int = releases.NEWEST.minor
    ) -> None:
        self.schema = schema if minor >= NUMBERS_HAVE_FORMATS else formats.checked_in(schema, minor)
        self.node = Node(self.schema)
        self._root = resource_root
        self._minor = minor

    def prune_and_default(
        self, obj: Object, unknown: list[str] | None, *, lenient: bool = False
    ) -> None:
        """Decode an object in place, as kube-apiserver decodes a body or a stored object.

        Types metadata, prunes, drops nulls, sets defaults, and adds the paths of unknown fields to
        `unknown` in the order of kube-apiserver. Raises DecodeError for metadata of a wrong type,
        unless `lenient`, which is for stored objects.
        """
        unknown_fields: list[str] = []
        if self._root and "metadata" in obj:
            obj["metadata"] = metadecoding.decode(obj["metadata"], unknown_fields, lenient=lenient)
        filling.settle(self.node, obj, None if unknown is None else unknown_fields, root=self._root)
        if self.node.holds(embedded.KEYWORD):
            embedded.coerce(self.node, obj, unknown_fields, lenient=lenient)
        if unknown is not None:
            unknown.extend(unknown_fields)

    def type_metadata(self, obj: Object, unknown: list[str] | None) -> None:
        """Decode an object of another kind or group: types and prunes only its metadata.

        Adds the paths of unknown fields to `unknown`. Raises DecodeError.
        """
        unknown_fields: list[str] = []
        if "metadata" in obj:
            obj["metadata"] = metadecoding.decode(obj["metadata"], unknown_fields)
        if unknown is not None:
            unknown.extend(unknown_fields)

    def drop_all(self, obj: Object, unknown: list[str] | None) -> None:
        """Decode an object of an undeclared version: drops all fields except type and metadata.

        Adds the paths of the dropped fields to `unknown`. Raises DecodeError.
        """
        unknown_fields: list[str] = []
        if "metadata" in obj:
            obj["metadata"] = metadecoding.decode(obj["metadata"], unknown_fields)
        dropped = sorted(obj.keys() - _ENVELOPE)
        for name in dropped:
            del obj[name]
        if unknown is not None:
            unknown.extend([*unknown_fields, *dropped])

    def default(self, obj: Object) -> None:
        """Set defaults, in place."""
        filling.default(self.node, obj)

    def default_missing(self, obj: Object) -> None:
        """Set the defaults of missing members at the root; present members already have theirs."""
        filling.default_missing(self.node, obj)

    def prune(self, obj: Object) -> None:
        """Remove unknown fields, in place."""
        filling.prune(self.node, obj, root=self._root)

    def coerce(self, obj: Object) -> None:
        """Remove what a converted object may not contain, in place: unknown fields, and nulls
        without a default (unstructuredSchemaCoercer)."""
        filling.coerce(self.node, obj, root=self._root)

    def validate(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return all errors of an object, except those of its metadata and its rules.

        With `old`, errors of unchanged values are dropped (ratcheting).
        """
        return self.schema_errors(obj, old) + self.other_errors(obj, old)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        """Return the errors of a write to /status: validates only the status by its part of the
        schema.

        Paths in texts then start below the status; paths in fields start at the root (validator.go,
        ValidateStatusUpdate).
        """
        errors: list[FieldError] = []
        if "status" in obj and self._status is not None:
            errors = self._status.schema_errors(obj["status"], old.get("status"))
        return [_below_status(error) for error in errors] + self.other_errors(obj, old)

    def other_errors(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the errors of embedded resources and of lists that are sets or maps."""
        errors: list[FieldError] = []
        if self.node.holds(embedded.KEYWORD):
            errors.extend(embedded.validate(self.node, obj))
        if self.node.holds_list_types and not (old is not None and self._repeats(old)):
            errors += listtypes.validate(self.node, obj)
        return errors

    def schema_errors(self, value: Any, old: Any = None) -> list[FieldError]:
        """Return the errors of the schema's keywords, without embedded resources and list types."""
        errors = BoundedSink()
        step = self._compiler.dispatch(self.node)[type(value)]
        if step is not None:
            try:  # noqa: SIM105 # as a context manager it takes a fortieth of a refused create
                step(value, None, errors)
            except Enough:
                pass
        if errors and old is not None:
            return _distinct(self._ratcheted(value, old))
        return _distinct(errors) if errors else []

    def _ratcheted(self, value: Any, old: Any) -> Sink:
        errors = RatchetSink(Correlation(self.node, value, old))
        step = self._ratchet_compiler.dispatch(self.node)[type(value)]
        if step is not None:
            step(value, None, errors)
            errors.forgive(None, 0)
        return errors

    def _repeats(self, obj: Object) -> bool:
        return bool(listtypes.validate(self.node, obj))

    @cached_property
    def _status(self) -> "CompiledSchema | None":
        schema = (self.schema.get("properties") or {}).get("status")
        if schema is None:
            return None
        return CompiledSchema(schema, resource_root=False, minor=self._minor)

    @cached_property
    def _compiler(self) -> Compiler:
        return Compiler(self._minor)

    @cached_property
    def _ratchet_compiler(self) -> RatchetCompiler:
        return RatchetCompiler(self._minor)


def _below_status(error: FieldError) -> FieldError:
    field = "status" if error.field == NO_FIELD else f"status.{error.field}"
    return error._replace(field=field)


def _distinct(errors: Iterator[FieldError] | Sink) -> list[FieldError]:
    """Return the errors without duplicates, which branches of combinators cause."""
    if isinstance(errors, list) and len(errors) == 1:
        return [errors[0]]
    seen: dict[tuple[str, str, str], FieldError] = {}
    for error in errors:
        seen.setdefault((error.type, error.field, error.message()), error)
    return list(seen.values())
