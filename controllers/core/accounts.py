"""Creates the ServiceAccount `default` in every namespace, again after its deletion.

Follows pkg/controller/serviceaccount/serviceaccounts_controller.go.
"""

from collections.abc import Iterator

from inkube.controllers.client import Client, Object
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Manager, Watch
from inkube.schemas.status import Reason, StatusError

NAMESPACES, ACCOUNTS = "v1/namespaces", "v1/serviceaccounts"
_DEFAULT = "default"


def add(manager: Manager, client: Client) -> None:
    """Run serviceaccount-controller."""
    namespaces, accounts = manager.informers.of(NAMESPACES), manager.informers.of(ACCOUNTS)

    async def reconcile(key: Key) -> None:
        namespace = namespaces.get(key)
        if namespace is None or accounts.get(Key(key.name, _DEFAULT)) is not None:
            return
        if (namespace.get("status") or {}).get("phase", "Active") != "Active":
            return
        metadata = {"name": _DEFAULT, "namespace": key.name}
        body: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        try:
            await client.create(body)
        except StatusError as error:
            if error.reason != Reason.ALREADY_EXISTS and not is_ending(error):
                raise

    watches = (Watch(NAMESPACES), Watch(ACCOUNTS, _namespace))
    manager.add(Controller("serviceaccount-controller", reconcile, watches))


def _namespace(change: Change) -> Iterator[Key]:
    """Yield the namespace of a changed account with the name `default`."""
    metadata = change.object["metadata"]
    if metadata["name"] == _DEFAULT:
        yield Key("", metadata["namespace"])


def is_ending(error: StatusError) -> bool:
    """Return whether the error is about a namespace in deletion (HasStatusCause)."""
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
