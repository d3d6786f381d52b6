"""Writes the data of Secrets of type service-account-token, and deletes them with their account.

Follows pkg/controller/serviceaccount/tokens_controller.go.
"""

import base64
from collections.abc import Iterator

from inkube.client import Object
from inkube.controllers.core import ACCOUNTS
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.kinds import Change, Controller, Key, Watch

NAME = "serviceaccount-token-controller"
SECRETS = "v1/secrets"
TYPE = "kubernetes.io/service-account-token"
_ACCOUNT = "kubernetes.io/service-account.name"
_UID = "kubernetes.io/service-account.uid"


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _annotations(secret: Object) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}


def add(cluster: Cluster) -> None:
    """Run the controller that writes the data of Secrets of type service-account-token."""
    secrets, accounts = cluster.informer(SECRETS), cluster.informer(ACCOUNTS)
    client, server = cluster.client(), cluster.server

    async def reconcile(key: Key) -> None:
        secret = secrets.get(key)
        if secret is None or secret.get("type") != TYPE or pods.is_deleting(secret):
            return
        name = _annotations(secret).get(_ACCOUNT, "")
        account = accounts.get(Key(key.namespace, name))
        uid = _annotations(secret).get(_UID)
        if account is None or uid not in (None, account["metadata"]["uid"]):
            await accounts.caught_up()
            if accounts.get(Key(key.namespace, name)) is account:
                await writes.delete(client, SECRETS, secret)
            return
        wanted = {"ca.crt": _encode(server.authority()), "namespace": _encode(key.namespace)}
        data = secret.get("data") or {}
        if uid is not None and data.get("token") and wanted.items() <= data.items():
            return
        changed = templates.copy(secret)
        own = {**_annotations(secret), _UID: account["metadata"]["uid"]}
        changed["metadata"]["annotations"] = own
        changed["data"] = {**data, **wanted}
        if not data.get("token"):
            changed["data"]["token"] = _encode(server.issue_token(account, secret))
        await writes.update(client, changed)

    def of_account(change: Change) -> Iterator[Key]:
        metadata = change.object["metadata"]
        for secret in secrets.items(metadata["namespace"]):
            if (
                secret.get("type") == TYPE
                and _annotations(secret).get(_ACCOUNT) == (metadata["name"])
            ):
                yield Key.of(secret)

    watches = (Watch(SECRETS), Watch(ACCOUNTS, of_account))
    cluster.manager.add(Controller(NAME, writes.patient(reconcile), watches))
