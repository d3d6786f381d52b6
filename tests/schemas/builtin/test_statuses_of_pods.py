"""The status of a pod: what pkg/apis/core/validation, ValidatePodStatusUpdate, refuses."""

import copy

import pytest

from inkube.schemas.builtin import lookup

POD = {
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {
                    "requests": {"example.com/gpu": "1"},
                    "limits": {"example.com/gpu": "1"},
                    "claims": [{"name": "k", "request": "r"}, {"name": "k"}],
                },
            }
        ],
        "resourceClaims": [{"name": "k", "resourceClaimName": "x"}],
    }
}
MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}


@pytest.fixture
def errors(kinds):
    def places(status):
        texts = kinds.status_texts("Pod", POD, {"qosClass": "BestEffort", **status})
        return sorted(text.removeprefix("status.") for text in texts)

    return places


def test_conditions_have_qualified_types_and_generations(errors):
    wrong = {"type": "Ready", "status": "True", "observedGeneration": -1}
    assert errors({"conditions": [wrong]}) == [
        "conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"
    ]
    assert errors({"conditions": [{"type": "example.com/a", "status": "True"}]}) == []


@pytest.mark.parametrize("member", ["pod", "host"])
def test_addresses_that_cannot_be_read_have_no_family(errors, member):
    found = errors({f"{member}IP": "x", f"{member}IPs": [{"ip": "x"}, {"ip": "1.2.3.4"}]})
    assert [text.partition(" value: ")[0] for text in found] == [
        f"{member}IPs: Internal error: failed to check for dual stack with error:invalid IP[0]: x",
        f"{member}IPs: Invalid",
        f"{member}IPs[0]: Invalid",
    ]


@pytest.mark.parametrize(
    ("change", "places"),
    [
        ({}, []),
        ({"requestMappings": []}, ["requestMappings: Required"]),
        ({"requestMappings": [MAPPING | {"containerName": "d"}]},
         ["requestMappings[0].containerName: Invalid"]),
        ({"requestMappings": [MAPPING | {"resourceName": "cpu"}]},
         ["requestMappings[0].resourceName: Invalid"]),
        ({"requestMappings": [MAPPING | {"requestName": "R"}]}, ["requestName: Invalid"]),
        ({"requestMappings": [MAPPING] * 2},
         [f"requestMappings[1].{member}: Duplicate"
          for member in ("containerName", "requestName", "resourceName")]),
        ({"resourceClaimName": ""}, ["resourceClaimName: Required"]),
        ({"resourceClaimName": "-"}, ["resourceClaimName: Invalid"]),
    ],
)  # fmt: skip
def test_the_claim_of_extended_resources_belongs_to_a_container(errors, change, places):
    claim = {"requestMappings": [MAPPING], "resourceClaimName": "x"} | change
    found = errors({"extendedResourceClaimStatus": claim})
    path = "extendedResourceClaimStatus."
    assert [text.removeprefix(path).partition(" value")[0] for text in found] == places


@pytest.mark.parametrize(
    ("device", "place"),
    [
        ({"name": "example.com/gpu"}, []),
        ({"name": "claim:k/r"}, []),
        ({"name": "claim:k"}, []),
        ({"name": "claim:j"}, ["name: Invalid"]),
        ({"name": "cpu"}, ["name: Invalid"]),
        ({"name": "claim:k", "resources": [{"resourceID": "1", "health": "Odd"}]},
         ["resources[0].health: Unsupported"]),
        ({"name": "claim:k", "resources": [{"resourceID": "1", "health": "Healthy"}] * 2},
         ["resources[1].resourceID: Duplicate"]),
        ({"name": "claim:k",
          "resources": [{"resourceID": "1", "health": "Healthy", "message": "m" * 1025}]},
         ["resources[0].message: Too long:"]),
    ],
)  # fmt: skip
def test_devices_of_a_container_are_those_that_it_requests(errors, device, place):
    state = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    status = {**state, "allocatedResourcesStatus": [device]}
    found = errors({"containerStatuses": [status]})
    path = "containerStatuses[0].allocatedResourcesStatus[0]."
    assert [text.removeprefix(path).split(" value")[0].split(" may")[0] for text in found] == place
    (refused,) = errors({"ephemeralContainerStatuses": [status]})
    assert refused.endswith(
        ".allocatedResourcesStatus: Forbidden: must not be specified in container status"
    )
    other = {**status, "name": "elsewhere"}
    assert not [text for text in errors({"containerStatuses": [other]}) if ".name" in text]


