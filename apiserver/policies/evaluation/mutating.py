"""Applies bound MutatingAdmissionPolicies: apiserver pkg/admission/plugin/policy/mutating."""

from collections.abc import Sequence
from functools import partial

import orjson

from inkube.apiserver.auth import answered
from inkube.apiserver.policies.evaluation.judging import BoundPolicies, ConfigError
from inkube.apiserver.registry import Write, attributes, keys, refused
from inkube.schemas import status
from inkube.schemas.builtin import connects, decoding
from inkube.schemas.golang import DecodeError
from inkube.schemas.gotypes import table
from inkube.schemas.objects import Object
from inkube.schemas.ownership import TypedSchema
from inkube.schemas.policies import CompiledPolicy, MutatingPolicy, MutationError
from inkube.schemas.served import Served


class Mutator(BoundPolicies):
    """The changes of mutating policies."""

    policies = keys.prefix("mutatingadmissionpolicies")
    bindings = keys.prefix("mutatingadmissionpolicybindings")
    compiler = MutatingPolicy

    async def mutate(self, write: Write) -> None:
        """Change the object in place. Raises StatusError if a policy fails."""
        if write.object is None:
            return
        invoked = write.rounds_of("MutatingAdmissionPolicy")
        invoked.start_round(write.object)
        for policy, binding, served in self.matching(write):
            assert isinstance(policy, MutatingPolicy), "made by `compiler`"
            try:
                await self._change(policy, binding, write, served)
            except (ConfigError, MutationError, DecodeError) as error:
                if not policy.ignores_failures:
                    raise _refusal(write, policy, binding, error) from error
        invoked.end(write.object)

    async def _change(
        self, policy: MutatingPolicy, binding: Object, write: Write, served: Served
    ) -> None:
        request, obj = write.request, write.object
        assert obj is not None, "deletions have nothing to change"
        invoked = write.rounds_of("MutatingAdmissionPolicy")
        for params in await self.params(policy, binding, request):
            mutation = policy.name, binding["metadata"]["name"], _params_key(params)
            if not invoked.needs_call(mutation):
                continue
            values = {**await self.values(write, served), "params": params}
            before = values["object"]
            schema, decode = _typed(write, served), partial(_decoded, write, served)
            changed = await answered(partial(policy.change, values, schema, decode))
            if changed is not before and changed != before:
                fresh: Object = orjson.loads(orjson.dumps(changed))
                await attributes.put(write, _decoded(write, served, fresh), served)
                invoked.mark_changed()
            if policy.reinvoked:
                invoked.mark_called(mutation)


def _typed(write: Write, served: Served) -> TypedSchema:
    """Return the schema of the objects that policies see of a write."""
    kind = attributes.kind(write)
    if kind == write.request.served.gvk:
        return served.typed
    own = connects.schema(kind.kind) if connects.is_options(kind) else table.schema(kind)
    return TypedSchema(own, custom=False)


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
            made, unknown = decoded.object, decoded.unknown
    except DecodeError as error:
        raise status.internal_error(str(error)) from error
    if unknown:
        raise status.internal_error(f"strict decoding error: {', '.join(unknown)}")
    return made


def _params_key(params: Object | None) -> tuple[str, str]:
    """Return namespace and name of the parameters of an evaluation."""
    meta = (params or {}).get("metadata") or {}
    return meta.get("namespace", ""), meta.get("name", "")


def _refusal(
    write: Write, policy: CompiledPolicy, binding: Object, error: Exception
) -> status.StatusError:
    """Return the error 403 with the reason Invalid, as upstream."""
    name = binding["metadata"]["name"]
    found = error.texts if isinstance(error, MutationError) else (str(error),)
    texts = [f"policy '{policy.name}' with binding '{name}' denied request: {why}" for why in found]
    text = texts[0]
    refusal = refused(write, text)
    refusal.message, refusal.reason = text, "Invalid"
    refusal.details = {
        **(refusal.details or {}),
        "name": write.name or "Unknown",
        "causes": [{"message": text} for text in texts],
    }
    return refusal
