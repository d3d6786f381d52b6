"""Admission policies in force: those with a binding, asked about every write.

While there is no binding a write costs one look at a flag, and what judges is not loaded. Bindings
may be made by other servers that share what is stored.
"""

from functools import cached_property, partial

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
_JUDGING = keys.prefix("validatingadmissionpolicybindings")
_CHANGING = keys.prefix("mutatingadmissionpolicybindings")
_KINDS = frozenset(
    {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    }
)
"""What no policy is asked about."""


class PolicyAdmission(Plugin):
    """Changes and refuses what bound policies want changed or deny, and warns as bindings say."""

    def __init__(self, store: Store, resources: Resources, authorizer: Authorizer) -> None:
        self._store = store
        self._resources = resources
        self._authorizer = authorizer
        self._judges, self._changes = (
            Derived(store, (prefix,), partial(_are_any, store, prefix))
            for prefix in (_JUDGING, _CHANGING)
        )

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.group != GROUP or resource.plural not in _KINDS

    @property
    def is_alone(self) -> bool:
        # expressions may ask for resourceVersions
        return not self._judges.value and not self._changes.value

    @property
    def only_refuses(self) -> bool:
        return not self._changes.value

    async def mutate(self, attributes: Attributes) -> None:
        if self._changes.value:
            await self._mutator.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        if self._judges.value:
            await self._judge.judge(attributes)

    @cached_property
    def _judge(self) -> "policies.Judge":
        return policies.Judge(self._store, self._resources, self._authorizer)

    @cached_property
    def _mutator(self) -> "policies.Mutator":
        return policies.Mutator(self._store, self._resources, self._authorizer)


def _are_any(store: Store, prefix: str) -> bool:
    return store.count(prefix) > 0
