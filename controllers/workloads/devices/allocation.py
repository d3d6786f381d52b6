"""The allocation of devices to claims on one node: a search with backtracking.

Devices are tried in the order of their pools, slices and positions, alternatives of a request in
the order of `firstAvailable`, and the first solution wins. Follows
structured/internal/incubating/allocator_incubating.go; constraints for distinct values compare all
devices of a request, where upstream forgets some of them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads.devices.accounts import (
    Budgets,
    Quantity,
    Taken,
    consumed,
    exceeds,
)
from inkube.controllers.workloads.devices.pools import Device, DeviceName, Pool, pools_of
from inkube.controllers.workloads.devices.requests import (
    AllocationError,
    Constraint,
    FindClass,
    Request,
    alternatives,
    place,
)

MAX_DEVICES = 32
"""Devices of one claim, at most (AllocationResultsMaxSize)."""
MAX_ATTEMPTS = 50_000
"""Devices that a search tries, at most. Upstream's limit is a time: ten seconds for a node."""


class InvalidPoolsError(Exception):
    """The claims do not fit, and pools of the node contradict themselves."""

    def __init__(self) -> None:
        super().__init__("invalid resource pools were encountered")


@dataclass
class Choice:
    """A device for a request."""

    request: Request
    device: Device
    share: dict[str, Quantity] | None
    """The consumed capacity of a device that can be shared; None if the claim has it alone."""
    counts: bool
    """Whether it consumes counters of the pool."""


class _At(NamedTuple):
    """A place in the search: what has to be chosen next."""

    claim: int
    request: int = 0
    chosen: Request | None = None
    number: int = 0
    """The number of devices that the chosen alternative already has."""
    start: int = 0
    """The first candidate to try: combinations of devices, not permutations."""


class Allocator:
    """Allocates devices, with what is taken already. It serves one decision of a scheduler."""

    def __init__(
        self,
        slices: Iterable[Object],
        taken: Taken,
        find_class: FindClass,
        new_share: Callable[[], str],
    ) -> None:
        self._slices = list(slices)
        self._taken = taken
        self._find_class = find_class
        self._new_share = new_share

    def allocate(self, node: Object, claims: list[Object]) -> list[Object] | None:
        """Return an AllocationResult for each claim, or None if the node cannot have them all.

        Raises AllocationError, or InvalidPoolsError if that can be the reason.
        """
        pools = pools_of(self._slices, node)
        search = _Search(node, claims, pools, self._taken, self._find_class)
        if search.run():
            return [search.result(number, self._new_share) for number in range(len(claims))]
        if any(pool.is_invalid for pool in pools):
            raise InvalidPoolsError
        return None


