"""What the controllers would do after a plan: rollouts, pods that fit on no node, full budgets.

A fork runs the simulated controllers, the scheduler and the kubelets on the nodes of the data. Its
state before and after the objects are applied is compared. Images, probes and programs are not
simulated: a container starts at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from inkube.apiserver import sources
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import failing, planning
from inkube.apiserver.plans.outcomes import Effect
from inkube.apiserver.plans.planning import Api, PlanOptions
from inkube.schemas.objects import Object

PODS, BUDGETS, EVENTS = "v1/pods", "policy/v1/poddisruptionbudgets", "v1/events"
_OWNERS = (
    "apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets", "apps/v1/replicasets",
    "batch/v1/jobs", "batch/v1/cronjobs", "v1/replicationcontrollers",
)  # fmt: skip
_STATUSES = (*_OWNERS, "v1/persistentvolumeclaims", "autoscaling/v2/horizontalpodautoscalers")
"""Kinds whose conditions controllers write."""
_OTHER_TEXTS = frozenset({"FailedScheduling"})
"""Reasons of events about what the pods say themselves."""
_Objects = Mapping[str, Object]
"""Objects by uid."""


async def forecast(
    snapshot: "sources.Snapshot", applied: Iterable[Manifest], options: PlanOptions
) -> list[Effect]:
    """Apply manifests to a fork with controllers. Raises PlanError, StorageError, ValueError."""
    options = replace(options, call_webhooks=False)
    async with planning.forked(snapshot, options, workloads=True) as api:
        await api.settled()
        before = await _state(api)
        await planning.apply_all(api, planning.ordered(applied), options)
        await api.settled()
        after = await _state(api)
    effects = [
        *_pods(before, after), *_pending(before, after), *_conditions(before, after),
        *_budgets(before, after), *_events(before, after),
    ]  # fmt: skip
    return list(dict.fromkeys(effects))


async def _state(api: Api) -> dict[str, _Objects]:
    """Return the objects of each resource by uid."""
    kinds = (PODS, BUDGETS, EVENTS, *_STATUSES)
    return {
        kind: {each["metadata"]["uid"]: each for each in await api.client.list(kind)}
        for kind in kinds
    }


def _pods(before: Mapping[str, _Objects], after: Mapping[str, _Objects]) -> Iterator[Effect]:
    """Yield how many pods of an owner are created and deleted."""
    old, new = before[PODS], after[PODS]
    created = Counter(_owner(new[uid], after) for uid in new.keys() - old.keys())
    gone = old.keys() - new.keys() | {uid for uid in old.keys() & new.keys() if _ends(new[uid])}
    deleted = Counter(_owner(old[uid], before) for uid in gone if not _ends(old[uid]))
    for title in sorted({*created, *deleted}):
        counts = [(created[title], "created"), (deleted[title], "deleted")]
        yield Effect(
            title, ", ".join(f"{_number(count)} {verb}" for count, verb in counts if count)
        )


def _number(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _ends(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _pending(before: Mapping[str, _Objects], after: Mapping[str, _Objects]) -> Iterator[Effect]:
    """Yield the pods that no node takes, and did not before."""
    known = {uid for uid, pod in before[PODS].items() if _unscheduled(pod)}
    found: Counter[tuple[str, str]] = Counter()
    for uid, pod in after[PODS].items():
        if uid not in known and (why := _unscheduled(pod)):
            found[_owner(pod, after), why] += 1
    for (title, why), count in sorted(found.items()):
        yield Effect(title, f"{_number(count)} pending: {why}", is_problem=True)


def _unscheduled(pod: Object) -> str:
    for each in pod.get("status", {}).get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            return str(each.get("message") or each.get("reason"))
    return ""


def _conditions(before: Mapping[str, _Objects], after: Mapping[str, _Objects]) -> Iterator[Effect]:
    """Yield the conditions that start to fail."""
    for kind in _STATUSES:
        for uid, obj in after[kind].items():
            for text in failing.started(before[kind].get(uid), obj):
                yield Effect(_title(obj), text, is_problem=True)


def _budgets(before: Mapping[str, _Objects], after: Mapping[str, _Objects]) -> Iterator[Effect]:
    """Yield the budgets that permit no disruption, and did not exist or did before."""
    for uid, budget in after[BUDGETS].items():
        if _blocks(budget) and not _blocks(before[BUDGETS].get(uid, {})):
            status = budget["status"]
            healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
            text = f"permits no eviction: {healthy} pods are healthy, {wanted} must be"
            yield Effect(_title(budget), text, is_problem=True)


def _blocks(budget: Object) -> bool:
    status = budget.get("status") or {}
    return bool(status.get("expectedPods")) and not status.get("disruptionsAllowed")


def _events(before: Mapping[str, _Objects], after: Mapping[str, _Objects]) -> Iterator[Effect]:
    """Yield the new warnings of controllers."""
    for uid in after[EVENTS].keys() - before[EVENTS].keys():
        event = after[EVENTS][uid]
        if event.get("type") == "Warning" and event.get("reason") not in _OTHER_TEXTS:
            about = event.get("involvedObject") or {}
            text = f"{event.get('reason')}: {event.get('message', '')}"
            yield Effect(_named(about), text, is_problem=True)


def _owner(obj: Object, state: Mapping[str, _Objects]) -> str:
    """Return the title of the controller of an object, and of its controller in turn."""
    owners = {uid: each for kind in _OWNERS for uid, each in state[kind].items()}
    for _ in _OWNERS:  # owners can be a cycle
        references = obj["metadata"].get("ownerReferences") or ()
        uid = next((each.get("uid") for each in references if each.get("controller")), None)
        if uid not in owners:
            break
        obj = owners[uid]
    return _title(obj)


def _title(obj: Object) -> str:
    return _named({"kind": obj["kind"], **obj["metadata"]})


def _named(reference: Object) -> str:
    place = f"{reference['namespace']}/" if reference.get("namespace") else ""
    return f"{reference.get('kind', '')} {place}{reference.get('name', '')}"
