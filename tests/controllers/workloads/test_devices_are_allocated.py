"""Laws of the allocation of devices, for any pools, claims and order of allocations and releases.

No device is given twice, every device satisfies its class, request, node and taints, constraints
hold, counters and capacities suffice, a release gives everything back, and a claim that could be
allocated is.
"""

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.controllers.workloads.devices.accounts import Taken
from inkube.controllers.workloads.devices.allocation import Allocator, InvalidPoolsError
from inkube.controllers.workloads.devices.requests import AllocationError

DRIVER = "d.example.com"
NODES = [
    {"metadata": {"name": name, "labels": {"zone": zone}}}
    for name, zone in (("n1", "a"), ("n2", "b"))
]
CLASSES: dict[str, dict[str, Any]] = {
    "any": {"metadata": {"name": "any"}, "spec": {}},
    "large": {
        "metadata": {"name": "large"},
        "spec": {
            "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].size >= 2'}}],
            "config": [{"opaque": {"driver": DRIVER, "parameters": {"a": 1}}}],
        },
    },
}
TAINT = {"key": "bad", "effect": "NoSchedule"}
TOLERATES = [{"key": "bad", "operator": "Exists"}]
COUNTERS = {"memory": {"value": "40Gi"}}


def find_class(name: str) -> dict[str, Any] | None:
    return CLASSES.get(name)


@st.composite
def devices(draw, name):
    made = {
        "name": name,
        "attributes": {
            "size": {"int": draw(st.integers(1, 3))},
            "root": {"string": draw(st.sampled_from("xy"))},
        },
    }
    if draw(st.integers(0, 3)) == 0:
        made["taints"] = [TAINT]
    if draw(st.integers(0, 3)):
        memory = {"memory": {"value": draw(st.sampled_from(["10Gi", "20Gi", "30Gi"]))}}
        made["consumesCounters"] = [{"counterSet": "card", "counters": memory}]
    if draw(st.integers(0, 2)) == 0:
        made["allowMultipleAllocations"] = True
        made["capacity"] = {"memory": {"value": "8Gi"}}
    return made


@st.composite
def slices(draw):
    """A pool with counters for one node, and a pool of a zone."""
    own = [draw(devices(f"own-{i}")) for i in range(draw(st.integers(2, 6)))]
    far = [draw(devices(f"far-{i}")) for i in range(draw(st.integers(0, 3)))]
    for each in far:
        each.pop("consumesCounters", None)
    zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    return [
        slice_of("own", own, pool=pool, nodeName="n1"),
        slice_of(
            "counters", [], pool=pool, nodeName="n1",
            sharedCounters=[{"name": "card", "counters": COUNTERS}],
        ),
        slice_of("zone", far, nodeSelector={"nodeSelectorTerms": [zone]}),
    ]  # fmt: skip


def slice_of(name, devices, pool=None, **spec):
    pool = pool or {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "devices": devices, **spec}
    return {"metadata": {"name": name}, "spec": spec}


@st.composite
def exact(draw, name="", *, alternative=False):
    made = {"deviceClassName": draw(st.sampled_from(["any", "large"]))}
    if draw(st.integers(0, 5)) == 0:
        made["allocationMode"] = "All"
    else:
        made |= {"allocationMode": "ExactCount", "count": draw(st.integers(1, 2))}
    if draw(st.booleans()):
        made["tolerations"] = TOLERATES
    if draw(st.integers(0, 2)) == 0:
        text = f'device.attributes["{DRIVER}"].root == "x"'
        made["selectors"] = [{"cel": {"expression": text}}]
    if draw(st.integers(0, 5)) == 0:
        made["capacity"] = {"requests": {"memory": draw(st.sampled_from(["3Gi", "8Gi", "9Gi"]))}}
    if not alternative and draw(st.integers(0, 5)) == 0:
        made["adminAccess"] = True
    return {"name": name, **made} if alternative else made


