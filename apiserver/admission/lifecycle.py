"""NamespaceLifecycle admission: objects are created only in existing, not terminating namespaces.

Follows apiserver/pkg/admission/plugin/namespace/lifecycle.
"""

from inkube.apiserver.registry import Operation, Plugin, Resource, Write, keys, refused
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
        # a review must not tell whether a namespace exists
        is_review = resource.group == "authorization.k8s.io"
        return resource.namespaced and operation == "CREATE" and not is_review

    async def mutate(self, write: Write) -> None:
        request = write.request
        if write.operation == "DELETE":
            if write.name in IMMORTAL:
                raise refused(write, "this namespace may not be deleted")
            return
        if request.namespace in self._alive:
            return
        entry = self._store.get(_PREFIX + request.namespace)
        if entry is None:
            raise status.not_found("", "namespaces", request.namespace)
        phase = entry.value.get("status", {}).get("phase")
        if phase == "Terminating" or "deletionTimestamp" in entry.value["metadata"]:
            raise self._terminating(write)
        self._alive.add(request.namespace)

    def _terminating(self, write: Write) -> status.StatusError:
        request = write.request
        error = refused(
            write,
            f"unable to create new content in namespace {request.namespace} "
            "because it is being terminated",
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {request.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        error.details = {**(error.details or {}), "causes": [cause]}
        return error
