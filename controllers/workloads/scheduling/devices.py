"""Devices for the scheduler: the claims of a pod, the nodes that can have them, and reservations.

Follows pkg/scheduler/framework/plugins/dynamicresources, without claims of pod groups. A decision
does not await anything: chosen devices are taken at once, and written when the pod is bound.
"""

import uuid
from collections.abc import Iterator

from inkube.client import Client, Object
from inkube.controllers.workloads import matching, pods, templates
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.devices import CLAIMS, CLASSES, FINALIZER, SLICES, podclaims
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


class Plan:
    """The claims of a pod that is being placed, and their devices on each node."""

    def __init__(
        self, claims: list[Object], allocator: Allocator | None, failed: list[Object]
    ) -> None:
        self.claims = claims
        """The claims of the pod, in its order."""
        self._allocator = allocator
        self._failed = failed
        self._allocations: dict[str, list[Object]] = {}
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
        if self._allocator is not None:
            try:
                found = self._allocator.allocate(node, self.unallocated)
            except InvalidPoolsError as error:
                return str(error)
            if found is None:
                return _CANNOT
            self._allocations[node["metadata"]["name"]] = found
        away = [
            each for each in self.claims if each in self._failed or not _is_available(each, node)
        ]
        self.unavailable += [each for each in away if each not in self.unavailable]
        return _NOT_HERE if away else ""

    def allocations(self, node: str) -> list[Object]:
        """Return the allocations of the unallocated claims, on a node that was not refused."""
        return self._allocations.get(node, [])

    def score(self, node: str) -> int:
        """Return how early the chosen alternatives of requests are (computeScore)."""
        fresh = iter(self.allocations(node))
        total = 0
        for claim in self.claims:
            allocated = podclaims.allocation(claim) or next(fresh, None)
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
        self._taken = Taken()
        self._assumed: dict[str, int] = {}
        """uid of a claim whose allocation is being written → the revision with it; 0 before the
        write. Events about earlier states do not count."""

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
        if not pod["spec"].get("resourceClaims"):
            return None
        claims = [claim for _, claim, _ in self._of(pod) if claim is not None]
        if not claims:
            return None
        fresh = [each for each in claims if podclaims.allocation(each) is None]
        for claim in fresh:
            if claim["metadata"]["uid"] in self._assumed:
                why = "is in the process of being allocated"
                raise UnusableClaimsError(f"resource claim {place(claim)} {why}")
            for request in claim["spec"]["devices"].get("requests") or ():
                list(alternatives(claim, request, self._class))
        failed = [each for each in claims if self._has_failed(each)]
        return Plan(claims, self._allocator() if fresh else None, failed)

    def assume(self, plan: Plan, node: str) -> None:
        """Take the devices of a plan on the chosen node (Reserve)."""
        for claim, allocated in zip(plan.unallocated, plan.allocations(node), strict=True):
            uid = claim["metadata"]["uid"]
            self._assumed[uid] = 0
            self._taken.set(uid, allocated)

    def forget(self, plan: Plan) -> None:
        """Give back devices that were not written (Unreserve)."""
        for claim in plan.unallocated:
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
        fresh = dict(
            zip(
                (each["metadata"]["uid"] for each in plan.unallocated),
                plan.allocations(node),
                strict=True,
            )
        )
        written = [
            await self._bind(claim, pod, fresh.get(claim["metadata"]["uid"]))
            for claim in plan.claims
        ]
        return all(binding_state(each) == "" for each in written)

    async def release(self, plan: Plan, pod: Object) -> bool:
        """Release an unavailable claim that no other pod uses (PostFilter). Returns whether there
        was one."""
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
                return True
        return False

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
