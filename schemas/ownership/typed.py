"""The typed view of one version of a kind, as ownership and server-side apply see it.

`TypedSchema` is built once per version and kept; it holds no objects. `Versions` joins the views
of all served versions with a way to convert objects between them.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeVar

import orjson

from inkube.schemas.objects import Object
from inkube.schemas.ownership import comparison, layouts, mergetypes, typedmerge, typedvalidation
from inkube.schemas.ownership.comparison import Comparison
from inkube.schemas.ownership.fieldsets import FieldSet
from inkube.schemas.ownership.typedvalidation import Problem

_SETTLED = 1024  # sets known to fit the schema; entries of a kind's objects are much alike


class TypedSchema:
    """How values of one version merge, and which paths their fields have."""

    def __init__(
        self, schema: Mapping[str, Any], *, custom: bool = True, empty: Object | None = None
    ) -> None:
        """`schema` is the version's openAPIV3Schema as plain JSON; {} accepts anything.

        `custom` tells CustomResourceDefinitions from built-in kinds. `empty` is what an object of
        the kind holds before anything is set: what a create finds there is owned by nobody.
        """
        self.empty = empty or {}
        self.type = mergetypes.of_kind(dict(schema))
        self.custom = custom
        self._deduced = not schema
        self._settled: set[bytes] = set()

    def problems(self, value: Object, *, duplicates: bool = True) -> list[Problem]:
        """What keeps the value from being typed: undeclared fields, wrong types, duplicates."""
        found = typedvalidation.problems(self.type, value)
        return [problem for problem in found if duplicates or not problem.duplicate]

    def owned(self, value: Object, *, strict: bool = False) -> FieldSet:
        """The fields a configuration claims. Raises UntypableError when it has problems.

        Elements that stand twice are a problem only if `strict`.
        """
        return comparison.owned(self.type, value, strict=strict)

    def everything(self, value: Object) -> FieldSet:
        """Every path of a value, in the reference's order. Raises UntypableError."""
        return layouts.everything(self.type, value)

    def compare(self, old: Object, new: Object) -> Comparison:
        """What changed between two values. Raises UntypableError."""
        return comparison.compare(self.type, old, new)

    def merge(self, live: Object, applied: Object) -> Object:
        """A configuration laid over a live value, `live` itself when it changes nothing."""
        merged: Object = typedmerge.merge(self.type, live, applied)
        return merged

    def remove(self, value: Object, fields: FieldSet) -> Object:
        """The value without the members of the set."""
        if not fields:
            return value
        return typedmerge.remove(self.type, value, fields) or {}

    def with_parents(self, fields: FieldSet) -> FieldSet:
        """The set with all declared fields that have children in it."""
        return typedmerge.with_parents(self.type, fields)

    def reconciled(self, fields: FieldSet, live: Object) -> FieldSet:
        """The set in line with the schema as it is now. Raises UntypableError.

        typed.ReconcileFieldSetWithSchema; kinds without any schema are left alone.
        """
        if self._deduced:
            return fields
        text = orjson.dumps(fields)
        if text in self._settled:
            return fields
        reconciliation = typedmerge.Reconciliation(self.type, fields, live)
        if reconciliation.settled:
            if len(self._settled) >= _SETTLED:
                self._settled.clear()
            self._settled.add(text)
        return reconciliation.fields


T = TypeVar("T")
Convert = Callable[[Object, str], Object]


class VersionRequest(NamedTuple):
    """An object that the work under way needs in another version; it must not be changed."""

    object: Object
    api_version: str


Steps = Generator[VersionRequest, Object, T]
"""Work that asks for conversions on its way, and goes on with each as its driver sends it. Who can
convert at once calls `finished`, who has to wait for conversions sends them in when they came."""


def finished(steps: Steps[T], convert: Convert) -> T:
    """The outcome of work whose conversions need no waiting."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(convert(*wanted))
    except StopIteration as done:
        outcome: T = done.value
        return outcome


def relabelled(obj: Object, api_version: str) -> Object:
    """Conversion of strategy None: the same object under another apiVersion."""
    return {**obj, "apiVersion": api_version}


class Versions(NamedTuple):
    """The served versions of a kind by apiVersion, and how to get from one to another.

    `convert` takes an object and the apiVersion it shall have; it must not change the object.
    Entries of versions that are not in `schemas` are dropped at the next write.
    """

    schemas: Mapping[str, TypedSchema]
    convert: Convert = relabelled