@st.composite
def claims(draw):
    requests = []
    for i in range(draw(st.sampled_from([1, 1, 2]))):
        if draw(st.integers(0, 2)):
            requests.append({"name": f"r{i}", "exactly": draw(exact())})
        else:
            options = [draw(exact(name, alternative=True)) for name in ("a", "b")]
            requests.append({"name": f"r{i}", "firstAvailable": options})
    made = {"requests": requests}
    kind = draw(st.sampled_from(["", "", "matchAttribute", "distinctAttribute"]))
    if kind:
        made["constraints"] = [{kind: f"{DRIVER}/root"}]
    return {"metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": made}}


def amount(text):
    return int(str(text).removesuffix("Gi"))


def spec_of(claim, result):
    base, _, sub = result["request"].partition("/")
    [request] = [one for one in claim["spec"]["devices"]["requests"] if one["name"] == base]
    if not sub:
        return request["exactly"]
    return next(one for one in request["firstAvailable"] if one["name"] == sub)


def check(known, live):
    """Check every law over all live allocations."""
    whole, shares, memory, used = Counter(), Counter(), 0, set()
    for claim, node, allocation in live:
        values = []
        mine = [(one["pool"], one["device"]) for one in allocation["devices"]["results"]]
        for result, key in zip(allocation["devices"]["results"], mine, strict=True):
            slice_, device = known[key]
            spec = spec_of(claim, result)
            attributes = device["attributes"]
            assert slice_["spec"].get("nodeName", node) == node
            assert spec["deviceClassName"] == "any" or attributes["size"]["int"] >= 2
            assert not spec.get("selectors") or attributes["root"]["string"] == "x"
            assert "taints" not in device or spec.get("tolerations")
            values.append(attributes["root"]["string"])
            if result.get("adminAccess"):
                assert spec["adminAccess"]
                continue
            used.add(key)
            if device.get("allowMultipleAllocations"):
                shares[key] += amount(result["consumedCapacity"]["memory"])
            else:
                whole[key] += 1
        [kind] = [*claim["spec"]["devices"].get("constraints", [{}])][:1]
        assert "matchAttribute" not in kind or len(set(values)) <= 1
        assert "distinctAttribute" not in kind or len(set(values)) == len(values)
        for request in claim["spec"]["devices"]["requests"]:
            check_counts(request, allocation["devices"]["results"])
    assert all(count == 1 for count in whole.values()), whole
    assert all(total <= 8 for total in shares.values()), shares
    for key in used:
        for each in known[key][1].get("consumesCounters", ()):
            memory += amount(each["counters"]["memory"]["value"])
    assert memory <= 40


def check_counts(request, results):
    """Check that exactly one alternative of a request has its number of devices."""
    names = Counter(one["request"] for one in results)
    if "exactly" in request:
        options = {request["name"]: request["exactly"]}
    else:
        options = {f"{request['name']}/{one['name']}": one for one in request["firstAvailable"]}
    [chosen] = [name for name in options if names[name]]
    if options[chosen]["allocationMode"] != "All":
        assert names[chosen] == options[chosen]["count"]


PLACES = st.sampled_from([0, 0, 1])


@settings(max_examples=100, deadline=None)
@given(slices(), st.lists(st.tuples(claims(), PLACES, st.booleans()), min_size=2, max_size=7))
def test_the_laws_hold_after_every_allocation_and_release(found, steps):
    known = {
        (one["spec"]["pool"]["name"], device["name"]): (one, device)
        for one in found
        for device in one["spec"]["devices"]
    }
    taken, live, shares = Taken(), {}, itertools.count()
    for number, (claim, place, is_released) in enumerate(steps):
        allocator = Allocator(found, taken, find_class, lambda: str(next(shares)))
        node = NODES[place]
        try:
            allocated = allocator.allocate(node, [claim])
        except (AllocationError, InvalidPoolsError):
            allocated = None
        if allocated is not None:
            taken.set(str(number), allocated[0])
            live[str(number)] = (claim, node["metadata"]["name"], allocated[0])
        check(known, live.values())
        if is_released and live:
            uid = next(iter(live))
            taken.set(uid, None)
            del live[uid]
    for uid in live:
        taken.set(uid, None)
    for claim, place, _ in steps:
        assert outcome(found, taken, claim, NODES[place]) == outcome(
            found, Taken(), claim, NODES[place]
        )


def outcome(found, taken, claim, node):
    try:
        return Allocator(found, taken, find_class, lambda: "s").allocate(node, [claim])
    except (AllocationError, InvalidPoolsError) as error:
        return str(error)


