"""Resources of a pod as a whole: their defaults, its quality of service, and its resizing."""

import copy
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import TEMPLATES

EXAMPLES = 3000 if os.environ.get("INKUBE_EXAMS") == "long" else 60


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


AMOUNTS = {"cpu": st.integers(1, 4), "memory": st.integers(1, 4)}
PARTS = st.fixed_dictionaries(
    {},
    optional={name: st.fixed_dictionaries({}, optional=AMOUNTS) for name in ("requests", "limits")},
)


def texts(part):
    """Return resources with amounts as texts; no empty members."""
    return {name: {k: str(v) for k, v in each.items()} for name, each in part.items() if each}


def asked(part):
    """Return what a container asks for: its requests, else its limits."""
    return {**part.get("limits", {}), **part.get("requests", {})}


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(own=PARTS, parts=st.lists(PARTS, min_size=1, max_size=3))
def test_resources_of_the_whole_pod_follow_a_model(made, own, parts):
    """Beside limits, a request defaults to the sum of the containers, without one to the limit. It
    decides about the quality of service. Limits bound what pod and containers ask for."""
    own = {name: each for name, each in own.items() if each}
    if not own:
        return
    resources, quality, errors = made(texts(own), *map(texts, parts))
    sums = {}
    for name, amount in (item for part in parts for item in asked(part).items()):
        sums[name] = sums.get(name, 0) + amount
    limits = own.get("limits", {})
    requests = dict(own.get("requests", {}))
    for name in ("cpu", "memory"):
        whole = sums.get(name, limits.get(name))
        if limits and name not in requests and whole is not None:
            requests[name] = whole
    assert resources.get("requests", {}) == {name: str(each) for name, each in requests.items()}
    is_full = limits.keys() == {"cpu", "memory"} and limits == requests
    assert quality == ("Guaranteed" if is_full else "Burstable")
    is_sound = all(requests[name] <= limits.get(name, 99) for name in requests)
    is_sound &= all(sums[name] <= requests.get(name, 99) for name in sums)
    for part in parts:
        inner = part.get("limits", {})
        is_sound &= all(asked(part)[name] <= inner.get(name, 99) for name in asked(part))
        is_sound &= all(inner[name] <= limits.get(name, 99) for name in inner)
    assert (errors == []) is is_sound, errors


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
def test_a_resize_of_a_container_keeps_its_kinds_of_resources(resized, member, always):
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


@pytest.mark.parametrize("kind", TEMPLATES)
def test_ports_of_the_host_have_a_default_in_pods_only(kinds, kind):
    ports = {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
    above = TEMPLATES[kind].split(".") if TEMPLATES[kind] else []
    obj: Any = {"spec": ports}
    for name in reversed(above):
        obj = {name: obj}
    inner = kinds.created(kind, obj)
    for name in above:
        inner = inner[name]
    [port] = inner["spec"]["containers"][0]["ports"]
    assert port.get("hostPort") == (80 if kind == "Pod" else None)
