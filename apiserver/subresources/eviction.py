"""Eviction: a POST to a pod's `eviction` deletes it, if its disruption budget allows a disruption.

Follows pkg/registry/core/pod/storage/eviction.go.
"""

from collections.abc import Iterable
from functools import partial

from aiohttp import web

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import delete_options
from inkube.apiserver.registry import MAX_ATTEMPTS, DeleteOptions, Registry, Request, changes, keys
from inkube.apiserver.subresources import posted
from inkube.schemas import selectors, status
from inkube.schemas.builtin import podstatus
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.storage import Entry, writes
from inkube.storage import errors as storage_errors

KIND = GVK("policy", "v1", "Eviction")
MAX_DISRUPTED = 2000  # pods whose disruption the budget's controller has not observed yet
_BUDGET_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
_WAIT_SECONDS = 10


class EvictionHandler:
    """Serves a POST to /eviction."""

    def __init__(self, registry: Registry, *, counts_always: bool = False) -> None:
        self._registry = registry
        self._counts_always = counts_always
        """Whether the text of a rejection always contains the number of pods, as before 1.35."""

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError 405 for verbs other than create, and 429 if
        the budget allows no disruption."""
        posted.check_verb(exchange.request)
        request, eviction = await posted.read(exchange, KIND, others=("policy/v1beta1",))
        if eviction.get("metadata", {}).get("name", "") != request.name:
            raise status.bad_request("name in URL does not match name in Eviction object")
        options = delete_options(eviction.get("deleteOptions") or {})
        dry_run = request.options.dry_run or options.dry_run
        options = options._replace(dry_run=dry_run)
        request = request._replace(options=request.options._replace(dry_run=dry_run))
        await self._registry.admit(request, eviction)
        await self._evict(request, options)
        return posted.success(exchange)

    async def _evict(self, request: Request, options: DeleteOptions) -> None:
        for _ in range(MAX_ATTEMPTS):
            pod = self._registry.get(request)
            if not _needs_no_budget(pod.value):
                break
            going = options
            if _is_pending(pod.value) and options.resource_version is None:
                going = options._replace(resource_version=str(pod.revision))
            try:
                return await self._mark_and_delete(request, going)
            except status.StatusError as error:
                retry = error.reason == status.Reason.CONFLICT and going != options
                if not retry or self._registry.get(request).revision == pod.revision:
                    raise
        budget = await self._permit(request, pod)
        going = options
        if budget is not None:
            going = options._replace(resource_version=str(pod.revision))
        try:
            await self._mark_and_delete(request, going)
        except status.StatusError as error:
            lost = error.reason == status.Reason.CONFLICT and budget is not None
            if lost and options.resource_version is None:
                raise _wait_for(budget or "") from error
            raise

    async def _permit(self, request: Request, pod: Entry) -> str | None:
        """Use one disruption of the pod's budget. Returns the budget's name if the pod may be
        deleted only in its current state, else None. Raises StatusError."""
        found = [entry.value for entry in self._budgets(pod.value)]
        if not found:
            return None
        if len(found) > 1:
            raise status.unknown(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support."
            )
        budget = found[0]
        name, budgeted = budget["metadata"]["name"], budget.get("status") or {}
        if not podstatus.is_ready(pod.value):
            wanted = budgeted.get("desiredHealthy", 0)
            healthy = budgeted.get("currentHealthy", 0) >= wanted > 0
            policy = budget["spec"].get("unhealthyPodEvictionPolicy")
            if healthy or policy == "AlwaysAllow":
                return str(name)
        for _ in range(MAX_ATTEMPTS):
            if await self._charge_budget(request, name):
                return None
        raise status.conflict("policy", "poddisruptionbudgets", name)

    def _budgets(self, pod: Object) -> Iterable[Entry]:
        """Return the budgets that select the pod. An empty selector selects nothing."""
        meta = pod["metadata"]
        prefix = keys.key("poddisruptionbudgets", meta["namespace"], "")
        for entry in self._registry.store.list(prefix):
            selector = (entry.value.get("spec") or {}).get("selector") or {}
            if selector and selectors.selects(selector, meta.get("labels") or {}):
                yield entry

    async def _charge_budget(self, request: Request, name: str) -> bool:
        """Use one disruption of the budget; False if the budget was changed concurrently. Raises
        StatusError."""
        registry = self._registry
        entry = registry.store.get(keys.key("poddisruptionbudgets", request.namespace, name))
        if entry is None:
            raise status.not_found("policy", "poddisruptionbudgets", name)
        changed = _charged_status(
            entry.value,
            request.name,
            registry.system_fields.timestamp(),
            counts_always=self._counts_always,
        )
        try:
            store = registry.engine.store_of(request.options)
            batch = [writes.Update(entry.key, changed, entry.revision)]
            await store.commit(batch, request.consent)
        except (storage_errors.Conflict, storage_errors.NotFound):
            return False
        return True

    async def _mark_and_delete(self, request: Request, options: DeleteOptions) -> None:
        """Write the reason to the pod's status, then delete the pod."""
        mark = partial(self._marked, request, options)
        outcome = await self._registry.write(request, changes.Amend(mark))
        if outcome.changed and options.resource_version is not None:
            options = options._replace(resource_version=str(outcome.entry.revision))
        await self._delete(request, options)

    def _marked(self, request: Request, options: DeleteOptions, entry: Entry) -> Object | None:
        """Return the pod with the reason in its status, or None if the deletion raises its own
        error."""
        if options.resource_version not in (None, str(entry.revision)):
            return None
        if options.uid not in (None, entry.value["metadata"]["uid"]):
            return None
        pod = request.copy(entry)
        podstatus.set_condition(
            pod["status"],
            {
                "type": "DisruptionTarget",
                "observedGeneration": pod["metadata"].get("generation", 0),
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": self._registry.system_fields.timestamp(),
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            },
        )
        return pod

    async def _delete(self, request: Request, options: DeleteOptions) -> None:
        """Delete the pod itself. It skips admission, because the eviction has passed it."""
        going = request._replace(verb="delete", subresource="")
        await self._registry.write(going, changes.Evict(options))