class _Search:
    def __init__(
        self,
        node: Object,
        claims: list[Object],
        pools: list[Pool],
        taken: Taken,
        find_class: FindClass,
    ) -> None:
        self._node = node
        self._claims = claims
        self._pools = pools
        self._taken = taken
        self._budgets = Budgets(taken)
        usable = (pool for pool in pools if not pool.is_incomplete and not pool.is_invalid)
        self._candidates = [device for pool in usable for device in pool.devices]
        self._requests = [
            [list(alternatives(claim, each, find_class)) for each in _requests_of(claim)]
            for claim in claims
        ]
        self._constraints = [
            [Constraint(each) for each in claim["spec"]["devices"].get("constraints") or ()]
            for claim in claims
        ]
        self._attempts = 0
        self._choices: list[list[Choice]] = [[] for _ in claims]
        self._chosen: dict[tuple[int, int], Request] = {}
        self._holders: dict[DeviceName, list[int]] = {}
        """Device that a claim of this search has alone → the claims."""
        self._shares: dict[DeviceName, list[dict[str, Quantity]]] = {}

    def run(self) -> bool:
        """Search. Returns whether there is a solution. Raises AllocationError."""
        self._prepare()
        pending = [self._options(_At(0))]
        while pending:
            at = next(pending[-1], None)
            if at is None:
                pending.pop()
            elif at.claim == len(self._claims):
                return True
            else:
                pending.append(self._options(at))
        return False

    def _prepare(self) -> None:
        """Find the devices of requests for all of them, and check the size of results
        (validateDeviceRequest)."""
        for claim, requests in zip(self._claims, self._requests, strict=True):
            for request in (each for options in requests for each in options):
                if request.wants_all:
                    request.devices = self._all_devices(request)
            least = sum(min(each.count for each in options) for options in requests)
            if least > MAX_DEVICES:
                what = f"number of requested devices {least} exceeds the claim limit"
                raise AllocationError(f"claim {place(claim)}: {what} of {MAX_DEVICES}")

    def _all_devices(self, request: Request) -> list[Device]:
        found = []
        for pool in self._pools:
            if pool.is_incomplete or pool.is_invalid:
                state = "currently invalid"
                if pool.is_incomplete:
                    state = "currently being updated"
                why = f"asks for all devices, but resource pool {pool} is {state}"
                raise AllocationError(f"claim {place(request.claim)}, request {request.own}: {why}")
            found += [
                device
                for device in pool.devices
                if request.selects(device, self._node) and self._has_capacity(request, device)
            ]
        return found

    # --- the search

    def _options(self, at: _At) -> Iterator[_At]:
        """Yield the next place after each choice that is possible; undo the choice when resumed."""
        if at.claim == len(self._claims):
            yield at
        elif at.request == len(self._requests[at.claim]):
            yield _At(at.claim + 1)
        elif at.chosen is None:
            for each in self._requests[at.claim][at.request]:
                if self._has_room(at, each):
                    self._chosen[at.claim, at.request] = each
                    yield at._replace(chosen=each)
        elif at.number < at.chosen.count:
            yield from self._devices(at, at.chosen)
        elif at.chosen.count:
            yield _At(at.claim, at.request + 1)

    def _has_room(self, at: _At, request: Request) -> bool:
        """Return whether a result can have the devices of an alternative and of later requests."""
        later = self._requests[at.claim][at.request + 1 :]
        rest = sum(min(each.count for each in options) for options in later)
        return len(self._choices[at.claim]) + request.count + rest <= MAX_DEVICES

    def _devices(self, at: _At, request: Request) -> Iterator[_At]:
        if request.wants_all:
            places, candidates = range(at.number, at.number + 1), request.devices
        else:
            places, candidates = range(at.start, len(self._candidates)), self._candidates
        for number in places:
            if self._take(at.claim, request, candidates[number]):
                yield at._replace(number=at.number + 1, start=number + 1)
                self._give_back(at.claim)

    def _take(self, claim: int, request: Request, device: Device) -> bool:
        """Choose a device for a request, if that is possible (allocateDevice)."""
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            host = self._node["metadata"]["name"]
            raise AllocationError(f"node {host}: timed out trying to allocate devices")
        name, obj = device.name, device.object
        if self._is_in_use(claim, request, name):
            return False
        if not (request.selects(device, self._node) and self._has_capacity(request, device)):
            return False
        is_shared = bool(obj.get("allowMultipleAllocations"))
        counts = bool(obj.get("consumesCounters")) and not (is_shared and self._is_shared(name))
        # before the constraints, which can be an error of the claim
        if counts and not self._budgets.consume(device):
            return False
        if not (request.tolerates(obj) and self._satisfies(claim, request, device)):
            if counts:
                self._budgets.release(device)
            return False
        share = consumed(obj, request.spec.get("capacity")) if is_shared else None
        if share is None:
            self._holders.setdefault(name, []).append(claim)
        else:
            self._shares.setdefault(name, []).append(share)
        self._choices[claim].append(Choice(request, device, share, counts))
        return True

    def _give_back(self, claim: int) -> None:
        choice = self._choices[claim].pop()
        holders = self._holders if choice.share is None else self._shares
        holders[choice.device.name].pop()
        if choice.counts:
            self._budgets.release(choice.device)
        _remove(choice.request, self._constraints[claim])

    def _is_in_use(self, claim: int, request: Request, name: DeviceName) -> bool:
        if request.is_admin:
            return claim in self._holders.get(name, ())
        return self._taken.has(name) or bool(self._holders.get(name))

    def _is_shared(self, name: DeviceName) -> bool:
        return bool(self._taken.capacity(name)) or bool(self._shares.get(name))

    def _has_capacity(self, request: Request, device: Device) -> bool:
        share = consumed(device.object, request.spec.get("capacity"))
        if share is None:
            return False
        used = (self._taken.capacity(device.name), *self._shares.get(device.name, ()))
        return not exceeds(device.object, (share, *used))

    def _satisfies(self, claim: int, request: Request, device: Device) -> bool:
        """Add a device to the constraints of its claim, if all hold with it."""
        added: list[Constraint] = []
        for each in self._constraints[claim]:
            if not each.add(request, device):
                _remove(request, added)
                if request.wants_all:
                    why = "because a claim constraint would not be satisfied"
                    what = f"cannot add device {'/'.join(device.name)} {why}"
                    whose = f"claim {place(request.claim)}, request {request.own}"
                    raise AllocationError(f"{whose}: {what}")
                return False
            added.append(each)
        return True

    # --- the result

    def result(self, number: int, new_share: Callable[[], str]) -> Object:
        """Return the AllocationResult of a claim after a successful search."""
        choices = self._choices[number]
        devices: Object = {"results": [_result(each, new_share) for each in choices]}
        chosen = [self._chosen[number, at] for at in range(len(self._requests[number]))]
        config = [*_class_config(chosen), *_claim_config(self._claims[number], chosen)]
        if config:
            devices["config"] = config
        made: Object = {"devices": devices}
        selector = _node_selector(choices, self._node["metadata"]["name"])
        if selector is not None:
            made["nodeSelector"] = selector
        return made


