"""Binding: a POST to a pod's `binding`, or of a Binding to its namespace, assigns a pod to a node.

The pod's strategy does not check the change, because the strategy forbids changes of the node.
Follows pkg/registry/core/pod/storage (BindingREST.Create, setPodNodeAndMetadata).
"""

from collections.abc import Callable
from dataclasses import replace

from aiohttp import web

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.registry import MAX_RETRIES, Attributes, Call, Registry, Resource, intake
from inkube.apiserver.subresources import posted
from inkube.schemas import fielderrors, status
from inkube.schemas.builtin import podstatus
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.storage import errors as storage_errors

KIND = GVK("", "v1", "Binding")


class Binder:
    """Assigns pods to nodes, for the HTTP handler and for the scheduler in this process."""

    def __init__(self, registry: Registry, *, gives_labels: bool = True) -> None:
        self._registry = registry
        self._metadata_members = ("annotations", "labels") if gives_labels else ("annotations",)
        """The members of a binding's metadata that are copied to the pod, since 1.35 including
        labels (PodTopologyLabels)."""

    async def bind(self, call: Call, binding: Object) -> None:
        """Bind the pod of the call. Raises StatusError 404 or 409, and 500 for an invalid
        target."""
        attributes = Attributes("CREATE", call, binding, None, call.options)
        await self._registry.chain.mutate(attributes)
        await self._registry.chain.validate(attributes)
        node = _node(binding)
        registry, store = self._registry, self._registry.store_of(call.options)
        for _ in range(MAX_RETRIES):
            entry = registry.get(call)
            pod = call.copy(entry)
            self._assign(call, pod, binding, node)
            pod["metadata"].pop("resourceVersion", None)
            try:
                await store.update(entry.key, pod, entry.revision)
            except (storage_errors.Conflict, storage_errors.NotFound):
                continue
            return
        raise status.conflict("", "pods/binding", call.name)

    def _assign(self, call: Call, pod: Object, binding: Object, node: str) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        wanted = binding["metadata"].get("uid")
        if wanted and wanted != meta["uid"]:
            raise status.wrong_uid("", "pods", call.name, call.key, wanted, meta["uid"])
        why = ""
        if "deletionTimestamp" in meta:
            why = f"pod {call.name} is being deleted, cannot be assigned to a host"
        elif spec.get("nodeName"):
            why = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
        elif spec.get("schedulingGates"):
            why = f"pod {call.name} has non-empty .spec.schedulingGates"
        if why:
            raise status.conflict("", "pods/binding", call.name, why)
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
        posted.check_verb(exchange.call)
        binding = await posted.read(exchange, KIND)
        call = exchange.call
        meta = binding.setdefault("metadata", {})
        if call.resource.plural != "pods":
            pods = self._pods()
            version = pods.versions[call.served.name]
            call = replace(
                call,
                resource=pods,
                served=version,
                name=meta.get("name", ""),
                subresource="binding",
            )
        elif meta.get("name", "") != call.name:
            raise status.bad_request("name in URL does not match name in Binding object")
        intake.check_namespace(call, binding)
        await self._binder.bind(call, binding)
        return posted.success(exchange)
