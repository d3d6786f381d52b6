"""Admission policies: those with a binding are evaluated on every write.

While there is no binding, a write only checks a flag, and the evaluation is not loaded. Other
servers on the same data can create bindings.
"""

from collections.abc import Iterable

from inkube.apiserver.auth import Authorizer
from inkube.apiserver.policies import evaluation
from inkube.apiserver.registry import (
    OnDemand,
    Operation,
    Resource,
    Resources,
    StoreCache,
    Write,
    keys,
)
from inkube.schemas import policies as expressions
from inkube.schemas.lazy import Lazy
from inkube.storage import Store

GROUP = "admissionregistration.k8s.io"
_KINDS = frozenset(
    {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    }
)
"""Resources of this group to which no policy applies."""
_REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups to which no policy applies, because their objects decide about access
(pkg/kubeapiserver/admission/exclusion/resources.go)."""


class Policies(OnDemand):
    """The part that both kinds of policies share: whether a policy is bound."""

    is_private = False  # expressions can read resourceVersions
    bindings = ""
    """The plural of the kind of their bindings."""

    def __init__(self, store: Store) -> None:
        prefix = keys.prefix(self.bindings)
        super().__init__(StoreCache(store, (prefix,), lambda: store.count(prefix) > 0))

    def compiled(self) -> "list[expressions.CompiledPolicy]":
        """Return the policies that were evaluated by now."""
        raise NotImplementedError

    def handles(self, resource: Resource, operation: Operation) -> bool:
        exempt = resource.group == GROUP and resource.plural in _KINDS
        return not exempt and resource.group not in _REVIEWS


class MutatingPolicies(Policies):
    """Applies the changes of bound policies."""

    name = "MutatingAdmissionPolicy"
    bindings = "mutatingadmissionpolicybindings"

    def __init__(self, store: Store, resources: Resources, authorizer: Authorizer) -> None:
        super().__init__(store)
        self._mutator = Lazy(lambda: evaluation.Mutator(store, resources, authorizer))

    def compiled(self) -> "list[expressions.CompiledPolicy]":
        return self._mutator().compiled() if not self.is_idle else []

    async def mutate(self, write: Write) -> None:
        await self._mutator().mutate(write)


class ValidatingPolicies(Policies):
    """Refuses writes that bound policies deny, and adds the warnings that their bindings
    request."""

    name = "ValidatingAdmissionPolicy"
    bindings = "validatingadmissionpolicybindings"

    def __init__(self, store: Store, resources: Resources, authorizer: Authorizer) -> None:
        super().__init__(store)
        self._evaluator = Lazy(lambda: evaluation.PolicyEvaluator(store, resources, authorizer))

    def compiled(self) -> "list[expressions.CompiledPolicy]":
        return self._evaluator().compiled() if not self.is_idle else []

    async def validate(self, write: Write) -> None:
        await self._evaluator().evaluate(write)


def compiled(plugins: Iterable[object]) -> "list[expressions.CompiledPolicy]":
    """Return the policies that plugins evaluated by now, for the coverage of tests."""
    return [
        policy for plugin in plugins if isinstance(plugin, Policies) for policy in plugin.compiled()
    ]
