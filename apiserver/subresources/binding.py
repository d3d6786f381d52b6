"""Binding: POST to a pod's `binding` puts it on a node.

The pod is changed behind the back of its strategy, for which its node is fixed. Follows
pkg/registry/core/pod/storage (BindingREST.Create, setPodNodeAndMetadata).
"""

from typing import Any

import orjson
from aiohttp import web

from inkube.apiserver.handlers.verbs import Exchange
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.http.options import read_write_options
from inkube.apiserver.registry.admission import Attributes
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.registry import MAX_RETRIES, Registry
from inkube.schemas import fielderrors, status
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.meta import GVK
from inkube.storage import errors as storage_errors

Object = dict[str, Any]
KIND = GVK("", "v1", "Binding")


class Binder:
    """Puts pods on nodes: for the HTTP handler and for the scheduler in this process."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def bind(self, call: Call, binding: Object) -> None:
        """Bind the pod of the call. Raises StatusError 404, 409 or 422."""
        attributes = Attributes("CREATE", call, binding, None, call.options.dry_run)
        await self._registry.chain.mutate(attributes)
        await self._registry.chain.validate(attributes)
        node = _node(call, binding)
        registry = self._registry
        for _ in range(MAX_RETRIES):
            entry = registry.get(call)
            pod = registry.copy(call, entry)
            self._assign(call, pod, binding, node)
            if call.options.dry_run:
                return
            pod["metadata"].pop("resourceVersion", None)
            try:
                await registry.store.update(entry.key, pod, entry.revision)
            except (storage_errors.Conflict, storage_errors.NotFound):
                continue
            return
        raise status.conflict("", "pods/binding", call.name)

    def _assign(self, call: Call, pod: Object, binding: Object, node: str) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        wanted = binding["metadata"].get("uid")
        why = ""
        if wanted and wanted != meta["uid"]:
            why = (
                f"Precondition failed: UID in precondition: {wanted}, "
                f"UID in object meta: {meta['uid']}"
            )
        elif "deletionTimestamp" in meta:
            why = f"pod {call.name} is being deleted, cannot be assigned to a host"
        elif spec.get("nodeName"):
            why = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
        elif spec.get("schedulingGates"):
            why = f"pod {call.name} has non-empty .spec.schedulingGates"
        if why:
            raise status.conflict("", "pods/binding", call.name, why)
        spec["nodeName"] = node
        for member in ("annotations", "labels"):
            if binding["metadata"].get(member):
                meta[member] = {**(meta.get(member) or {}), **binding["metadata"][member]}
        told = pod["status"]
        told.pop("nominatedNodeName", None)
        _schedule(told, self._registry.stamps.timestamp())


def _node(call: Call, binding: Object) -> str:
    """The node's name (ValidatePodBinding). Raises StatusError 422."""
    target = binding.get("target") or {}
    errors = []
    if target.get("kind", "") not in ("", "Node"):
        kinds = ["Node", "<empty>"]
        errors.append(fielderrors.not_supported("target.kind", target["kind"], kinds))
    if not target.get("name"):
        errors.append(fielderrors.required("target.name"))
    if errors:
        raise status.invalid("", KIND.kind, call.name, errors)
    return str(target["name"])


def _schedule(told: Object, now: str) -> None:
    """The condition PodScheduled as the binding writes it."""
    conditions: list[Object] = told.setdefault("conditions", [])
    made: Object = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    for index, present in enumerate(conditions):
        if present["type"] == made["type"]:
            if present["status"] == made["status"]:
                made["lastTransitionTime"] = present.get("lastTransitionTime", now)
            conditions[index] = made
            return
    conditions.append(made)


class BindingHandler:
    """POST of /binding."""

    def __init__(self, registry: Registry) -> None:
        self._binder = Binder(registry)

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Answer one request. Raises StatusError 405 for any verb but create."""
        call = exchange.call
        if call.verb != "create":
            raise status.method_not_allowed()
        call.options, warnings = read_write_options(exchange.query, "CreateOptions")
        for warning in warnings:
            call.warn(warning)
        await self._binder.bind(call, await _read(exchange))
        answer = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "code": 201,
        }
        return responses.render(answer, exchange.form, code=201, warnings=call.warnings)


async def _read(exchange: Exchange) -> Object:
    """The Binding of a body, named as its pod. Raises StatusError 400 or 415."""
    body = await bodies.read(exchange.request)
    sent = bodies.decode_kind(body, bodies.media_type(exchange.request), KIND.kind)
    builtin_decoding.check_type(sent, KIND)
    try:
        binding = builtin_decoding.decode(sent, KIND).object
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.refusal(KIND, error) from error
    meta = binding.setdefault("metadata", {})
    name = meta.setdefault("name", exchange.call.name)
    if name != exchange.call.name:
        raise status.bad_request(
            f"name in URL does not match name in Binding object: {exchange.call.name} != {name}"
        )
    return orjson.loads(orjson.dumps(binding))  # type: ignore[no-any-return] # a Binding
