"""Binding: a POST to a pod's `binding`, or of a Binding to its namespace, assigns a pod to a node.

The pod's strategy does not check the change, because the strategy forbids changes of the node.
Follows pkg/registry/core/pod/storage (BindingREST.Create, setPodNodeAndMetadata).
"""

from collections.abc import Callable
from functools import partial

from aiohttp import web

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.registry import Registry, Request, Resource, changes
from inkube.apiserver.subresources import posted
from inkube.schemas import fielderrors, status
from inkube.schemas.builtin import podstatus
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.storage import Entry

KIND = GVK("", "v1", "Binding")


class Binder:
    """Assigns pods to nodes, for the HTTP handler and for the scheduler in this process."""

    def __init__(self, registry: Registry, *, gives_labels: bool = True) -> None:
        self._registry = registry
        self._metadata_members = ("annotations", "labels") if gives_labels else ("annotations",)
        """The members of a binding's metadata that are copied to the pod, since 1.35 including
        labels (PodTopologyLabels)."""

    async def bind(
        self, request: Request, binding: Object, client_request: Request | None = None
    ) -> None:
        """Bind the pod of the request. Raises StatusError 404 or 409, and 500 for an invalid
        target. `client_request` is what the client asked, if that is not the request."""
        await self._registry.admit(client_request or request, binding)
        assign = partial(self._assigned, request, binding, _node(binding))
        await self._registry.write(request, changes.Amend(assign))

    def _assigned(self, request: Request, binding: Object, node: str, entry: Entry) -> Object:
        """Return the pod with its node. Raises StatusError 409."""
        pod = request.copy(entry)
        meta, spec = pod["metadata"], pod["spec"]
        _check_preconditions(request, binding["metadata"], meta["uid"], str(entry.revision))
        why = ""
        if "deletionTimestamp" in meta:
            why = f"pod {request.name} is being deleted, cannot be assigned to a host"
        elif spec.get("nodeName"):
            why = f'pod {request.name} is already assigned to node "{spec["nodeName"]}"'
        elif spec.get("schedulingGates"):
            why = f"pod {request.name} has non-empty .spec.schedulingGates"
        if why:
            raise status.conflict("", "pods/binding", request.name, why)
        spec["nodeName"] = node
        for member in self._metadata_members:
            if binding["metadata"].get(member):
                meta[member] = {**(meta.get(member) or {}), **binding["metadata"][member]}
        observed = pod["status"]
        observed.pop("nominatedNodeName", None)
        podstatus.set_condition(
            observed,
            {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": self._registry.system_fields.timestamp(),
            },
        )
        return pod


def _check_preconditions(request: Request, sent: Object, uid: str, version: str) -> None:
    """Compare the uid and the resourceVersion of a binding, if it has them, with those of its pod.
    Raises StatusError 409."""
    place = ("", "pods", request.name)
    for member, wanted, current in (
        ("UID", sent.get("uid"), uid),
        ("ResourceVersion", sent.get("resourceVersion"), version),
    ):
        if wanted and wanted != current:
            raise status.precondition_failed(place, request.checked_key, member, wanted, current)


def _node(binding: Object) -> str:
    """Return the node's name (ValidatePodBinding). Raises StatusError 500, as upstream."""
    target = binding.get("target") or {}
    errors = []
    if target.get("kind", "") not in ("", "Node"):
        kinds = ["Node", "<empty>"]
        errors.append(fielderrors.not_supported("target.kind", target["kind"], kinds))
    if not target.get("name"):
        errors.append(fielderrors.required("target.name"))
    if errors:
        _, texts, _ = fielderrors.within_limits(errors)
        raise status.unknown(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return str(target["name"])


class BindingHandler:
    """Serves a POST to a pod's /binding, and of a Binding to its collection, which has no list."""

    def __init__(
        self, registry: Registry, pods: Callable[[], Resource], *, gives_labels: bool = True
    ) -> None:
        self._binder = Binder(registry, gives_labels=gives_labels)
        self._pods = pods

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError 405 for verbs other than create."""
        posted.check_verb(exchange.request)
        asked, binding = await posted.read(exchange, KIND)
        request = asked
        meta = binding.setdefault("metadata", {})
        if request.resource.plural != "pods":
            pods = self._pods()
            version = pods.versions[request.served.name]
            _node(binding)
            if not meta.get("name"):  # no key can be made of it (registry.NamespaceKeyFunc)
                raise status.bad_request("Name parameter required.")
            asked = request._replace(name=meta["name"])
            request = asked._replace(resource=pods, served=version, subresource="binding")
        elif meta.get("name", "") != request.name:
            raise status.bad_request("name in URL does not match name in Binding object")
        await self._binder.bind(request, binding, asked)
        return posted.success(exchange)
