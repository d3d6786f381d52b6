"""The typed view of one version of a kind, for field ownership and server-side apply.

`TypedSchema` is created once per version and kept; it contains no objects. `Versions` joins the
views of all served versions with a way to convert objects between them.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import orjson

from inkube.schemas import releases
from inkube.schemas.objects import Object
from inkube.schemas.ownership import comparison, fieldsets, mergetypes, typedmerge, typedvalidation
from inkube.schemas.ownership.comparison import Comparison
from inkube.schemas.ownership.fieldsets import FieldSet
from inkube.schemas.ownership.typedvalidation import Problem

_KEEPS_EMPTY = 36
"""The first minor in which a container that loses its last field stays empty (structured-merge-diff
6.3.2; later releases revert it)."""
_SETS = 1024  # whose atomic fields are kept; entries of a kind's objects are similar


class TypedSchema:
    """The merging of values of one version, and the paths of their fields."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        *,
        custom: bool = True,
        empty: Object | None = None,
        minor: int = releases.NEWEST.minor,
    ) -> None:
        """`schema` is the version's openAPIV3Schema as plain JSON; {} accepts anything.

        `custom` distinguishes CustomResourceDefinitions from built-in kinds. `empty` is the initial
        content of an object of the kind, before a create sets members. Managers do not own it.
        """
        self.empty = {"metadata": {}, **(empty or {})}
        make = mergetypes.of_kind if custom else mergetypes.of_builtin
        self.type = make(dict(schema))
        self.custom = custom
        self._keeps_empty = minor >= _KEEPS_EMPTY
        self._deduced = not schema
        self._made_atomic: dict[bytes, FieldSet] = {}

    def is_in_whole_list(self, path: Sequence[str | int]) -> bool:
        """Return whether a path leads into a list that is compared as a whole, because it or a
        parent is atomic.

        structured-merge-diff compares such a list of Go values by reflect.DeepEqual, for which an
        empty list or map in it is not nil (value/listreflect.go). Other comparisons leave out what
        Go does not encode.
        """
        return mergetypes.is_in_whole_list(self.type, path)

    def problems(self, value: Object, *, duplicates: bool = True) -> list[Problem]:
        """Return the reasons why the value cannot be typed: undeclared fields, wrong types,
        duplicates."""
        problems = typedvalidation.problems(self.type, value)
        return [problem for problem in problems if duplicates or not problem.duplicate]

    def fits(self, value: Object) -> bool:
        """Return whether the value can be typed; a stored value can have duplicate elements."""
        return not self.problems(value, duplicates=False)

    def owned(self, value: Object, *, strict: bool = False) -> FieldSet:
        """Return the fields that a configuration claims. Raises UntypableError if it has problems.

        Duplicate elements are a problem only if `strict`.
        """
        return comparison.owned(self.type, value, strict=strict)

    def created(self, new: Object) -> FieldSet:
        """Return the fields that the creator of an object owns, in upstream's order. Raises
        UntypableError."""
        return comparison.created(self.type, self.empty, new)

    def compare(self, old: Object, new: Object) -> Comparison:
        """Return the changes between two values. Raises UntypableError."""
        return comparison.compare(self.type, old, new)

    def merge(self, live: Object, applied: Object) -> Object:
        """Return the live value with a configuration merged into it; `live` itself if nothing
        changes."""
        merged: Object = typedmerge.merge(self.type, live, applied)
        return merged

    def remove(self, value: Object, fields: FieldSet) -> Object:
        """Return the value without the members of the set."""
        if not fields:
            return value
        return typedmerge.remove(self.type, value, fields, keeps_empty=self._keeps_empty) or {}

    def with_parents(self, fields: FieldSet) -> FieldSet:
        """Return the set with all declared fields that have children in it."""
        return typedmerge.with_parents(self.type, fields)

    def reconciled(self, fields: FieldSet) -> FieldSet:
        """Return the set, adapted to the current schema: a field that became atomic is owned whole.

        Follows typed.ReconcileFieldSetWithSchema. Without a schema, returns `fields` unchanged.
        """
        if self._deduced:
            return fields
        text = orjson.dumps(fields)
        atomic = self._made_atomic.get(text)
        if atomic is None:
            atomic = typedmerge.made_atomic(self.type, fields)
            if len(self._made_atomic) >= _SETS:
                self._made_atomic.clear()
            self._made_atomic[text] = atomic
        if not atomic:
            return fields
        return fieldsets.union(fieldsets.recursive_difference(fields, atomic), atomic)


T = TypeVar("T")
Convert = Callable[[Object, str], Object]


class VersionRequest(NamedTuple):
    """An object that a generator needs in another version; it must not be changed."""

    object: Object
    api_version: str


Steps = Generator[VersionRequest, Object, T]
"""A generator that yields requests for conversions, and receives each converted object. Callers
that can convert immediately call `finished`; other callers wait for a conversion and send it."""


def finished(steps: Steps[T], convert: Convert) -> T:
    """Run a generator with conversions that need no waiting; returns its result."""
    try:
        request = next(steps)
        while True:
            request = steps.send(convert(*request))
    except StopIteration as done:
        outcome: T = done.value
        return outcome


def relabelled(obj: Object, api_version: str) -> Object:
    """Conversion of strategy None: the same object under another apiVersion."""
    return {**obj, "apiVersion": api_version}


def _resets_nothing(api_version: str, subresource: str) -> FieldSet:
    return fieldsets.EMPTY


class Versions(NamedTuple):
    """The versions of a kind by apiVersion, served or not, and the conversion between them.

    `convert` takes an object and its new apiVersion; it must not change the object. `resets` takes
    the apiVersion of an owner of another version and the subresource of a write, and returns the
    fields of that version that the write resets.
    """

    schemas: Mapping[str, TypedSchema]
    convert: Convert = relabelled
    resets: Callable[[str, str], FieldSet] = _resets_nothing
