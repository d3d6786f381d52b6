"""NamespaceLifecycle admission: objects are created only in existing, not terminating namespaces.

Follows apiserver/pkg/admission/plugin/namespace/lifecycle.
"""

from inkube.apiserver.registry import Attributes, Operation, Plugin, Resource, keys
from inkube.schemas import status
from inkube.storage import Store

IMMORTAL = ("default", "kube-system", "kube-public")
_PREFIX = keys.prefix("namespaces")


class NamespaceLifecycle(Plugin):
    """Refuses creates in missing or terminating namespaces, and deletion of protected
    namespaces."""

    name = "NamespaceLifecycle"
    only_refuses = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._alive: set[str] = set()
        """Namespaces that were checked successfully since the last change of any namespace."""
        store.follow(_PREFIX, self._forget, on_relist=self._forget)

    def _forget(self, changes: object = None) -> None:
        self._alive.clear()

    def handles(self, resource: Resource, operation: Operation) -> bool:
        if operation == "DELETE":
            return resource.is_namespaces
        return resource.namespaced and operation == "CREATE"

    async def mutate(self, attributes: Attributes) -> None:
        call = attributes.call
        if attributes.operation == "DELETE":
            if call.name in IMMORTAL:
                raise status.forbidden(
                    "", "namespaces", call.name, "this namespace may not be deleted"
                )
            return
        if call.namespace in self._alive:
            return
        entry = self._store.get(_PREFIX + call.namespace)
        if entry is None:
            raise status.not_found("", "namespaces", call.namespace)
        phase = entry.value.get("status", {}).get("phase")
        if phase == "Terminating" or "deletionTimestamp" in entry.value["metadata"]:
            raise self._terminating(attributes)
        self._alive.add(call.namespace)

    def _terminating(self, attributes: Attributes) -> status.StatusError:
        call = attributes.call
        error = status.forbidden(
            call.resource.group,
            call.resource.plural,
            call.name,
            f"unable to create new content in namespace {call.namespace} "
            "because it is being terminated",
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {call.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        return error