FIELDS = {
    "status": {"resources": 36, "allocatedResources": 36, "observedGeneration": 34},
    "condition": {"observedGeneration": 34},
    "container": {
        "resources": 33, "allocatedResources": 33, "user": 33, "allocatedResourcesStatus": 36,
    },
}  # fmt: skip
"""The fields of statuses that depend on a feature gate, with the minor since which it is on."""
VALUES = {
    "resources": {"requests": {"cpu": "1"}},
    "allocatedResources": {"cpu": "1"},
    "observedGeneration": 1,
    "user": {"linux": {"uid": 1, "gid": 1}},
    "allocatedResourcesStatus": [{"name": "example.com/gpu"}],
}


@pytest.mark.parametrize("minor", range(31, 37))
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_status_has_the_fields_whose_gate_is_on(kinds, minor, is_stored):
    """dropDisabledPodStatusFields of pkg/api/pod/util.go. Stored fields stay."""
    strategy = lookup.strategy_of("", "pods", minor)
    before = kinds.created("Pod", POD)
    status = {name: VALUES[name] for name in FIELDS["status"]} | {"qosClass": "BestEffort"}
    condition = {"type": "Ready", "status": "True", "observedGeneration": 1}
    container = {"name": "c"} | {name: VALUES[name] for name in FIELDS["container"]}
    status |= {"conditions": [condition], "containerStatuses": [container]}
    after = {**copy.deepcopy(before), "status": copy.deepcopy(status)}
    if is_stored:
        before["status"] = copy.deepcopy(status)
    strategy.prepare_for_update(kinds.context_of("Pod", "status"), after, before)
    [shown], [told] = after["status"]["containerStatuses"], after["status"]["conditions"]
    places = {"status": after["status"], "condition": told, "container": shown}
    for place, fields in FIELDS.items():
        for name, since in fields.items():
            assert (name in places[place]) is (is_stored or minor >= since), (place, name)


ALL_AGAIN = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}
AGAIN = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}


@pytest.mark.parametrize(
    ("policy", "own", "code", "may_run_again"),
    [
        ("Always", {}, 0, True),
        ("Never", {}, 1, False),
        ("OnFailure", {}, 0, False),
        ("OnFailure", {}, 1, True),
        ("Always", {"restartPolicy": "Never"}, 1, False),
        ("Never", {"restartPolicy": "Always"}, 0, True),
        ("Never", {"restartPolicy": "OnFailure"}, 0, False),
        ("Never", {"restartPolicy": "OnFailure"}, 1, True),
        ("Never", {"restartPolicy": "Never", "restartPolicyRules": [AGAIN]}, 42, True),
        ("Never", {"restartPolicy": "Never", "restartPolicyRules": [AGAIN]}, 1, False),
        ("Never", {"restartPolicy": "Never", "restartPolicyRules": [ALL_AGAIN]}, 1, True),
    ],
)
@pytest.mark.parametrize("member", ["containerStatuses", "initContainerStatuses"])
def test_terminated_containers_run_again_if_a_policy_restarts_them(
    kinds, member, policy, own, code, may_run_again
):
    """ValidateContainerStateTransition of pkg/apis/core/validation."""
    spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": policy}
    if member == "containerStatuses":
        spec["containers"][0] |= own
    else:
        spec["initContainers"] = [{"name": "i", "image": "i"} | own]
    name = "c" if member == "containerStatuses" else "i"
    told = {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    before = kinds.created("Pod", {"spec": spec})
    ended = {"terminated": {"exitCode": code, "startedAt": None, "finishedAt": None}}
    before["status"][member] = [{**told, "state": ended}]
    after = copy.deepcopy(before)
    after["status"][member][0]["state"] = {"running": {"startedAt": None}}
    strategy = kinds.strategy_of("Pod")
    strategy.prepare_for_update(kinds.context_of("Pod", "status"), after, before)
    texts = [error.text() for error in strategy.check_status(after, before)]
    why = f"status.{member}[0].state: Forbidden: may not be transitioned to non-terminated state"
    assert texts == ([] if may_run_again else [why])