def plain(name, root, size, **more):
    return {
        "name": name,
        "attributes": {"root": {"string": root}, "size": {"int": size}},
        **more,
    }


REQUESTS = st.tuples(st.sampled_from(["any", "large"]), st.integers(1, 2))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 3)), max_size=4),
    st.lists(REQUESTS, min_size=1, max_size=3),
    st.sampled_from(["", "matchAttribute", "distinctAttribute"]),
)
def test_a_claim_is_allocated_exactly_if_that_is_possible(found, wanted, constraint):
    offered = [plain(f"d{i}", root, size) for i, (root, size) in enumerate(found)]
    requests = [
        {"name": f"r{i}", "exactly": {"deviceClassName": name, "count": count}}
        for i, (name, count) in enumerate(wanted)
    ]
    spec = {"requests": requests}
    if constraint:
        spec["constraints"] = [{constraint: f"{DRIVER}/root"}]
    claim = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": spec}}
    needs = [name for name, count in wanted for _ in range(count)]

    def fits(chosen):
        roots = [one["attributes"]["root"]["string"] for one in chosen]
        if constraint == "matchAttribute" and len(set(roots)) > 1:
            return False
        if constraint == "distinctAttribute" and len(set(roots)) < len(roots):
            return False
        return all(
            need == "any" or one["attributes"]["size"]["int"] >= 2
            for need, one in zip(needs, chosen, strict=True)
        )

    possible = any(map(fits, itertools.permutations(offered, len(needs))))
    slices = [slice_of("s", offered, allNodes=True)]
    assert (outcome(slices, Taken(), claim, NODES[0]) is not None) == possible


def claim_of(*requests, **devices):
    spec = {"devices": {"requests": list(requests), **devices}}
    return {"metadata": {"name": "c", "namespace": "default"}, "spec": spec}


def request(name="r", **spec):
    return {"name": name, "exactly": {"deviceClassName": "any", "count": 1, **spec}}


UPDATED = f"asks for all devices, but resource pool {DRIVER}/p is currently being updated"
TWO = {"name": "p", "generation": 2, "resourceSliceCount": 2}


@pytest.mark.parametrize(
    ("found", "wanted", "text"),
    [
        (
            [slice_of("s", [plain("a", "x", 1)], pool=TWO, allNodes=True)],
            request(allocationMode="All"),
            f"claim default/c, request r: {UPDATED}",
        ),
        (
            [slice_of("s", [plain("a", "x", 1), plain("a", "x", 1)], allNodes=True)],
            request(),
            "invalid resource pools were encountered",
        ),
        (
            [slice_of("s", [], allNodes=True)],
            request(count=33),
            "claim default/c: number of requested devices 33 exceeds the claim limit of 32",
        ),
        (
            [slice_of("s", [plain("a", "x", 1)], pool=TWO, allNodes=True)],
            request(),
            None,
        ),
    ],
)
def test_pools_that_cannot_serve_are_named(found, wanted, text):
    assert outcome(found, Taken(), claim_of(wanted), NODES[0]) == text


def test_only_the_newest_generation_of_a_pool_counts():
    old = slice_of("old", [plain("a", "x", 1)], allNodes=True)
    new = slice_of("new", [plain("b", "x", 1)], allNodes=True)
    for each, generation in ((old, 1), (new, 2)):
        pool = {"name": "p", "generation": generation, "resourceSliceCount": 1}
        each["spec"]["pool"] = pool
    [found] = outcome([old, new], Taken(), claim_of(request()), NODES[0])
    assert [one["device"] for one in found["devices"]["results"]] == ["b"]


def test_configurations_of_classes_come_before_those_of_claims():
    slices = [slice_of("s", [plain("a", "x", 2), plain("b", "x", 2)], allNodes=True)]
    own = {"requests": ["q"], "opaque": {"driver": DRIVER, "parameters": {"b": 2}}}
    wanted = [request("q", deviceClassName="large"), request("r", deviceClassName="large")]
    [found] = outcome(slices, Taken(), claim_of(*wanted, config=[own]), NODES[0])
    assert found["devices"]["config"] == [
        {
            "source": "FromClass",
            "requests": ["q", "r"],
            "opaque": {"driver": DRIVER, "parameters": {"a": 1}},
        },
        {"source": "FromClaim", **own},
    ]
    assert "nodeSelector" not in found


