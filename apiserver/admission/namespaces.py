"""Admission by the namespace of a request: it must exist, or is created.

Follows plugin/pkg/admission/namespace/{exists,autoprovision}.
"""

from inkube.apiserver.registry import (
    ADMIN,
    OfStore,
    Operation,
    Plugin,
    Resource,
    Resources,
    Write,
    changes,
    intake,
    keys,
    refused,
)
from inkube.schemas import status
from inkube.storage import Store

_PREFIX = keys.prefix("namespaces")


class NamespaceExists(OfStore):
    """Refuses every write in a namespace that does not exist."""

    name = "NamespaceExists"
    only_refuses = True

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.namespaced and operation != "CONNECT"

    async def validate(self, write: Write) -> None:
        if self._store.get(_PREFIX + write.request.namespace) is None:
            raise status.not_found("", "namespaces", write.request.namespace)


class NamespaceAutoProvision(Plugin):
    """Creates the namespace of a new object if it does not exist, but not in a dry run."""

    name = "NamespaceAutoProvision"
    only_refuses = True  # it does not change the object
    is_private = False

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.namespaced and operation == "CREATE"

    async def mutate(self, write: Write) -> None:
        name = write.request.namespace
        if write.dry_run or self._store.get(_PREFIX + name) is not None:
            return
        resource = self._resources.get("", "namespaces")
        assert resource is not None, "namespaces are built in"
        request = intake.request("create", resource, resource.storage, ADMIN, name=name)
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        body = intake.accept(request, intake.Sent(made))
        try:
            await write.engine.carry_out(request, changes.Create(request, body))
        except status.StatusError as error:
            if error.reason != status.Reason.ALREADY_EXISTS:
                raise refused(write, error.message) from error
