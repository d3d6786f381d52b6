"""Admission policies in force: those with a binding, asked about every write.

While there is no binding a write costs one look at a flag, and what judges is not loaded. Bindings
may be made by other servers that share what is stored.
"""

from functools import cached_property

from inkube.apiserver import policies
from inkube.apiserver.auth import Authorizer
from inkube.apiserver.registry import (
    Attributes,
    Derived,
    Operation,
    Plugin,
    Resource,
    Resources,
    keys,
)
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
"""What no policy is asked about."""


class Policies(Plugin):
    """What both kinds share: whether a policy of theirs is bound."""

    is_private = False  # expressions may ask for resourceVersions
    bindings = ""
    """The plural of what binds them."""

    def __init__(self, store: Store, resources: Resources, authorizer: Authorizer) -> None:
        self._parts = store, resources, authorizer
        prefix = keys.prefix(self.bindings)
        self._bound = Derived(store, (prefix,), lambda: store.count(prefix) > 0)

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.group != GROUP or resource.plural not in _KINDS

    @property
    def is_idle(self) -> bool:
        return not self._bound.value


class MutatingPolicies(Policies):
    """Changes what bound policies want changed."""

    bindings = "mutatingadmissionpolicybindings"

    async def mutate(self, attributes: Attributes) -> None:
        await self._mutator.mutate(attributes)

    @cached_property
    def _mutator(self) -> "policies.Mutator":
        return policies.Mutator(*self._parts)


class ValidatingPolicies(Policies):
    """Refuses what bound policies deny, and warns as their bindings say."""

    bindings = "validatingadmissionpolicybindings"

    async def validate(self, attributes: Attributes) -> None:
        await self._judge.judge(attributes)

    @cached_property
    def _judge(self) -> "policies.Judge":
        return policies.Judge(*self._parts)
