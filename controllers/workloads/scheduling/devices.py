"""Devices for the scheduler: the claims of a pod, the nodes that can have them, and reservations.

Follows pkg/scheduler/framework/plugins/dynamicresources, without claims of pod groups. A decision
does not await anything: chosen devices are taken at once, and written when the pod is bound.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inkube.client import Client, Object
from inkube.controllers.workloads import capacity, matching, pods, templates, writes
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.devices import (
    CLAIMS,
    CLASSES,
    FINALIZER,
    SLICES,
    extended,
    podclaims,
)
from inkube.controllers.workloads.devices.accounts import Taken
from inkube.controllers.workloads.devices.allocation import Allocator, InvalidPoolsError
from inkube.controllers.workloads.devices.requests import alternatives, place
from inkube.formats import format_time
from inkube.kinds import Change, Key, StatusError

BINDING_SECONDS = 600.0
"""The time in which drivers must fulfill binding conditions (BindingTimeout)."""
_CANNOT = "cannot allocate all claims"
_NOT_HERE = "resourceclaim not available on the node"
_ALTERNATIVES = 8
"""Alternatives of a request, at most (FirstAvailableDeviceRequestMaxSize)."""
_ATTEMPTS = 5


class UnusableClaimsError(Exception):
    """The claims of a pod prevent its scheduling on every node."""


@dataclass
class Assignment:
    """A claim, and the devices that it gets with a node."""

    claim: Object
    allocation: Object


@dataclass(frozen=True)
class Extended:
    """The claim for the extended resources of a pod, which the scheduler makes itself."""

    claim: Object
    """The claim without requests; one with requests is left from an earlier attempt."""
    spec: Object
    """The spec of the pod."""
    classes: Mapping[str, str]
    """Extended resource of the pod → name of the class that provides it."""

    @property
    def is_stale(self) -> bool:
        """Whether the claim has to be deleted before the pod can be placed."""
        return extended.is_stored(self.claim)

    def requests(self, node: Object) -> extended.Requests:
        """Return what devices must provide on a node: what the node has no number of."""
        status = node.get("status") or {}
        has = capacity.amounts(status.get("allocatable") or status.get("capacity"))
        classes = {name: each for name, each in self.classes.items() if not has.get(name)}
        return extended.requests_for(self.spec, classes)


class Plan:
    """The claims of a pod that is being placed, and their devices on each node."""

    def __init__(
        self,
        claims: list[Object],
        allocator: Allocator | None,
        failed: list[Object],
        own: Extended | None = None,
    ) -> None:
        self.claims = claims
        """The claims of the pod, in its order."""
        self.own = own
        """The claim for extended resources, if the pod needs one that is not allocated."""
        self.chosen: list[Assignment] = []
        """The unallocated claims with their devices on the chosen node."""
        self.created: Object | None = None
        """The stored claim for extended resources."""
        self.mappings: dict[str, list[Object]] = {}
        """Node → which containers use which requests of that claim."""
        self._allocator = allocator
        self._failed = failed
        self._allocations: dict[str, list[Assignment]] = {}
        self._refusals: dict[str, str] = {}
        self.unavailable: list[Object] = []
        """Allocated claims that some node cannot have, in the order in which they were found."""

    @property
    def unallocated(self) -> list[Object]:
        """The claims that have no devices yet."""
        return [each for each in self.claims if podclaims.allocation(each) is None]

    def refusal(self, node: Object) -> str:
        """Return why the node cannot have the claims, or "" if it can; computed once for a node.

        Raises AllocationError if that depends on something else than the node.
        """
        name = node["metadata"]["name"]
        if name not in self._refusals:
            self._refusals[name] = self._problem(node)
        return self._refusals[name]

    def _problem(self, node: Object) -> str:
        if self.own is not None and self.own.is_stale:
            return "cannot schedule extended resource claim"
        unallocated = self._unallocated_on(node)
        if self._allocator is not None and unallocated:
            try:
                found = self._allocator.allocate(node, unallocated)
            except InvalidPoolsError as error:
                return str(error)
            if found is None:
                return _CANNOT
            self._allocations[node["metadata"]["name"]] = [
                Assignment(claim, each) for claim, each in zip(unallocated, found, strict=True)
            ]
        away = [
            each for each in self.claims if each in self._failed or not _is_available(each, node)
        ]
        self.unavailable += [each for each in away if each not in self.unavailable]
        return _NOT_HERE if away else ""

    def _unallocated_on(self, node: Object) -> list[Object]:
        if self.own is None:
            return self.unallocated
        made = self.own.requests(node)
        if not made.requests:
            return self.unallocated
        self.mappings[node["metadata"]["name"]] = made.mappings
        spec = {"devices": {"requests": made.requests}}
        return [*self.unallocated, {**self.own.claim, "spec": spec}]

    def assignments(self, node: str) -> list[Assignment]:
        """Return the unallocated claims with their devices, on a node that was not refused."""
        return self._allocations.get(node, [])

    def score(self, node: str) -> int:
        """Return how early the chosen alternatives of requests are (computeScore)."""
        given = [(each, podclaims.allocation(each)) for each in self.claims]
        given += [(each.claim, each.allocation) for each in self.assignments(node)]
        total = 0
        for claim, allocated in given:
            names = {each["request"] for each in podclaims.results(allocated)}
            for request in claim["spec"]["devices"].get("requests") or ():
                for position, each in enumerate(request.get("firstAvailable") or ()):
                    if f"{request['name']}/{each['name']}" in names:
                        total += _ALTERNATIVES - position
        return total


class Devices:
    """Reads claims, classes and slices from caches, and writes allocations and reservations."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self._client = client
        self._clock = cluster.clock
        self._random = cluster.random
        self._claims = cluster.informer(CLAIMS)
        self._classes = cluster.informer(CLASSES)
        self._slices = cluster.informer(SLICES)
        self._pods = cluster.informer(PODS)
        self._claims_of_pod = cluster.by_controller(CLAIMS)
        self._backs_resources = cluster.server.has_feature(extended.FEATURE)
        self._classes_by_resource = self._classes.index(extended.resources_of)
        self._taken = Taken()
        self._assumed: dict[str, int] = {}
        """uid of a claim whose allocation is being written → the revision with it; 0 before the
        write. Events about earlier states do not count."""
        self._kept: set[str] = set()
        """uids of claims for extended resources whose pods wait for binding conditions."""

    def concern(self, pod: Object) -> bool:
        """Return whether a pod needs devices: it has claims, or devices provide its resources."""
        return bool(pod["spec"].get("resourceClaims")) or bool(self._classes_for(pod))

    def provide(self, resource: str) -> bool:
        """Return whether a class provides an extended resource."""
        return self._backs_resources and self._classes_by_resource.count(resource) > 0

    def _classes_for(self, pod: Object) -> dict[str, str]:
        """Return the extended resources of a pod that devices can provide, with their classes."""
        if not self._backs_resources:
            return {}
        found = {}
        for name in extended.requested_resources(pod["spec"]):
            keys = self._classes_by_resource.keys(name)
            classes = (each for key in keys if (each := self._classes.get(key)) is not None)
            best = extended.preferred(classes)
            if best is not None:
                found[name] = best["metadata"]["name"]
        return found

    def on_claim(self, change: Change) -> bool:
        """Record the devices of a claim. Returns whether it lost its allocation."""
        claim = change.object
        uid = claim["metadata"]["uid"]
        now = podclaims.allocation(change.new) if change.new is not None else None
        had = change.old is not None and podclaims.allocation(change.old) is not None
        if now is None and change.new is not None and uid in self._assumed:
            written = self._assumed[uid]
            if not written or int(claim["metadata"]["resourceVersion"]) < written:
                return False
        self._assumed.pop(uid, None)
        self._taken.set(uid, now)
        if change.new is None:
            self._kept.discard(uid)
        return had and now is None

    def gate(self, pod: Object) -> str:
        """Return why the pod cannot be scheduled before one of its claims changes, or ""
        (PreEnqueue)."""
        for _, claim, problem in self._of(pod):
            if claim is None or problem:
                return problem
        return ""

    def plan(self, pod: Object) -> Plan | None:
        """Return the plan for a pod, None for one without claims (PreFilter).

        Raises UnusableClaimsError, or AllocationError if a class does not exist.
        """
        claims = [claim for _, claim, _ in self._of(pod) if claim is not None]
        own, waiting = self._own_claim(pod)
        if not claims and own is None and waiting is None:
            return None
        fresh = [each for each in claims if podclaims.allocation(each) is None]
        for claim in fresh:
            if claim["metadata"]["uid"] in self._assumed:
                why = "is in the process of being allocated"
                raise UnusableClaimsError(f"resource claim {place(claim)} {why}")
            for request in claim["spec"]["devices"].get("requests") or ():
                list(alternatives(claim, request, self._class))
        failed = [each for each in claims if self._has_failed(each)]
        allocator = self._allocator() if fresh or own is not None else None
        plan = Plan(claims if waiting is None else [*claims, waiting], allocator, failed, own)
        plan.created = waiting
        return plan

    def _own_claim(self, pod: Object) -> tuple[Extended | None, Object | None]:
        """Return the claim to make or to delete for the extended resources of a pod, or one that
        waits for binding conditions."""
        classes = self._classes_for(pod)
        if not classes:
            return None, None
        for key in self._claims_of_pod.keys(pod["metadata"]["uid"]):
            known = self._claims.get(key)
            if known is not None and extended.is_claim_for(known, pod):
                if known["metadata"]["uid"] in self._kept and not self._has_failed(known):
                    return None, known
                return Extended(known, pod["spec"], classes), None
        new = extended.new_claim(pod, self._random.getrandbits(128))
        return Extended(new, pod["spec"], classes), None

    def assume(self, plan: Plan, node: str) -> None:
        """Take the devices of a plan on the chosen node (Reserve)."""
        plan.chosen = plan.assignments(node)
        for each in plan.chosen:
            self._take(each)

    def _take(self, assignment: Assignment) -> None:
        uid = assignment.claim["metadata"]["uid"]
        self._assumed[uid] = 0
        self._taken.set(uid, assignment.allocation)

    def forget(self, plan: Plan) -> None:
        """Give back devices that were not written (Unreserve)."""
        for each in plan.chosen:
            self._give_back(each.claim)

    def _give_back(self, claim: Object) -> None:
        uid = claim["metadata"]["uid"]
        if self._assumed.get(uid) == 0:
            del self._assumed[uid]
            self._taken.set(uid, self._current_allocation(claim))

    def _current_allocation(self, claim: Object) -> Object | None:
        known = self._claims.get(Key.of(claim))
        if known is None or known["metadata"]["uid"] != claim["metadata"]["uid"]:
            return None
        return podclaims.allocation(known)

    async def reserve(self, pod: Object, plan: Plan, node: str) -> bool:
        """Write the allocations and the reservations for a pod (PreBind).

        Returns whether drivers fulfill all binding conditions already. Raises StatusError, also if
        another client changes a claim again and again.
        """
        fresh = {each.claim["metadata"]["uid"]: each.allocation for each in plan.chosen}
        written = [
            await self._bind(claim, pod, fresh.get(claim["metadata"]["uid"]))
            for claim in plan.claims
        ]
        written += [
            await self._create(plan, each, pod, node)
            for each in plan.chosen
            if not extended.is_stored(each.claim)
        ]
        is_ready = all(binding_state(each) == "" for each in written)
        if plan.created is not None:
            self._keep(plan.created, waits=not is_ready)
        return is_ready

    async def _create(self, plan: Plan, own: Assignment, pod: Object, node: str) -> Object:
        """Create and reserve the claim for the extended resources of a pod, and tell the pod."""
        made = await self._client.create(extended.to_create(own.claim))
        plan.created = made
        before, own.claim = own.claim, made
        self._take(own)
        self._give_back(before)
        written = await self._bind(made, pod, own.allocation)
        meta = pod["metadata"]
        told = {
            "resourceClaimName": made["metadata"]["name"],
            "requestMappings": plan.mappings[node],
        }
        await self._client.patch(
            PODS,
            meta["name"],
            meta["namespace"],
            patch={
                "metadata": {"uid": meta["uid"]},
                "status": {"extendedResourceClaimStatus": told},
            },
            subresource="status",
        )
        return written

    def _keep(self, claim: Object, *, waits: bool) -> None:
        change = self._kept.add if waits else self._kept.discard
        change(claim["metadata"]["uid"])

    async def abandon(self, plan: Plan) -> None:
        """Delete the claim that was made for the extended resources of a pod (Unreserve)."""
        if plan.created is not None:
            await self._delete(plan.created)

    async def _delete(self, claim: Object) -> None:
        """Delete a claim that may be allocated. One that changes meanwhile stays until the pod is
        tried again."""
        known = self._claims.get(Key.of(claim)) or claim
        meta = known["metadata"]
        left = [each for each in meta.get("finalizers") or () if each != FINALIZER]
        bare = {**known, "metadata": {**meta, "finalizers": left}}
        if await writes.update(self._client, bare) is not None:
            await writes.delete(self._client, CLAIMS, known)

    async def release(self, plan: Plan, pod: Object) -> str:
        """Release an unavailable claim that no other pod uses, or delete an earlier one for
        extended resources (PostFilter). Returns what was done, or "" if there is no such claim."""
        for claim in plan.unavailable:
            status = claim["status"]
            others = [
                each
                for each in status.get("reservedFor") or ()
                if each["uid"] != pod["metadata"]["uid"]
            ]
            if not others:
                left = {
                    name: value
                    for name, value in status.items()
                    if name not in ("reservedFor", "allocation", "devices")
                }
                await self._client.update({**claim, "status": left}, subresource="status")
                return "deallocation of ResourceClaim completed"
        if plan.own is not None and plan.own.is_stale:
            await self._delete(plan.own.claim)
            return "deletion of ResourceClaim completed"
        return ""

    def seconds_to_wait(self, plan: Plan) -> float:
        """Return seconds until the binding conditions of a plan time out."""
        return BINDING_SECONDS - max((self._age(each) for each in plan.claims), default=0.0)

    def _has_failed(self, claim: Object) -> bool:
        """Return whether a driver failed to bind a device, or did not answer in time."""
        state = binding_state(claim)
        return state == "failed" or (state == "pending" and self._age(claim) >= BINDING_SECONDS)

    def _age(self, claim: Object) -> float:
        told = (podclaims.allocation(claim) or {}).get("allocationTimestamp")
        return (self._clock.now() - pods.moment(told)).total_seconds() if told else 0.0

    # --- claims

    def _of(self, pod: Object) -> Iterator[tuple[str, Object | None, str]]:
        """Yield the entry, the claim and its problem, for each claim that the pod needs."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        for each in podclaims.named(pod):
            if each.is_missing:
                what = "ResourceClaim not created yet"
                yield each.entry, None, f'pod "{namespace}/{name}": {what}'
            elif each.name is not None:
                yield each.entry, *self._find(pod, each)

    def _find(self, pod: Object, each: podclaims.Named) -> tuple[Object | None, str]:
        claim = self._claims.get(Key(pod["metadata"]["namespace"], each.name or ""))
        if claim is None:
            return None, f'resourceclaim.resource.k8s.io "{each.name}" not found'
        if pods.is_deleting(claim):
            return claim, f'resourceclaim "{each.name}" is being deleted'
        return claim, podclaims.ownership_problem(pod, claim) if each.is_generated else ""

    def _class(self, name: str) -> Object | None:
        return self._classes.get(Key("", name))

    def _allocator(self) -> Allocator:
        return Allocator(self._slices.items(), self._taken, self._class, self._new_share)

    def _new_share(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    async def _bind(self, claim: Object, pod: Object, allocated: Object | None) -> Object:
        """Write the allocation and the reservation of a claim (bindClaim)."""
        for attempt in range(_ATTEMPTS):
            if podclaims.is_reserved(claim, pod) and allocated is None:
                return claim
            if pods.is_deleting(claim) or (allocated and podclaims.allocation(claim)):
                raise StatusError(409, "Conflict", f"claim {place(claim)} changed in the meantime")
            try:
                return await self._write(claim, pod, allocated)
            except StatusError as error:
                if error.code != 409 or attempt == _ATTEMPTS - 1:
                    raise
            meta = claim["metadata"]
            claim = await self._client.get(CLAIMS, meta["name"], meta["namespace"])
        raise AssertionError("the last attempt returns or raises")

    async def _write(self, claim: Object, pod: Object, allocated: Object | None) -> Object:
        changed = templates.copy(claim)
        finalizers = changed["metadata"].setdefault("finalizers", [])
        if allocated is not None and FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
            changed = templates.copy(await self._client.update(changed))
        status = changed.setdefault("status", {})
        if allocated is not None:
            now = format_time(self._clock.now())
            status["allocation"] = {**allocated, "allocationTimestamp": now}
        status["reservedFor"] = [*(status.get("reservedFor") or ()), podclaims.consumer(pod)]
        written = await self._client.update(changed, subresource="status")
        if written["metadata"]["uid"] in self._assumed:
            revision = int(written["metadata"]["resourceVersion"])
            self._assumed[written["metadata"]["uid"]] = revision
        return written


def binding_state(claim: Object) -> str:
    """Return "" if a claim needs no binding conditions or its driver fulfilled them, "pending", or
    "failed" (isClaimReadyForBinding)."""
    status = claim.get("status") or {}
    reports = {_name(each): each.get("conditions") or [] for each in status.get("devices") or ()}
    state = ""
    for result in podclaims.results(podclaims.allocation(claim)):
        wanted = result.get("bindingConditions") or []
        if not wanted:
            continue
        true = {one["type"] for one in reports.get(_name(result), ()) if one["status"] == "True"}
        if not true.isdisjoint(result.get("bindingFailureConditions") or ()):
            return "failed"
        if not true.issuperset(wanted):
            state = "pending"
    return state


def _name(device: Object) -> tuple[str, str, str]:
    return device["driver"], device["pool"], device["device"]


def _is_available(claim: Object, node: Object) -> bool:
    selector = (podclaims.allocation(claim) or {}).get("nodeSelector")
    return selector is None or matching.fits_terms(selector["nodeSelectorTerms"], node)
