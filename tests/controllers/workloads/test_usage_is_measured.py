"""metrics.k8s.io returns the usage of pods from ResourceUsage objects and annotations."""

import pytest

from inkube.schemas.status import StatusError

pytestmark = pytest.mark.kube_workloads(controllers={"kubelet"})
GROUP = "kwok.x-k8s.io/v1alpha1"


def make_pod(kube, name="p", **annotations):
    notes = {f"kwok.x-k8s.io/{key}": value for key, value in annotations.items()}
    kube.client.create({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "annotations": notes, "labels": {"app": name},
        },
        "spec": {"nodeName": "kube-node-1", "containers": [
            {"name": "a", "image": "i"}, {"name": "b", "image": "i"},
        ]},
    })  # fmt: skip
    kube.settled()


def usage(kube, kind, usages, name="p", **spec):
    meta = {"name": name} if kind.startswith("Cluster") else {"name": name, "namespace": "default"}
    body = {"apiVersion": GROUP, "kind": kind, "metadata": meta, "spec": {"usages": usages, **spec}}
    kube.client.create(body)
    kube.settled()


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_without_anything_to_measure_there_is_no_metrics_api(kube, kubectl):
    make_pod(kube)
    assert "Metrics API not available" in kubectl("top", "pods", code=1)


def test_annotations_set_the_usage_of_a_pod(kube, kubectl):
    make_pod(kube, **{"usage-cpu": "250m", "usage-memory": "100Mi"})
    make_pod(kube, "idle")
    assert rows(kubectl("top", "pods", "--no-headers")) == [["p", "500m", "200Mi"]]
    top = rows(kubectl("top", "pod", "p", "--containers", "--no-headers"))
    assert top == [["p", "a", "250m", "100Mi"], ["p", "b", "250m", "100Mi"]]
    nodes = {row[0]: row[1:] for row in rows(kubectl("top", "nodes", "--no-headers"))}
    assert nodes["kube-node-1"] == ["500m", "1%", "200Mi", "0%"]
    assert nodes["kube-node-2"] == ["0m", "0%", "0Mi", "0%"]
    assert rows(kubectl("top", "pods", "-l", "app=none", "--no-headers")) == []


def test_resource_usage_objects_set_usage_and_those_of_the_pod_come_first(kube, kubectl):
    make_pod(kube)
    make_pod(kube, "other", **{"usage-cpu": "3"})
    from_note = (
        '"kwok.x-k8s.io/usage-cpu" in pod.metadata.annotations'
        ' ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-cpu"]) : Quantity("1m")'
    )
    memory = {"value": "1Gi"}
    usage(
        kube,
        "ClusterResourceUsage",
        [{"usage": {"cpu": {"expression": from_note}, "memory": memory}}],
    )
    usage(kube, "ResourceUsage", [{"containers": ["a"], "usage": {"cpu": {"value": 2}}}])
    found = {row[0]: row[1:] for row in rows(kubectl("top", "pods", "--no-headers"))}
    assert found == {"p": ["2001m", "1024Mi"], "other": ["6000m", "2048Mi"]}


def test_usage_may_grow_with_time(kube):
    make_pod(kube)
    usage(kube, "ResourceUsage", [{"usage": {"cpu": {"expression": "pod.SinceSecond() * 0.001"}}}])
    kube.advance(1000)
    assert kube.server.parts.pods.usage.of(kube.client.get("v1/pods", "p", "default"))["a"][
        "cpu"
    ] == pytest.approx(1.0, rel=0.1)


def test_an_amount_that_can_never_be_read_is_refused(kube):
    for amount, why in (({"value": "many"}, "no quantity"), ({"expression": "pod."}, "Syntax")):
        with pytest.raises(StatusError, match=why) as caught:
            usage(kube, "ResourceUsage", [{"usage": {"cpu": amount}}])
        assert caught.value.code == 422


def test_metrics_are_only_read(kube, kubectl):
    make_pod(kube, **{"usage-cpu": "1"})
    assert kubectl("delete", "pods.metrics.k8s.io", "p", code=1)
    said = kubectl("get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/q", code=1)
    assert "not found" in said
