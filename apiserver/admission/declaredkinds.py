"""DeclaredKinds admission: the code that kinds declared in Python run on writes, besides their
rules.

The kinds are `controllers.kinds.KindModule`s. This module knows them only by a protocol.
"""

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from inkube.apiserver.registry import Effect, Operation, Resource, SideEffects, Write
from inkube.schemas import sealing, status, wordings
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Reservation


class DeclaredKind(Protocol):
    """The members of a declared kind that admission uses."""

    @property
    def definition(self) -> Definition: ...

    def mutate(self, obj: Object, old: Object | None) -> Object:
        """Bring the object into its normal form, in place."""
        ...

    async def check(
        self, obj: Object, old: Object | None, env: Any, wrong: Sequence[str] = ()
    ) -> list[FieldError]:
        """Return the errors of live checks in a dry run. Checks that depend on members with errors
        (`wrong`) are skipped."""
        ...

    async def check_create(self, obj: Object, env: Any) -> list[FieldError]:
        """Return the reasons against the creation."""
        ...

    async def check_delete(self, obj: Object, env: Any) -> list[FieldError]:
        """Return the reasons against the deletion."""
        ...

    async def persist(self, obj: Object, reservation: Reservation) -> None:
        """Store secure values of a real write. If the write is refused later, they are removed."""
        ...


class DeclaredKinds(SideEffects):
    """Runs the mutators of each declared kind, its live checks in a dry run, and its guards."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], tuple[DeclaredKind, Any]] = {}

    def add(self, kind: DeclaredKind, environment: Any) -> None:
        """Add a kind, with the environment of its checks."""
        definition = kind.definition
        self._kinds[definition.group, definition.names.plural] = kind, environment

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return (resource.group, resource.plural) in self._kinds

    def _kind(self, write: Write) -> DeclaredKind:
        return self._entry(write)[0]

    def _entry(self, write: Write) -> tuple[DeclaredKind, Any]:
        resource = write.request.resource
        return self._kinds[resource.group, resource.plural]

    async def mutate(self, write: Write) -> None:
        if write.object is not None and not write.request.subresource:
            sealing.unseal(write.object, write.change.sealed)
            self._kind(write).mutate(write.object, write.old)
            write.request.served.schema.default(write.object)

    async def validate(self, write: Write) -> None:
        request = write.request
        if request.subresource:
            return
        errors = await self._errors(write)
        if errors:
            raise status.invalid(request.resource.group, request.resource.kind, write.name, errors)

    async def supplement(self, write: Write, errors: Sequence[FieldError]) -> Sequence[FieldError]:
        """Return further errors: those of live checks in a dry run, and an error for a name in
        use."""
        obj, old = write.object, write.old
        if obj is None or write.request.subresource or not write.dry_run:
            return ()
        _, env = self._entry(write)
        found = await self._checked(write, [error.field for error in errors])
        return found if old is not None else [*found, *await self._taken(write, env)]

    def effect(self, write: Write) -> Effect | None:
        obj, kind = write.object, self._kind(write)
        if obj is None or write.request.subresource:
            return None
        return partial(kind.persist, obj)

    async def _errors(self, write: Write) -> list[FieldError]:
        (kind, env), obj, old = self._entry(write), write.object, write.old
        if obj is None:
            assert old is not None, "a deletion has an old object"
            return await kind.check_delete(old, env)
        errors = await kind.check_create(obj, env) if old is None else []
        if write.dry_run and not errors:
            errors = await self._checked(write)
        if errors and write.dry_run and old is None:
            errors += await self._taken(write, env)
        return errors

    async def _checked(self, write: Write, wrong: Sequence[str] = ()) -> list[FieldError]:
        """Return the errors of live checks. Raises StatusError 504 after the client's limit for the
        request."""
        kind, env = self._entry(write)
        obj, limit = write.object, write.request.timeout
        assert obj is not None, "only an object is checked"
        try:
            async with asyncio.timeout(limit if math.isfinite(limit) else None):
                return await kind.check(obj, write.old, env, wrong)
        except TimeoutError as error:
            raise status.request_timeout() from error

    async def _taken(self, write: Write, env: Any) -> list[FieldError]:
        """Return an error if the name of a new object is taken and the object has other errors too.
        A taken name alone is a conflict, which the store reports."""
        request = write.request
        if write.generated_prefix:
            return []
        try:
            await env.client.get(request.served.gvr, write.name, request.namespace)
        except status.StatusError as error:
            if error.reason != status.Reason.NOT_FOUND:
                raise
            return []
        return [wordings.name_taken(write.name)]