@pytest.mark.parametrize(
    ("policy", "asked", "consumed"),
    [
        (None, "3Gi", "3Gi"),
        (None, None, "8Gi"),
        ({"default": "2Gi", "validRange": {"min": "2Gi"}}, None, "2Gi"),
        ({"default": "2Gi", "validRange": {"min": "2Gi", "step": "2Gi"}}, "3Gi", "4Gi"),
        ({"default": "2Gi", "validRange": {"min": "2Gi", "max": "4Gi"}}, "5Gi", None),
        ({"default": "2Gi", "validValues": ["2Gi", "6Gi"]}, "3Gi", "6Gi"),
        ({"default": "2Gi", "validValues": ["2Gi", "6Gi"]}, "7Gi", None),
    ],
)
def test_a_share_consumes_what_the_policy_of_its_capacity_allows(policy, asked, consumed):
    capacity = {"memory": {"value": "8Gi", **({"requestPolicy": policy} if policy else {})}}
    device = plain("a", "x", 1, allowMultipleAllocations=True, capacity=capacity)
    wanted = request(**({"capacity": {"requests": {"memory": asked}}} if asked else {}))
    found = outcome([slice_of("s", [device], allNodes=True)], Taken(), claim_of(wanted), NODES[0])
    shares = [one for each in found or () for one in each["devices"]["results"]]
    assert [one["consumedCapacity"]["memory"] for one in shares] == ([consumed] if consumed else [])


def test_a_search_without_end_is_given_up():
    same = {"matchAttribute": f"{DRIVER}/root"}
    offered = [plain(f"d{i}", "xyz"[i % 3], 1) for i in range(48)]
    slices = [slice_of("s", offered, allNodes=True)]
    wanted = claim_of(request(count=17), constraints=[same])
    assert outcome(slices, Taken(), wanted, NODES[0]) == (
        "node n1: timed out trying to allocate devices"
    )


def partitions(*sizes):
    """A pool of partitions of one card with 40Gi."""
    pool = {"name": "card", "generation": 1, "resourceSliceCount": 2}
    offered = [
        plain(
            f"d{i}", "x", 1,
            consumesCounters=[{"counterSet": "card", "counters": {"memory": {"value": size}}}],
        )
        for i, size in enumerate(sizes)
    ]  # fmt: skip
    counters = [{"name": "card", "counters": COUNTERS}]
    return [
        slice_of("devices", offered, pool=pool, nodeName="n1"),
        slice_of("counters", [], pool=pool, nodeName="n1", sharedCounters=counters),
    ]


def test_partitions_of_a_card_share_its_counters():
    slices, taken = partitions("20Gi", "30Gi", "20Gi", "10Gi"), Taken()
    assert outcome(slices, taken, claim_of(request(count=4)), NODES[0]) is None
    [found] = outcome(slices, taken, claim_of(request(count=2)), NODES[0])
    assert [one["device"] for one in found["devices"]["results"]] == ["d0", "d2"]
    taken.set("a", found)
    assert outcome(slices, taken, claim_of(request()), NODES[0]) is None
    taken.set("a", None)
    [found] = outcome(slices, taken, claim_of(request(count=2)), NODES[0])
    assert [one["device"] for one in found["devices"]["results"]] == ["d0", "d2"]


@pytest.mark.parametrize(("memory", "is_error"), [("30Gi", False), ("20Gi", True)])
def test_counters_are_compared_before_constraints(memory, is_error):
    """That all devices contradict a constraint is an error of the claim, if they suffice."""
    slices = partitions(memory, memory)
    distinct = [{"distinctAttribute": f"{DRIVER}/root"}]
    claim = claim_of(request(allocationMode="All"), constraints=distinct)
    found = outcome(slices, Taken(), claim, NODES[0])
    assert found == (
        f"claim default/c, request r: cannot add device {DRIVER}/card/d1 because a claim "
        "constraint would not be satisfied"
        if is_error
        else None
    )
