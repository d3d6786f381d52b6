"""What writes to a pod, and to its subresources, may change."""

import copy

import pytest

RUNNING = {
    "name": "c",
    "image": "i:1",
    "imageID": "x",
    "ready": True,
    "restartCount": 0,
    "state": {"running": {}},
}
ASKED = {"cpu": "1", "memory": "1Gi"}


def pod(annotations=(), **spec):
    container = {"name": "c", "image": "i:1", "resources": {"requests": ASKED, "limits": ASKED}}
    return {
        "metadata": {"annotations": dict(annotations)},
        "spec": {"containers": [container], **spec},
    }


@pytest.fixture
def resized(kinds):
    """The errors of a write to /resize: `change` changes a copy of the created pod."""

    def texts(before, change):
        strategy = kinds.strategy_of("Pod")
        old = kinds.created("Pod", before)
        new = copy.deepcopy(old)
        change(new)
        strategy.prepare_for_update(kinds.context_of("Pod", "resize"), new, old)
        return [error.text() for error in strategy.check_part("resize", new, old)]

    return texts


def resources_of(made):
    return made["spec"]["containers"][0]["resources"]


def test_a_resize_keeps_the_quality_of_service(resized):
    def change(made):
        resources_of(made)["requests"] = {"cpu": "500m", "memory": "1Gi"}

    assert resized(pod(), change) == [
        'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'
    ]


@pytest.mark.parametrize(
    ("statuses", "is_supported"),
    [
        ([], True),
        ([{**RUNNING, "resources": {}}], True),
        ([RUNNING], False),
        ([{**RUNNING, "state": {"waiting": {}}}], True),
        ([{**RUNNING, "state": {"waiting": {}}}, RUNNING], False),
        ([{**RUNNING, "resources": {}}, RUNNING], True),
    ],
)
def test_nodes_that_resize_show_the_resources_of_running_containers(kinds, statuses, is_supported):
    strategy, context = kinds.strategy_of("Pod"), kinds.context_of("Pod", "resize")
    old = kinds.created("Pod", pod())
    old["status"]["containerStatuses"] = statuses
    new = copy.deepcopy(old)
    strategy.prepare_for_update(context, new, old)
    texts = [error.text() for error in strategy.check_part("resize", new, old)]
    why = "spec: Forbidden: Pod running on node without support for resize"
    assert texts == ([] if is_supported else [why])


def test_a_resize_removes_nothing(resized):
    def change(made):
        resources_of(made)["requests"] = {"memory": "1Gi"}
        resources_of(made)["limits"] = {"memory": "2Gi"}

    before = pod()
    before["spec"]["containers"].append({"name": "d", "image": "i:1"})
    assert resized(before, change) == [
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
    ]


def test_a_resize_changes_only_cpu_and_memory(resized):
    def change(made):
        resources_of(made)["requests"] = {**ASKED, "ephemeral-storage": "1Gi"}

    assert resized(pod(), change) == [
        "spec: Forbidden: only cpu and memory resources are mutable",
    ]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (pod({"kubernetes.io/config.mirror": "x"}), "[]: Forbidden: static pods cannot be resized"),
        (pod(os={"name": "windows"}), "[]: Forbidden: windows pods cannot be resized"),
    ],
)
def test_some_pods_are_not_resized(resized, before, expected):
    def change(made):
        for amounts in resources_of(made).values():
            amounts["cpu"] = "2"

    assert resized(before, change) == [expected]


def test_users_of_containers_are_numbers_of_linux(kinds):
    users = {"linux": {"uid": -1, "gid": 0, "supplementalGroups": [0, 2**31]}}
    statuses = {"containerStatuses": [{**RUNNING, "user": users}], "qosClass": "Guaranteed"}
    assert kinds.status_texts("Pod", pod(), statuses) == [
        (
            "status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and "
            "2147483647, inclusive"
        ),
        (
            "status.containerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: "
            "2147483648: must be between 0 and 2147483647, inclusive"
        ),
    ]
    assert kinds.status_texts("Pod", pod(os={"name": "windows"}), statuses) == [
        "status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"
    ]


def test_statuses_of_claims_belong_to_claims(kinds):
    statuses = [{"name": "a", "resourceClaimName": "A"}, {"name": "a"}, {"name": "b"}]
    claims = [{"name": "a", "resourceClaimName": "x"}]
    status = {"resourceClaimStatuses": statuses, "qosClass": "Guaranteed"}
    texts = kinds.status_texts("Pod", pod(resourceClaims=claims), status)
    assert [text.partition(": ")[0] for text in texts] == [
        f"status.resourceClaimStatuses[{index}].{member}"
        for index, member in enumerate(("resourceClaimName", "name", "name"))
    ]
    assert texts[1].endswith('Duplicate value: "a"')
    assert texts[2].endswith("must match the name of an entry in `spec.resourceClaims`")
