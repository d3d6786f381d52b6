"""Object counts of resource quotas, and the texts of their refusals."""

import pytest

from inkube.schemas import quantity
from inkube.schemas.builtin import quotas

ONE = {"configmaps": quantity.parse("1")}


def test_only_names_beyond_their_limit_are_refused() -> None:
    used = {"configmaps": quantity.parse("2")}
    bounds = {"configmaps": "2"}
    beyond = quotas.exceeded(bounds, used, ONE)
    assert quotas.refusal("q", beyond, ONE, used, bounds) == (
        "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    )


def test_the_limit_itself_may_be_reached() -> None:
    assert quotas.exceeded({"configmaps": "2"}, ONE, ONE) == []


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("configmaps", ("", "configmaps")),
        ("services.nodeports", ("", "services")),
        ("count/deployments.apps", ("apps", "deployments")),
        ("requests.cpu", ("", "pods")),
        ("requests.example.com/gpu", ("", "pods")),
        ("requests.storage", ("", "persistentvolumeclaims")),
        ("gold.storageclass.storage.k8s.io/requests.storage", ("", "persistentvolumeclaims")),
        ("gpu.deviceclass.resource.k8s.io/devices", ("resource.k8s.io", "resourceclaims")),
        ("requests.deviceclass.resource.kubernetes.io/gpu", ("", "pods")),
        ("flying", None),
    ],
)
def test_a_name_is_about_one_kind(name: str, counted: tuple[str, str] | None) -> None:
    assert [*quotas.counted_resources(name)] == ([] if counted is None else [counted])


def test_finished_pods_use_nothing_but_their_place() -> None:
    quota = {"spec": {"hard": {"pods": "1", "count/pods": "1"}}}
    pods = [{"status": {"phase": "Succeeded"}}, {"status": {"phase": "Running"}}]
    assert quotas.total(quota, "pods", ("", "pods"), pods) == quantity.parse("1")
    assert quotas.total(quota, "count/pods", ("", "pods"), pods) == quantity.parse("2")


def test_init_containers_count_by_the_greatest_and_staying_ones_beside_the_others() -> None:
    def asking(name: str, cpu: str, **more: str) -> dict[str, object]:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [asking("first", "2"), asking("side", "1", restartPolicy="Always")],
        "containers": [asking("a", "500m"), asking("b", "250m")],
        "overhead": {"cpu": "10m"},
    }
    assert quotas.pod_total(spec, "requests") == {"cpu": quantity.parse("2010m")}


def test_a_quota_with_scopes_is_about_some_pods_only() -> None:
    quota = {"spec": {"hard": {"pods": "1"}, "scopes": ["Terminating", "BestEffort"]}}
    ending = {"spec": {"activeDeadlineSeconds": 5, "containers": []}}
    assert quotas.matches(quota, "", "pods", ending)
    assert not quotas.matches(quota, "", "pods", {"spec": {"containers": []}})
    assert not quotas.matches(quota, "", "services", ending)
