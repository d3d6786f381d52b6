"""The decisions of bound policies about a write: apiserver pkg/admission/plugin/policy/validating.

Policies are compiled at their first use, and again after they changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import orjson

from inkube.apiserver.auth import Authorizer, ResourceCheck, UserAuthorizer, answered, of_object
from inkube.apiserver.registry import (
    Request,
    Resource,
    Resources,
    Write,
    attributes,
    conversions,
    keys,
    refused,
)
from inkube.schemas import status
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object
from inkube.schemas.policies import CompiledPolicy, Denial, Target, matched_resource
from inkube.schemas.selectors import selects
from inkube.schemas.served import Served
from inkube.storage import BaseStore, Entry

_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Unauthorized": 401}


class ConfigError(Exception):
    """A policy or binding that cannot be applied to a request."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A denial by a policy and a binding, "" for a policy that cannot be applied. The first one
    becomes the response."""

    policy: str
    binding: str
    denial: Denial

    def __str__(self) -> str:
        named = f"ValidatingAdmissionPolicy '{self.policy}'"
        return f"{named} with binding '{self.binding}'" if self.binding else named


class BoundPolicies:
    """The bound policies of one kind in one store, and the variables of their expressions.

    `policies` and `bindings` are the prefixes of the stored objects.
    """

    policies = keys.prefix("validatingadmissionpolicies")
    bindings = keys.prefix("validatingadmissionpolicybindings")
    compiler = CompiledPolicy

    def __init__(self, store: BaseStore, resources: Resources, authorizer: Authorizer) -> None:
        self._store = store
        self._resources = resources
        self._authorizer = authorizer
        self._compiled: dict[str, tuple[Entry, CompiledPolicy]] = {}

    def matching(self, write: Write) -> Iterator[tuple[CompiledPolicy, list[Object], Served]]:
        """Yield the policies that match a write, with their bindings that match it, and the version
        in which each policy sees it."""
        target = self._target(write)
        versions = {each.gvr: each for each in attributes.equivalents(write.request)}
        for policy, bindings in self._bound():
            matched = matched_resource(policy.constraints, target)
            if matched is not None:
                chosen = [
                    binding
                    for binding in bindings
                    if matched_resource(binding["spec"].get("matchResources"), target) is not None
                ]
                yield policy, chosen, versions[matched]

    def compiled(self) -> list[CompiledPolicy]:
        """Return the policies that were evaluated by now."""
        return [policy for _, policy in self._compiled.values()]

    def _bound(self) -> Iterator[tuple[CompiledPolicy, list[Object]]]:
        bindings: dict[str, list[Object]] = {}
        for entry in self._store.list(self.bindings):
            binding = entry.value
            bindings.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
        if len(self._compiled) > len(bindings):
            kept = {f"{self.policies}{name}" for name in bindings}
            self._compiled = {key: known for key, known in self._compiled.items() if key in kept}
        for name in sorted(bindings):
            found = self._store.get(f"{self.policies}{name}")
            if found is not None:
                yield self._policy(found), bindings[name]

    def _policy(self, entry: Entry) -> CompiledPolicy:
        known = self._compiled.get(entry.key)
        if known is None or known[0].revision != entry.revision:
            known = self._compiled[entry.key] = (entry, self.compiler(entry.value))
        return known[1]

    def _target(self, write: Write) -> Target:
        request, resource = write.request, write.request.resource
        labels = None
        if resource.namespaced:
            labels = _labels(self._namespace(request.namespace) or {})
        elif resource.is_namespaces:
            labels = _labels(write.object or write.old or {})
        return Target(
            operation=write.operation,
            resources=tuple(each.gvr for each in attributes.equivalents(request)),
            subresource=request.subresource,
            namespaced=resource.namespaced,
            name=attributes.name(write),
            objects=attributes.selectable(write),
            namespace_labels=labels,
        )

    def _namespace(self, name: str) -> Object | None:
        entry = self._store.get(keys.key("namespaces", "", name)) if name else None
        return entry.value if entry is not None else None

    def _param_kind(self, kind: Object) -> tuple[Resource, Served] | None:
        group, version = split_api_version(kind["apiVersion"])
        resource = self._resources.by_kind(group, kind["kind"])
        served = resource.served(version) if resource is not None else None
        return None if resource is None or served is None else (resource, served)

    def misconfigured(self, policy: CompiledPolicy) -> str:
        """Return why a policy cannot be applied, whatever its bindings say, or ""."""
        kind = policy.param_kind
        if kind is None or self._param_kind(kind) is not None:
            return ""
        group, version = split_api_version(kind["apiVersion"])
        return (
            "failed to configure policy: failed to find resource referenced by paramKind: "
            f"'{group}/{version}, Kind={kind['kind']}'"
        )

    async def params(
        self, policy: CompiledPolicy, binding: Object, request: Request
    ) -> list[Object | None]:
        """Return the parameters of a binding, or [None] if the policy has none. Raises
        ConfigError."""
        reference = binding["spec"].get("paramRef")
        place = None if policy.param_kind is None else self._param_kind(policy.param_kind)
        if place is None or reference is None:
            return [None]
        resource, served = place
        found = self._find_params(resource, reference, request.namespace)
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            why = "no params found for policy binding with `Deny` parameterNotFoundAction"
            raise ConfigError(why)
        shown = await conversions.shown(resource, served, found)
        return [resource.view(entry, served) for entry in shown]

    def _find_params(
        self, resource: Resource, reference: Object, requested_namespace: str
    ) -> list[Entry]:
        namespace = reference.get("namespace", "")
        if namespace and not resource.namespaced:
            raise ConfigError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        if resource.namespaced:
            namespace = namespace or requested_namespace
            if not namespace:
                raise ConfigError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped"
                    " resources"
                )
        if reference.get("name"):
            entry = self._store.get(resource.key(namespace, reference["name"]))
            return [entry] if entry is not None else []
        selector = reference.get("selector") or {}
        entries = self._store.list(resource.key(namespace, ""))
        return [entry for entry in entries if selects(selector, _labels(entry.value))]

    async def values(self, write: Write, served: Served) -> Object:
        """Return all variables of an expression except `params` and `variables`."""
        request = write.request
        asks = UserAuthorizer(self._authorizer, request.user)
        wanted = of_object(request, "", attributes.name(write))
        return {
            "object": await attributes.view(write, write.object, served),
            "oldObject": await attributes.view(write, write.old, served),
            "request": _request(write, served),
            "authorizer": asks,
            "authorizer.requestResource": ResourceCheck(self._authorizer, wanted),
            "namespaceObject": self._namespace(request.namespace),
        }


class PolicyEvaluator(BoundPolicies):
    """The decisions of validating policies."""

    async def evaluate(self, write: Write) -> None:
        """Evaluate the policies. Raises StatusError for the first denial. Adds warnings to the
        call."""
        refused: list[_Refusal] = []
        annotations = _AuditAnnotations()
        for policy, bindings, served in self.matching(write):
            if why := self.misconfigured(policy):
                if not policy.ignores_failures:
                    refused.append(_Refusal(policy.name, "", Denial(why, always=True)))
                continue
            for binding in bindings:
                refused += await self._denials(policy, binding, write, served, annotations)
        annotations.add_to(write)
        if refused:
            raise _refusal_error(write, refused[0])

    async def _denials(
        self,
        policy: CompiledPolicy,
        binding: Object,
        write: Write,
        served: Served,
        annotations: "_AuditAnnotations",
    ) -> list[_Refusal]:
        """Return the denials of one binding. Its warnings are added to the call."""
        name = binding["metadata"]["name"]
        try:
            found = await self.params(policy, binding, write.request)
        except ConfigError as error:
            if policy.ignores_failures:
                return []
            denial = Denial(f"failed to configure binding: {error}", always=True)
            return [_Refusal(policy.name, name, denial)]
        refused, actions = [], binding["spec"].get("validationActions") or []
        values = await self.values(write, served) if found else {}
        for params in found:
            values["params"] = params
            judge = partial(policy.judge, values, annotations.annotate(policy.name))
            for denial in await answered(judge):
                refusal = _Refusal(policy.name, name, denial)
                if "Audit" in actions and not denial.always:
                    write.notes.annotate(_FAILURE, _failure(refusal, actions))
                if denial.always or "Deny" in actions:
                    refused.append(refusal)
                if "Warn" in actions and not denial.always:
                    write.warn(f"Validation failed for {refusal}: {denial.message}")
        return refused


class _AuditAnnotations:
    """The audit annotations of policies (validating/dispatcher.go: auditAnnotationCollector)."""

    def __init__(self) -> None:
        self._annotations: dict[str, dict[str, None]] = {}

    def annotate(self, policy: str) -> Callable[[str, str], None]:
        """Return a function that collects the annotations of one policy."""
        return lambda key, value: self._annotations.setdefault(f"{policy}/{key}", {}).update(
            {value: None}
        )

    def add_to(self, write: Write) -> None:
        """Add all annotations to the write."""
        for key, values in self._annotations.items():
            write.notes.annotate(key, ", ".join(values))


def _failure(refusal: _Refusal, actions: list[str]) -> str:
    """Return the annotation about a validation that failed. Only the first one of a request is
    noted, although it is a list (publishValidationFailureAnnotation)."""
    failure = {
        "message": refusal.denial.message,
        "policy": refusal.policy,
        "binding": refusal.binding,
        "expressionIndex": refusal.denial.index,
        "validationActions": actions,
    }
    return orjson.dumps([failure]).decode()


def _labels(obj: Object) -> dict[str, str]:
    labels: dict[str, str] = (obj.get("metadata") or {}).get("labels") or {}
    return labels


def _request(write: Write, served: Served) -> Object:
    """Return the AdmissionRequest without empty members."""
    request, user = write.request, write.request.user
    who = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    texts = {
        "subResource": request.subresource,
        "requestSubResource": request.subresource,
        "name": attributes.name(write),
        "namespace": attributes.namespace(write),
    }
    kind = attributes.kind(write)
    return {
        "kind": (served.gvk if kind == request.served.gvk else kind)._asdict(),
        "resource": served.gvr._asdict(),
        "requestKind": kind._asdict(),
        "requestResource": request.served.gvr._asdict(),
        **{key: text for key, text in texts.items() if text},
        "operation": write.operation,
        "userInfo": {key: value for key, value in who.items() if value},
        "dryRun": write.dry_run,
        "options": attributes.options(write),
    }


def _refusal_error(write: Write, refusal: _Refusal) -> status.StatusError:
    """Return the error for a denial: Forbidden in its text, with the code and reason of the
    policy."""
    denial = refusal.denial
    message = f"{refusal} denied request: {denial.message}"
    error = refused(write, message)
    error.code = _CODES.get(denial.reason, 422)
    error.reason = denial.reason
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