def _needs_no_budget(pod: Object) -> bool:
    """Return whether the pod has ended, has not started or is being deleted, so that its deletion
    disrupts nothing (canIgnorePDB)."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _is_pending(pod: Object) -> bool:
    """Return whether a pod that needs no budget is pending and not being deleted. Only such a pod
    must be deleted in exactly its current state (shouldEnforceResourceVersion)."""
    phase = (pod.get("status") or {}).get("phase")
    return phase == "Pending" and "deletionTimestamp" not in pod["metadata"]


def _charged_status(budget: Object, pod: str, now: str, *, counts_always: bool) -> Object:
    """Return the budget with one disruption less. Raises StatusError 403 or 429."""
    meta, told = budget["metadata"], dict(budget.get("status") or {})
    name = meta["name"]
    if told.get("observedGeneration", 0) < meta.get("generation", 0):
        raise _wait_for(name)
    allowed = told.get("disruptionsAllowed", 0)
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise status.forbidden("policy", "poddisruptionbudget", name, why)
    disrupted = told.get("disruptedPods") or {}
    if len(disrupted) > MAX_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise status.forbidden("policy", "poddisruptionbudget", name, why)
    if allowed == 0:
        raise _too_many_requests(_violation_text(name, told, counts_always=counts_always))
    told["disruptionsAllowed"] = allowed - 1
    if allowed == 1:  # none remains (pdbhelper.UpdateDisruptionAllowedCondition)
        told["conditions"] = [*(told.get("conditions") or ())]
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": told.get("observedGeneration", 0),
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        podstatus.set_condition(told, condition)
    told["disruptedPods"] = {**disrupted, pod: now}
    kept = {member: value for member, value in meta.items() if member != "resourceVersion"}
    return {**budget, "metadata": kept, "status": told}


def _violation_text(name: str, budget_status: Object, *, counts_always: bool) -> str:
    for condition in budget_status.get("conditions") or ():
        failed = (condition.get("status"), condition.get("reason")) == ("False", "SyncFailed")
        if condition.get("type") == "DisruptionAllowed" and failed:
            return (
                f"The disruption budget {name} does not allow evicting pods currently because it "
                f"failed sync: {condition.get('message', '')}"
            )
    healthy, wanted = budget_status.get("currentHealthy", 0), budget_status.get("desiredHealthy", 0)
    if healthy > wanted and not counts_always:
        return f"The disruption budget {name} does not allow evicting pods currently"
    return f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"


def _too_many_requests(message: str, seconds: int = 0) -> status.StatusError:
    causes = [{"reason": "DisruptionBudget", "message": message}]
    return status.too_many_requests(_BUDGET_VIOLATION, seconds, causes)


def _wait_for(name: str) -> status.StatusError:
    why = f"The disruption budget {name} is still being processed by the server."
    return _too_many_requests(why, _WAIT_SECONDS)
