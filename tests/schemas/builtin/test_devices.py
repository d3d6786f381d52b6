"""Device classes, claims and slices: validation, defaults and stored fields."""

import pytest

from inkube.schemas.builtin.rules.calls import deviceselectors

NESTED = "device.attributes.all(a, " * 4 + 'a == "x"' + ")" * 4


def claim(*requests, **devices):
    return {"spec": {"devices": {"requests": list(requests), **devices}}}


def request(name, **exactly):
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def device_slice(*devices, **spec):
    return {
        "metadata": {"namespace": ""},
        "spec": {
            "driver": "d.example.com",
            "allNodes": True,
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices),
            **spec,
        },
    }


def fields(kinds, kind, obj):
    return [text.partition(": ")[0] for text in kinds.texts(kind, obj)]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (claim(request("a")), []),
        (claim(request("a"), request("a")), ["spec.devices.requests[1]"]),
        (claim({"name": "a"}), ["spec.devices.requests[0]"]),
        (
            claim(request("a", allocationMode="All", count=2)),
            ["spec.devices.requests[0].exactly.count"],
        ),
        (claim(request("a", count=-1)), ["spec.devices.requests[0].exactly.count"]),
        (claim(request("a"), config=[{}]), ["spec.devices.config[0].opaque"]),
        (
            claim(
                {"name": "a", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]},
                constraints=[{"requests": ["a/x", "a/y"], "matchAttribute": "d.com/model"}],
            ),
            ["spec.devices.constraints[0].requests[1]"],
        ),
        (claim(*(request(f"r{i}") for i in range(33))), ["spec.devices.requests"]),
        (
            claim(request("a", tolerations=[{"operator": "Exists", "value": "x"}])),
            ["spec.devices.requests[0].exactly.tolerations[0].value"],
        ),
    ],
)
def test_claims_are_judged(kinds, obj, expected):
    assert fields(kinds, "ResourceClaim", obj) == expected


def test_an_attribute_that_is_not_given_is_none_and_an_empty_one_no_name(kinds):
    devices = claim(request("a"), constraints=[{"matchAttribute": "d.com/x"}])
    (text,) = kinds.update_texts("ResourceClaim", claim(request("a")), devices)
    assert '"MatchAttribute":"d.com/x","DistinctAttribute":null' in text
    devices["spec"]["devices"]["constraints"] = [{"distinctAttribute": ""}]
    assert fields(kinds, "ResourceClaim", devices) == (
        ["spec.devices.constraints[0].distinctAttribute"] * 2
    )


def test_expressions_of_a_class_that_did_not_change_are_not_judged_again(kinds):
    old = {"spec": {"selectors": [{"cel": {"expression": "nothing.of.it"}}]}}
    assert kinds.texts("DeviceClass", old)
    assert kinds.update_texts("DeviceClass", old, old) == []
    new = {"spec": {"selectors": [*old["spec"]["selectors"], {"cel": {"expression": "true"}}]}}
    assert len(kinds.update_texts("DeviceClass", old, new)) == 1


def test_a_template_is_judged_where_its_claim_stands(kinds):
    obj = {"spec": {"spec": claim({"name": "A"})["spec"]}}
    found = fields(kinds, "ResourceClaimTemplate", obj)
    assert set(found) == {"spec.spec.devices.requests[0]", "spec.spec.devices.requests[0].name"}


def test_a_request_is_for_one_device_of_its_class(kinds):
    made = kinds.created("ResourceClaim", claim(request("a"), request("b", allocationMode="All")))
    one, every = (each["exactly"] for each in made["spec"]["devices"]["requests"])
    assert (one["allocationMode"], one["count"], "count" in every) == ("ExactCount", 1, False)


