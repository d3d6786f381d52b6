"""Resources of a pod as a whole: their defaults, its quality of service, and its resizing."""

import copy

import pytest

FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.fixture
def made(kinds):
    def spec_and_quality(own, *containers):
        resources = [{"resources": each} for each in containers or [{}]]
        listed = [{"name": f"c{n}", "image": "i", **each} for n, each in enumerate(resources)]
        pod = kinds.created("Pod", {"spec": {"containers": listed, "resources": own}})
        errors = kinds.strategy_of("Pod").validate(kinds.context_of("Pod"), pod)
        texts = [error.text() for error in errors]
        return pod["spec"]["resources"], pod["status"]["qosClass"], texts

    return spec_and_quality


@pytest.mark.parametrize(
    ("own", "containers", "requests", "quality"),
    [
        ({"requests": {"cpu": "1"}}, (), {"cpu": "1"}, "Burstable"),
        ({"limits": {"cpu": "1"}}, (), {"cpu": "1"}, "Burstable"),
        ({"limits": FULL}, (), FULL, "Guaranteed"),
        ({"limits": FULL, "requests": {"cpu": "500m"}}, (), {"cpu": "500m", "memory": "1Gi"},
         "Burstable"),
        ({"limits": {"cpu": "4"}}, ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}),
         {"cpu": "3"}, "Burstable"),
        ({"requests": {"cpu": "4"}}, ({"limits": FULL},), {"cpu": "4"}, "Burstable"),
    ],
)  # fmt: skip
def test_requests_default_to_the_containers_then_to_the_limits(
    made, own, containers, requests, quality
):
    resources, found, errors = made(own, *containers)
    assert (resources["requests"], found, errors) == (requests, quality, [])


def test_the_sum_of_the_containers_is_within_the_limit(made):
    _, _, errors = made({"limits": {"cpu": "2"}}, *[{"requests": {"cpu": "2"}}] * 2)
    text = 'spec.resources.requests: Invalid value: "4": must be less than or equal to cpu limit'
    assert errors == [f"{text} of 2"]


@pytest.fixture
def resized(kinds):
    def texts(old, change):
        old = kinds.created("Pod", {"spec": old})
        new = copy.deepcopy(old)
        change(new["spec"])
        strategy = kinds.strategy_of("Pod")
        strategy.prepare_for_update(kinds.context_of("Pod", "resize"), new, old)
        return [error.text() for error in strategy.check_part("resize", new, old)]

    return texts


ASKS = {"requests": {"cpu": "1"}}


def containers(*names, **more):
    return [{"name": name, "image": "i", "resources": copy.deepcopy(ASKS)} | more for name in names]


@pytest.mark.parametrize("member", ["containers", "initContainers"])
@pytest.mark.parametrize("always", [True, False])
def test_every_container_may_be_resized_but_keeps_what_it_asks_for(resized, member, always):
    more = {"restartPolicy": "Always"} if always and member == "initContainers" else {}
    spec = {"containers": containers("c"), "initContainers": containers("i", **more)}

    def grow(new):
        new[member][0]["resources"]["requests"] = {"cpu": "2", "memory": "1Gi"}

    def lose(new):
        new[member][0]["resources"]["requests"] = {"memory": "1Gi"}

    def store(new):
        new[member][0]["resources"]["requests"]["ephemeral-storage"] = "1Gi"

    assert resized(spec, grow) == []
    path = f"spec.{member}[0]"
    lost = "Forbidden: resource requests cannot be removed"
    assert resized(spec, lose) == [f"{path}.resources.requests: {lost}"]
    what, place = ("init or sidecar containers", path) if member != "containers" else ("", "spec")
    whose = f"resources for {what}" if what else "resources"
    assert resized(spec, store) == [f"{place}: Forbidden: only cpu and memory {whose} are mutable"]


@pytest.mark.parametrize("member", ["containers", "initContainers"])
def test_containers_keep_their_names_and_number(resized, member):
    spec = {"containers": containers("a", "b"), "initContainers": containers("d", "e")}

    def remove(new):
        new[member].pop()

    def swap(new):
        new[member].reverse()

    more, moved = "may not be added or removed", "may not be renamed or reordered"
    assert resized(spec, remove) == [f"spec.{member}: Forbidden: {member} {more} on resize"]
    assert resized(spec, swap) == [
        f"spec.{member}[{at}].name: Forbidden: {member} {moved} on resize" for at in (0, 1)
    ]


@pytest.mark.parametrize("member", ["requests", "limits"])
def test_resources_of_the_whole_pod_are_not_removed(resized, member):
    both = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    spec = {"containers": containers("c"), "resources": both}
    text = f"Forbidden: pod-level resource {member} cannot be removed"
    assert resized(spec, lambda new: new["resources"].pop(member)) == [
        f"spec.resources.{member}: {text}"
    ]


def test_ports_of_the_host_have_a_default_in_pods_only(kinds):
    ports = {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
    pod = kinds.created("Pod", {"spec": copy.deepcopy(ports)})
    template = {"template": {"spec": copy.deepcopy(ports)}, "selector": {}}
    deployment = kinds.created("Deployment", {"spec": template})
    [[inside], [outside]] = (
        spec["containers"][0]["ports"]
        for spec in (deployment["spec"]["template"]["spec"], pod["spec"])
    )
    assert ("hostPort" in inside, outside["hostPort"]) == (False, 80)
