"""Events about objects that wait for something that this server does not run.

On a cluster, a scheduler, controllers, a provisioner and a cloud provider act on new objects.
Without them, an object stays as it is, and nothing shows why. `kubectl describe` shows these
Events. They are off by default, because kube-apiserver without these components writes none.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from inkube.controllers.client import Object
from inkube.controllers.events import Recorder
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Manager, Watch
from inkube.schemas.meta import GVR

Unresolved = Callable[[str, str, int], str]
"""Returns why no address is known for the port of a Service (namespace, name, port), or ""."""
REASON = "NothingActs"
MOST = 25
"""Objects of one kind with an Event, at most; whoever creates more has read some."""
_WORKLOADS = "Start it with --workloads to simulate one."


class Hint(NamedTuple):
    """What a kind waits for."""

    resource: GVR
    text: str
    """Why its objects wait, and what to do."""
    waits: Callable[[Object], bool] = bool
    """Whether an object waits; all objects by default."""
    why: Callable[[Object], str] | None = None
    """Returns the text for an object, or "" if it does not wait, where both depend on it."""

    def text_for(self, obj: Object) -> str:
        """Return why an object waits, or "" if it does not."""
        if self.why is not None:
            return self.why(obj)
        return self.text if self.waits(obj) else ""


def _is_unscheduled(pod: Object) -> bool:
    return not pod["spec"].get("nodeName")


def _is_unbound(claim: Object) -> bool:
    return not claim["spec"].get("volumeName")


def _is_without_address(service: Object) -> bool:
    status = service.get("status") or {}
    is_balanced = service["spec"].get("type") == "LoadBalancer"
    return is_balanced and not (status.get("loadBalancer") or {}).get("ingress")


def _of_controller(group: str, version: str, plural: str, kind: str, does: str) -> Hint:
    text = f"This server runs no controller of {kind} objects, so it {does}. {_WORKLOADS}"
    return Hint(GVR(group, version, plural), text)


_NO_PODS = "creates no pods"
OF_WORKLOADS = (
    Hint(
        GVR("", "v1", "pods"),
        f"This server runs no scheduler, so the pod stays Pending. {_WORKLOADS}",
        _is_unscheduled,
    ),
    Hint(
        GVR("", "v1", "persistentvolumeclaims"),
        f"This server provisions no volumes, so the claim stays Pending. {_WORKLOADS}",
        _is_unbound,
    ),
    _of_controller("", "v1", "replicationcontrollers", "ReplicationController", _NO_PODS),
    _of_controller("apps", "v1", "deployments", "Deployment", _NO_PODS),
    _of_controller("apps", "v1", "replicasets", "ReplicaSet", _NO_PODS),
    _of_controller("apps", "v1", "statefulsets", "StatefulSet", _NO_PODS),
    _of_controller("apps", "v1", "daemonsets", "DaemonSet", _NO_PODS),
    _of_controller("batch", "v1", "jobs", "Job", _NO_PODS),
    _of_controller("batch", "v1", "cronjobs", "CronJob", "creates no jobs"),
    _of_controller(
        "autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "scales nothing"
    ),
)
"""Hints of a server without simulated workloads."""
ALWAYS = (
    Hint(
        GVR("", "v1", "services"),
        "This server runs no load balancers, so the service stays without an external address. "
        "Write one to its status to continue: kubectl patch --subresource=status.",
        _is_without_address,
    ),
)
"""Hints of every server."""


def of_webhooks(unresolved: Unresolved) -> tuple[Hint, ...]:
    """Return the hints about webhooks whose Service has no address in this server."""
    group, version = "admissionregistration.k8s.io", "v1"
    plurals = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")

    def why(configuration: Object) -> str:
        for webhook in configuration.get("webhooks") or ():
            service = (webhook.get("clientConfig") or {}).get("service")
            if service is None:
                continue
            place = service["namespace"], service["name"]
            if reason := unresolved(*place, service.get("port", 443)):
                return (
                    f"This server cannot call webhook {webhook['name']}: {reason}. Start it with "
                    f"--service-address {'/'.join(place)}=HOST:PORT, or give the webhook a url."
                )
        return ""

    return tuple(Hint(GVR(group, version, plural), "", why=why) for plural in plurals)


def add(manager: Manager, hint: Hint, since: int) -> None:
    """Add the controller of one hint to the manager. It writes an Event about each object that
    waits and is new since a revision, and ends after MOST of them."""
    name = f"hints-{hint.resource.resource}"
    recorder = Recorder(manager.client, manager.clock, manager.event_names)
    informer = manager.informers.of(hint.resource)
    written = 0
    removals: list[asyncio.Task[None]] = []

    async def reconcile(key: Key) -> None:
        nonlocal written
        obj = informer.get(key)
        text = "" if obj is None or removals else hint.text_for(obj)
        if obj is None or not text:
            return
        written += 1
        await recorder.normal(obj, REASON, text)
        if written == MOST:  # its informer would decode every further object
            removals.append(asyncio.create_task(manager.remove(name)))

    watch = Watch(hint.resource, partial(_created, since))
    manager.add(Controller(name, reconcile, (watch,), concurrency=1))


def _created(since: int, change: Change) -> Iterable[Key]:
    """Return the key of an object that is new since a revision."""
    meta = change.object["metadata"]
    is_new = change.old is None and int(meta["resourceVersion"]) > since
    return (Key(meta.get("namespace", ""), meta["name"]),) if is_new else ()
