"""Pools of devices, as a node sees them: the newest generation of the slices of each pool.

A pool of which slices are missing is incomplete, one that contradicts itself is invalid; neither
offers devices. Follows structured/internal/incubating/pools_incubating.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import matching

PoolName = tuple[str, str]
"""Driver and pool."""
DeviceName = tuple[str, str, str]
"""Driver, pool and device."""
Counters = dict[str, Mapping[str, Object]]
"""Counter set → counter → its value."""


class Device(NamedTuple):
    """A device of a pool."""

    name: DeviceName
    object: Object
    slice: Object
    pool: "Pool"


@dataclass
class Pool:
    """The devices of one pool that a node can use."""

    name: PoolName
    is_incomplete: bool = False
    is_invalid: bool = False
    devices: list[Device] = field(default_factory=list)
    elsewhere: list[Device] = field(default_factory=list)
    """Devices of other nodes, which use the same counters."""
    counters: Counters = field(default_factory=dict)

    def __str__(self) -> str:
        return "/".join(self.name)


def pools_of(slices: Iterable[Object], node: Object) -> list[Pool]:
    """Return the pools of a node in the order of their names; those whose devices have binding
    conditions are last (GatherPools)."""
    every = list(slices)
    near: dict[PoolName, list[Object]] = {}
    for each in every:
        if _is_relevant(each["spec"], node):
            _add_newest(near, each)
    found = [pool for name, own in near.items() if (pool := _pool(name, own, every)) is not None]
    return sorted(found, key=lambda pool: (_has_conditions(pool), pool.name))


def matches_node(where: Object, node: Object) -> bool:
    """Return whether a slice or a device belongs to a node (NodeMatches)."""
    if where.get("nodeName"):
        return bool(where["nodeName"] == node["metadata"]["name"])
    if where.get("allNodes"):
        return True
    selector = where.get("nodeSelector")
    return selector is not None and matching.fits_terms(selector["nodeSelectorTerms"], node)


def _is_relevant(spec: Object, node: Object) -> bool:
    if spec.get("sharedCounters"):
        return True
    if spec.get("perDeviceNodeSelection"):
        return any(matches_node(device, node) for device in spec.get("devices") or ())
    return matches_node(spec, node)


def _pool_name(slice_: Object) -> PoolName:
    return slice_["spec"]["driver"], slice_["spec"]["pool"]["name"]


def _generation(slice_: Object) -> int:
    return int(slice_["spec"]["pool"].get("generation") or 0)


def _add_newest(pools: dict[PoolName, list[Object]], slice_: Object) -> None:
    known = pools.setdefault(_pool_name(slice_), [])
    if known and _generation(slice_) < _generation(known[0]):
        return
    if known and _generation(slice_) > _generation(known[0]):
        known.clear()
    known.append(slice_)


def _pool(name: PoolName, near: list[Object], every: list[Object]) -> Pool | None:
    """Return a pool of slices that a node can see, or None for an obsolete one."""
    wanted = near[0]["spec"]["pool"]["resourceSliceCount"]
    far: list[Object] = []
    if len(near) != wanted:
        own = [each for each in every if _pool_name(each) == name]
        if any(_generation(each) > _generation(near[0]) for each in own):
            return None
        current = [each for each in own if _generation(each) == _generation(near[0])]
        if len(current) != wanted:
            return Pool(name, is_incomplete=True)
        far = [each for each in current if each not in near]
    pool = Pool(name)
    is_valid = _add_counters(pool, near)
    pool.devices = list(_devices(pool, near))
    pool.elsewhere = list(_devices(pool, far))
    names = [device.name for device in pool.devices]
    pool.is_invalid = not is_valid or len(set(names)) < len(names) or not _counts(pool)
    return pool


def _add_counters(pool: Pool, slices: Iterable[Object]) -> bool:
    """Add the counter sets of the slices. Returns whether their names differ."""
    for each in slices:
        for counters in each["spec"].get("sharedCounters") or ():
            if counters["name"] in pool.counters:
                return False
            pool.counters[counters["name"]] = counters.get("counters") or {}
    return True


def _devices(pool: Pool, slices: Iterable[Object]) -> Iterator[Device]:
    for each in sorted(slices, key=lambda slice_: slice_["metadata"]["name"]):
        for device in each["spec"].get("devices") or ():
            yield Device((*pool.name, device["name"]), device, each, pool)


def _counts(pool: Pool) -> bool:
    """Return whether the counters that devices consume exist (validateDeviceCounterConsumption)."""
    return all(
        counter in pool.counters.get(consumed["counterSet"], {})
        for device in (*pool.devices, *pool.elsewhere)
        for consumed in device.object.get("consumesCounters") or ()
        for counter in consumed.get("counters") or ()
    )


def _has_conditions(pool: Pool) -> bool:
    return any(device.object.get("bindingConditions") for device in pool.devices)
