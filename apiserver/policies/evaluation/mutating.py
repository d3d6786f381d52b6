"""Applies bound MutatingAdmissionPolicies: apiserver pkg/admission/plugin/policy/mutating."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import orjson

from inkube.apiserver.auth import answered
from inkube.apiserver.policies.evaluation.judging import BoundPolicies, ConfigError
from inkube.apiserver.registry import Write, attributes, keys, refused
from inkube.schemas import bodies, status
from inkube.schemas.builtin import connects, decoding
from inkube.schemas.cel import CelError
from inkube.schemas.golang import DecodeError
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.ownership import TypedSchema
from inkube.schemas.policies import MutatingPolicy
from inkube.schemas.served import Served


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A policy and a binding that match a write, with one of their parameters."""

    policy: MutatingPolicy
    binding: Object
    served: Served
    params: Object | None

    @property
    def key(self) -> tuple[str, str, tuple[str, str]]:
        """The names of policy, binding and parameters."""
        meta = (self.params or {}).get("metadata") or {}
        named = meta.get("namespace", ""), meta.get("name", "")
        return self.policy.name, self.binding["metadata"]["name"], named


@dataclass(frozen=True, slots=True)
class _Failure:
    policy: MutatingPolicy
    binding: Object | None
    why: str
    reason: str

    def __str__(self) -> str:
        names = f'policy "{self.policy.name}"'
        if self.binding is not None:
            names = f"policy '{self.policy.name}' with binding '{self.binding['metadata']['name']}'"
        return f"{names} denied request: {self.why}"


class Mutator(BoundPolicies):
    """The changes of mutating policies."""

    policies = keys.prefix("mutatingadmissionpolicies")
    bindings = keys.prefix("mutatingadmissionpolicybindings")
    compiler = MutatingPolicy

    async def mutate(self, write: Write) -> None:
        """Change the object in place. Raises StatusError if a policy fails.

        All policies are applied before that, and each error is a cause of the response
        (generic/policy_dispatcher.go).
        """
        if write.object is None:
            return
        invoked = write.rounds_of("MutatingAdmissionPolicy")
        invoked.start_round(write.object)
        invocations, failures = await self._invocations(write)
        for invocation in invocations:
            for why in await self._change(invocation, write):
                failures.append(_Failure(invocation.policy, invocation.binding, why, "Invalid"))
        decisive = [failure for failure in failures if not failure.policy.ignores_failures]
        if decisive:
            raise _refusal(write, decisive)
        invoked.end(write.object)

    async def _invocations(self, write: Write) -> "tuple[list[_Invocation], list[_Failure]]":
        """Return what to apply to a write, and the errors of bindings without parameters."""
        invocations, failures = [], []
        for policy, bindings, served in self.matching(write):
            assert isinstance(policy, MutatingPolicy), "made by `compiler`"
            if why := self.misconfigured(policy):
                failures.append(_Failure(policy, None, why, "Forbidden"))
                continue
            for binding in bindings:
                try:
                    found = await self.params(policy, binding, write.request)
                except ConfigError as error:
                    why = f"failed to configure binding: {error}"
                    failures.append(_Failure(policy, binding, why, "Forbidden"))
                else:
                    invocations += [_Invocation(policy, binding, served, one) for one in found]
        return invocations, failures

    async def _change(self, invocation: "_Invocation", write: Write) -> list[str]:
        """Apply a policy with one of its parameters. Return the errors of its conditions and
        mutations."""
        invoked = write.rounds_of("MutatingAdmissionPolicy")
        policy, served = invocation.policy, invocation.served
        values = {**await self.values(write, served), "params": invocation.params}
        try:
            if not await answered(partial(policy.applies, values)):
                return []
        except CelError as error:
            return [str(error)]
        if not invoked.needs_call(invocation.key):
            return []
        before = values["object"]
        schema, decode = _typed(write, served), partial(_between, write, served)
        changed, failures = await answered(partial(policy.change, values, schema, decode))
        if policy.reinvoked:  # before its change is noted, which calls the policy itself again, too
            invoked.mark_called(invocation.key)
        if changed is not before and changed != before:
            fresh: Object = orjson.loads(orjson.dumps(changed))
            await attributes.put(write, _decoded(write, served, fresh), served)
            invoked.mark_changed()
        return failures


def _typed(write: Write, served: Served) -> TypedSchema:
    """Return the schema of the objects that policies see of a write."""
    kind = attributes.kind(write)
    if kind == write.request.served.gvk:
        return served.typed
    own = connects.schema(kind.kind) if connects.is_options(kind) else table.schema(kind)
    return TypedSchema(own, custom=False)


def _between(write: Write, served: Served, changed: Object) -> Object:
    """Return the result of a mutation as the next one receives it. A custom resource has no Go
    type, so it keeps what is empty until the last mutation of a policy."""
    return changed if served.typed.custom else _decoded(write, served, changed)


def _decoded(write: Write, served: Served, changed: Object) -> Object:
    """Return the result of a mutation as an object of its kind. Empty members of built-in objects
    are dropped, as Go drops them (patch.jsonPatcher).

    Raises StatusError 500 for unknown fields and wrong types, whatever the failurePolicy.
    """
    kind, request = attributes.kind(write), write.request
    fresh: Object = orjson.loads(orjson.dumps(changed))
    if connects.is_options(kind):
        return connects.pruned(fresh, kind.kind)
    unknown: Sequence[str] = []
    try:
        if kind == request.served.gvk:
            found: list[str] = []
            unknown = found
            made = request.resource.decode(served, fresh, None if served.typed.custom else found)
        else:
            decoded = decoding.decode(fresh, kind, request.resource.definition.minor)
            made, unknown = decoded.object, bodies.unknown_fields(decoded.unknown)
    except DecodeError as error:
        raise status.internal_error(str(error)) from error
    if unknown:
        raise status.internal_error(f"strict decoding error: {', '.join(unknown)}")
    return made


def _refusal(write: Write, failures: "Sequence[_Failure]") -> status.StatusError:
    """Return the error 403 with the text and reason of the first failure."""
    refusal = refused(write, str(failures[0]))
    refusal.message, refusal.reason = str(failures[0]), failures[0].reason
    refusal.details = {
        **(refusal.details or {}),
        "name": write.name or "Unknown",
        "causes": [{"message": str(failure)} for failure in failures],
    }
    return refusal