def test_a_claim_never_changes(kinds):
    old, new = claim(request("a")), claim(request("b"))
    texts = kinds.update_texts("ResourceClaim", old, new)
    assert [text.partition(": ")[0] for text in texts] == ["spec"]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (device_slice({"name": "d", "attributes": {"a": {"version": "1.2.3-rc.1"}}}), []),
        (
            device_slice({"name": "d", "attributes": {"a": {"version": "1.2"}}}),
            ["spec.devices[0].attributes[a].version"],
        ),
        (
            device_slice({"name": "d", "attributes": {"1a": {"int": 1}}}),
            ["spec.devices[0].attributes"],
        ),
        (device_slice({"name": "d", "nodeName": "n"}), ["spec.devices[0]"]),
        (
            device_slice({"name": "d"}, allNodes=None, perDeviceNodeSelection=True),
            ["spec.devices[0]"],
        ),
        (device_slice(*({"name": f"d{i}"} for i in range(128))), []),
        (device_slice(*({"name": f"d{i}"} for i in range(129))), ["spec.devices"]),
        (
            device_slice(
                *(
                    {"name": f"d{i}", "taints": [{"key": "k", "effect": "NoSchedule"}]}
                    for i in range(65)
                )
            ),
            ["spec.devices"],
        ),
        (
            device_slice({"name": "d", "taints": [{"key": "k", "effect": "Away"}]}),
            ["spec.devices[0].taints[0].effect"],
        ),
        (
            device_slice({"name": "d", "bindingConditions": ["a"]}),
            ["spec.devices[0].bindingFailureConditions"],
        ),
        (
            device_slice({"name": "d", "capacity": {"m": {"value": "1", "requestPolicy": {}}}}),
            ["spec.devices[0].capacity[m].requestPolicy"],
        ),
        (
            device_slice({"name": "d", "consumesCounters": [{"counterSet": "c"}]}),
            ["spec.devices[0].consumesCounters[0].counters"],
        ),
    ],
)
def test_slices_are_judged(kinds, obj, expected):
    assert fields(kinds, "ResourceSlice", obj) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"default": "2", "validValues": ["1", "2"]}, []),
        ({"default": "3", "validValues": ["1", "2"]}, ["validValues"]),
        ({"default": "2", "validValues": ["2", "1"]}, ["validValues[1]"]),
        ({"validRange": {"min": "1"}}, ["default"]),
        ({"default": "2", "validRange": {"min": "1", "max": "4", "step": "1"}}, []),
        ({"default": "2", "validRange": {"min": "1", "step": "3"}}, ["validRange.step"]),
        ({"default": "2", "validRange": {"min": "3"}}, ["validRange.default"]),
        ({"default": "9", "validRange": {"min": "1", "max": "9"}}, ["validRange.max"]),
    ],
)
def test_the_request_policy_of_a_capacity_is_validated(kinds, policy, expected):
    capacity = {"m": {"value": "8", "requestPolicy": policy}}
    device = {"name": "d", "allowMultipleAllocations": True, "capacity": capacity}
    place = "spec.devices[0].capacity[m].requestPolicy."
    found = fields(kinds, "ResourceSlice", device_slice(device))
    assert found == [place + each for each in expected]


def test_a_long_key_is_shortened_in_the_middle_of_a_path(kinds):
    key = "a" * 60 + ".example.com/" + "b" * 40
    device = {"name": "d", "attributes": {key: {}}}
    found = fields(kinds, "ResourceSlice", device_slice(device))
    shown = f"{key[:47]}...{key[-46:]}"
    assert f"spec.devices[0].attributes[{shown}]" in found


def test_an_old_device_is_found_by_its_name(kinds):
    bad = {"name": "d", "taints": [{"key": "k", "effect": "Away"}]}
    other = {"name": "e"}
    old, new = device_slice(bad), device_slice(other, bad)
    assert kinds.update_texts("ResourceSlice", old, new) == []


def test_a_taint_without_a_time_gets_the_present_one(kinds):
    taint = {"key": "k", "effect": "NoSchedule"}
    made = kinds.created("ResourceSlice", device_slice({"name": "d", "taints": [taint]}))
    now = kinds.context_of("ResourceSlice").now
    assert made["spec"]["devices"][0]["taints"][0]["timeAdded"] == now


def allocated(device, **status):
    result = {"request": "a", "driver": "d.com", "pool": "p", "device": device}
    return {"allocation": {"devices": {"results": [result]}}, **status}


def told(device):
    return {"driver": "d.com", "pool": "p", "device": device}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (allocated("d", devices=[told("d")]), []),
        (allocated("d", devices=[told("e")]), ["status.devices[0]"]),
        (allocated("D"), ["status.allocation.devices.results[0].device"]),
        ({"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}, ["status.reservedFor"]),
        (
            allocated("d", reservedFor=[{"resource": "pods", "name": "p"}]),
            ["status.reservedFor[0].uid"],
        ),
    ],
)
def test_what_is_allocated_is_judged(kinds, status, expected):
    old = kinds.created("ResourceClaim", claim(request("a")))
    new = {**old, "status": status}
    errors = kinds.strategy_of("ResourceClaim").check_status(new, old)
    assert [error.field for error in errors] == expected


def test_the_status_by_a_driver_is_removed_with_the_allocation(kinds):
    old = kinds.created("ResourceClaim", claim(request("a")))
    old["status"] = allocated("d", devices=[told("d")])
    new = {**old, "status": {"devices": [told("d")]}}
    kinds.strategy_of("ResourceClaim").prepare_status(
        kinds.context_of("ResourceClaim", "status"), new, old
    )
    assert "devices" not in new["status"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["d.com"].model == "a"', ""),
        ('device.attributes["d.com"].ready', ""),
        ('cel.bind(d, device.attributes["d.com"], d.x && d.y)', ""),
        ('device.capacity["d.com"].memory.isGreaterThan(quantity("1Gi"))', ""),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("device.name", "compilation failed"),
        ("cel.bind(1, 2, true)", "compilation failed"),
        (NESTED, "too complex, exceeds cost limit"),
    ],
)
def test_selectors_are_compiled(expression, expected):
    found = deviceselectors.errors(expression, "s")
    assert [error.detail[: len(expected)] for error in found] == [expected] * bool(expected)
