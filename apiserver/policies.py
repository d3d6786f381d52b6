"""ValidatingAdmissionPolicies in force: those with a binding, asked about every write.

Without bindings a write costs one look at the store; what judges is loaded with the first binding.
"""

from typing import TYPE_CHECKING

from inkube.apiserver.admission import Attributes, Operation, Plugin
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.resources import Resource, Resources
from inkube.storage.store import BaseStore

if TYPE_CHECKING:
    from inkube.apiserver.policyjudge import Judge

GROUP = "admissionregistration.k8s.io"
BINDINGS = "/registry/validatingadmissionpolicybindings/"


class PolicyAdmission(Plugin):
    """Refuses what a bound policy denies, and warns as bindings say."""

    def __init__(self, store: BaseStore, resources: Resources, authorizer: Authorizer) -> None:
        self._store = store
        self._resources = resources
        self._authorizer = authorizer
        self._judge: Judge | None = None

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return not (resource.group == GROUP and "admissionpolic" in resource.plural)

    async def validate(self, attributes: Attributes) -> None:
        if not self._store.count(BINDINGS):
            return
        if self._judge is None:
            from inkube.apiserver.policyjudge import Judge

            self._judge = Judge(self._store, self._resources, self._authorizer)
        self._judge.judge(attributes)
