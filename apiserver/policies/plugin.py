"""Admission policies in force: those with a binding, asked about every write.

Until the first binding is made a write costs one look at a flag, and what judges is not loaded.
"""

from functools import cached_property

from inkube.apiserver import policies
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.registry import keys
from inkube.apiserver.registry.admission import Attributes, Operation, Plugin
from inkube.apiserver.registry.resources import Resource, Resources
from inkube.storage.store import BaseStore

GROUP = "admissionregistration.k8s.io"
_JUDGING = "validatingadmissionpolicybindings"
_CHANGING = "mutatingadmissionpolicybindings"
_BINDINGS = frozenset({_JUDGING, _CHANGING})
_KINDS = _BINDINGS | {"validatingadmissionpolicies", "mutatingadmissionpolicies"}
"""What no policy is asked about."""


class PolicyAdmission(Plugin):
    """Changes and refuses what bound policies want changed or deny, and warns as bindings say."""

    def __init__(self, store: BaseStore, resources: Resources, authorizer: Authorizer) -> None:
        self._store = store
        self._resources = resources
        self._authorizer = authorizer
        self._judged, self._changed = (
            store.count(keys.prefix(plural)) > 0 for plural in (_JUDGING, _CHANGING)
        )
        """Whether there ever was a binding: every one that comes passes here."""

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.group != GROUP or resource.plural not in _KINDS or _binds(resource)

    @property
    def is_alone(self) -> bool:
        return not self._judged and not self._changed  # expressions may ask for resourceVersions

    @property
    def only_refuses(self) -> bool:
        return not self._changed

    async def mutate(self, attributes: Attributes) -> None:
        if self._changed and not _binds(attributes.call.resource):
            await self._mutator.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        if _binds(attributes.call.resource):
            self._judged = self._judged or attributes.call.resource.plural == _JUDGING
            self._changed = self._changed or attributes.call.resource.plural == _CHANGING
        elif self._judged:
            await self._judge.judge(attributes)

    @cached_property
    def _judge(self) -> "policies.Judge":
        return policies.Judge(self._store, self._resources, self._authorizer)

    @cached_property
    def _mutator(self) -> "policies.Mutator":
        return policies.Mutator(self._store, self._resources, self._authorizer)


def _binds(resource: Resource) -> bool:
    return resource.plural in _BINDINGS and resource.group == GROUP
