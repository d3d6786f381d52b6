"""The Lease in kube-system that identifies a running API server and is renewed while it runs.

Follows apiserver/pkg/server/config.go (the name), pkg/controlplane/apiserver/server.go and
pkg/controlplane/controller/{apiserverleasegc,leaderelection}. kube-apiserver renews its Lease every
10 s. inkube renews it after a third of its duration, because each renewal is a write that stays in
the history.
"""

import hashlib
import socket
import uuid
from base64 import b32encode
from datetime import datetime, timedelta

from inkube.controllers.client import Client, Object, Selection, ignoring
from inkube.controllers.informer import Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import meta
from inkube.schemas.clock import Clock

LEASES = "coordination.k8s.io/v1/leases"
NAMESPACE = "kube-system"
LABEL = "apiserver.kubernetes.io/identity"
COMPONENT = "kube-apiserver"
SECONDS = 3600
"""Seconds until a Lease without a renewal expires (`--identity-lease-duration-seconds`)."""
_PERIOD = SECONDS / 3


def name_of(host: str) -> str:
    """Return the Lease of the API server of a host, such as `apiserver-` and 26 letters or
    digits."""
    parts = (text.encode() for text in (host, COMPONENT))
    encoded = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    digest = hashlib.sha256(encoded).digest()[:16]
    return f"apiserver-{b32encode(digest).decode().rstrip('=').lower()}"


def lease(now: datetime, uid: str) -> Object:
    """Return the Lease of this process's host, held by a new server."""
    host = socket.gethostname()
    name = name_of(host)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {LABEL: COMPONENT, "kubernetes.io/hostname": host},
        },
        "spec": {
            "holderIdentity": f"{name}_{uid}",
            "leaseDurationSeconds": SECONDS,
            "renewTime": meta.format_micro_time(now),
        },
    }


class IdentityController:
    """Renews the Lease of this server, creates it again if deleted, and deletes expired Leases."""

    def __init__(self, client: Client, clock: Clock, leases: Informer) -> None:
        self._client = client
        self._clock = clock
        self._leases = leases
        self._own_key = Key(NAMESPACE, name_of(socket.gethostname()))

    async def reconcile(self, key: Key) -> Result | None:
        """Handle one Lease, again when it is due."""
        found = self._leases.get(key)
        with ignoring(404, 409):
            if key == self._own_key:
                return Result(await self._renew(found))
            if found is not None:
                return Result(await self._collect(found))
        return None

    async def _renew(self, stored: Object | None) -> float:
        """Create or renew the Lease of this server. Returns seconds until the next renewal."""
        now = self._clock.now()
        if stored is None:
            await self._client.create(lease(now, str(uuid.uuid4())))
            return _PERIOD
        left = _PERIOD - _age(stored, now)
        if left > 0:
            return left
        spec = {**(stored.get("spec") or {}), "renewTime": meta.format_micro_time(now)}
        await self._client.update({**stored, "spec": spec})
        return _PERIOD

    async def _collect(self, lease: Object) -> float:
        """Delete an expired Lease of another server. Returns seconds until it expires, or 0."""
        spec = lease.get("spec") or {}
        left = (spec.get("leaseDurationSeconds") or 0) - _age(lease, self._clock.now())
        if left > 0:
            return left
        name, version = lease["metadata"]["name"], lease["metadata"]["resourceVersion"]
        options = {"preconditions": {"resourceVersion": version}}
        await self._client.delete(LEASES, name, NAMESPACE, options=options)
        return 0.0


def _age(lease: Object, now: datetime) -> float:
    """Return seconds since the last renewal. A Lease without a renewal time has expired, as
    upstream."""
    renewed = (lease.get("spec") or {}).get("renewTime")
    if not renewed:
        return float("inf")
    return (now - datetime.fromisoformat(renewed)) / timedelta(seconds=1)


def add(manager: Manager) -> None:
    """Add the controller to the manager. It runs in each of several servers, because they can be on
    different hosts."""
    selection = Selection(NAMESPACE, labels=f"{LABEL}={COMPONENT}")
    leases = manager.informers.of(LEASES, selection)
    controller = IdentityController(manager.client, manager.clock, leases)
    watch = Watch(LEASES, selection=selection)
    manager.add(
        Controller(
            "identity-leases", controller.reconcile, (watch,), concurrency=1, everywhere=True
        )
    )