def _remove(request: Request, constraints: list[Constraint]) -> None:
    """Remove the device that was added last from constraints."""
    for each in constraints:
        each.remove(request)


def _requests_of(claim: Object) -> list[Object]:
    found: list[Object] = claim["spec"]["devices"].get("requests") or []
    return found


def _result(choice: Choice, new_share: Callable[[], str]) -> Object:
    """Return a DeviceRequestAllocationResult."""
    request, device = choice.request, choice.device
    driver, pool, name = device.name
    made: Object = {"request": request.name, "driver": driver, "pool": pool, "device": name}
    if request.is_admin:
        made["adminAccess"] = True
    if request.spec.get("tolerations"):
        made["tolerations"] = request.spec["tolerations"]
    for member in ("bindingConditions", "bindingFailureConditions"):
        if device.object.get(member):
            made[member] = device.object[member]
    if choice.share is not None:
        made["shareID"] = new_share()
        if choice.share:
            made["consumedCapacity"] = {key: str(value) for key, value in choice.share.items()}
    return made


def _class_config(chosen: list[Request]) -> Iterator[Object]:
    """Yield the configurations of classes, each once for all requests with the class."""
    by_class: dict[str, list[Request]] = {}
    for request in chosen:
        by_class.setdefault(request.device_class["metadata"]["name"], []).append(request)
    for requests in by_class.values():
        for each in (requests[0].device_class.get("spec") or {}).get("config") or ():
            yield {"source": "FromClass", "requests": [one.name for one in requests], **each}


def _claim_config(claim: Object, chosen: list[Request]) -> Iterator[Object]:
    """Yield the configurations of a claim; one for each request to which they belong."""
    for each in claim["spec"]["devices"].get("config") or ():
        named = each.get("requests")
        if not named:
            yield {"source": "FromClaim", **each}
        for request in chosen:
            if named and not {*named}.isdisjoint(request.names()):
                yield {"source": "FromClaim", **each}


def _node_selector(choices: list[Choice], node: str) -> Object | None:
    """Return the nodes on which the devices can be used; None for all (createNodeSelector)."""
    term: Object = {}
    for each in choices:
        spec = each.device.slice["spec"]
        where = each.device.object if spec.get("perDeviceNodeSelection") else spec
        if where.get("nodeName") or each.device.object.get("bindsToNode"):
            own = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [own]}]}
        for terms in (where.get("nodeSelector") or {}).get("nodeSelectorTerms") or ():
            for member in ("matchFields", "matchExpressions"):
                known = term.setdefault(member, [])
                known += [one for one in terms.get(member) or () if one not in known]
    term = {member: found for member, found in term.items() if found}
    return {"nodeSelectorTerms": [term]} if term else None
