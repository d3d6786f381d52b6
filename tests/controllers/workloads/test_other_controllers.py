"""Services, claims, disruption budgets, autoscalers, and default objects of namespaces."""

import pytest
import widgets
import workloads as w
import yaml

pytestmark = pytest.mark.kube_workloads()
SLICES, BUDGETS = "discovery.k8s.io/v1/endpointslices", "policy/v1/poddisruptionbudgets"
CLAIMS, VOLUMES = "v1/persistentvolumeclaims", "v1/persistentvolumes"
SCALERS = "autoscaling/v2/horizontalpodautoscalers"


def service(**spec):
    meta = {"name": "web", "namespace": "default"}
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def endpoints(kube):
    found = [each.get("endpoints") or [] for each in kube.client.list(SLICES)]
    return sorted(map(len, found))


def test_many_pods_of_a_service_take_several_slices(kube):
    kube.client.create(service())
    kube.client.create(w.workload("ReplicaSet", replicas=120))
    kube.settled()
    assert endpoints(kube) == [20, 100]
    kube.client.patch("apps/v1/replicasets", "web", "default", patch={"spec": {"replicas": 5}})
    kube.settled()
    assert endpoints(kube) == [5]
    found = kube.client.get("v1/endpoints", "web")
    assert len(found["subsets"][0]["addresses"]) == 5


def test_a_budget_counts_the_replicas_of_the_pods_controller(kube):
    kube.client.create(w.workload("Deployment", replicas=4))
    meta = {"name": "b", "namespace": "default"}
    spec = {"maxUnavailable": "25%", "selector": {"matchLabels": {"app": "web"}}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    kube.client.create({**head, "metadata": meta, "spec": spec})
    kube.settled()
    status = kube.client.get(BUDGETS, "b")["status"]
    assert (status["expectedPods"], status["desiredHealthy"]) == (4, 3)
    assert status["disruptionsAllowed"] == 1
    kube.client.patch(w.DEPLOYMENTS, "web", "default", patch={"spec": {"replicas": 8}})
    kube.settled()
    assert kube.client.get(BUDGETS, "b")["status"]["disruptionsAllowed"] == 2


def claim(name="data", **spec):
    meta = {"name": name, "namespace": "default"}
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(name, size="1Gi", **spec):
    capacity = {"storage": size}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": capacity, **spec}
    spec.setdefault("hostPath", {"path": "/x"})
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_a_claim_takes_the_smallest_volume_that_is_large_enough(kube):
    for name, size in (("huge", "9Gi"), ("tiny", "1Mi"), ("right", "2Gi")):
        kube.client.create(volume(name, size, storageClassName="s"))
    kube.client.create(claim(storageClassName="s"))
    kube.settled()
    found = kube.client.get(CLAIMS, "data")
    assert (found["spec"]["volumeName"], found["status"]["phase"]) == ("right", "Bound")
    kube.client.delete(CLAIMS, "data", "default")
    kube.settled()
    assert kube.client.get(VOLUMES, "right")["status"]["phase"] == "Released"


def test_a_class_that_becomes_the_default_is_given_to_claims_that_wait(kube):
    kube.client.create(volume("v", storageClassName="s"))
    kube.client.create(claim())
    kube.settled()
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    meta = {"name": "s", "annotations": default}
    kube.client.create({**head, "metadata": meta, "provisioner": "kubernetes.io/no-provisioner"})
    kube.settled()
    found = kube.client.get(CLAIMS, "data")
    assert (found["spec"]["storageClassName"], found["status"]["phase"]) == ("s", "Bound")


def test_a_claim_counts_for_each_class_that_it_names_anywhere(kube):
    """A bound claim has the class of its volume as its current one, and keeps it in quotas while it
    asks for another."""
    classes = ("gold", "silver", "none")
    for name in classes[:2]:
        kube.client.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttributesClass",
                "metadata": {"name": name},
                "driverName": "d.example.com",
                "parameters": {"speed": name},
            }
        )
    for name in classes:
        named = (
            {"operator": "In", "values": [name]} if name != "none" else {"operator": "DoesNotExist"}
        )
        scope = {"scopeName": "VolumeAttributesClass", **named}
        spec = {
            "hard": {"persistentvolumeclaims": "5"},
            "scopeSelector": {"matchExpressions": [scope]},
        }
        meta = {"name": name, "namespace": "default"}
        kube.client.create(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec}
        )

    def counted():
        kube.settled()
        quotas = kube.client.list("v1/resourcequotas")
        used = {each["metadata"]["name"]: each["status"]["used"] for each in quotas}
        return {name for name in classes if used[name]["persistentvolumeclaims"] == "1"}

    csi = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}, "hostPath": None}
    kube.client.create(volume("v", storageClassName="s", volumeAttributesClassName="gold", **csi))
    kube.client.create(claim(storageClassName="s", volumeAttributesClassName="gold"))
    assert counted() == {"gold"}
    status = kube.client.get(CLAIMS, "data")["status"]
    assert (status["phase"], status["currentVolumeAttributesClassName"]) == ("Bound", "gold")
    kube.client.patch(CLAIMS, "data", patch={"spec": {"volumeAttributesClassName": "silver"}})
    assert counted() == {"gold", "silver"}
    done = {"status": {"currentVolumeAttributesClassName": "silver"}}
    kube.client.patch(CLAIMS, "data", patch=done, subresource="status")
    assert counted() == {"silver"}


def scaler(**spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    meta = {"name": "web", "namespace": "default"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, **spec}
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**head, "metadata": meta, "spec": spec}


def test_an_autoscaler_keeps_its_target_within_bounds(kube):
    kube.client.create(w.workload("Deployment", replicas=1))
    kube.client.create(scaler())
    kube.settled()
    assert kube.client.get(w.DEPLOYMENTS, "web")["spec"]["replicas"] == 2
    kube.client.patch(w.DEPLOYMENTS, "web", "default", patch={"spec": {"replicas": 9}})
    kube.settled()
    kube.advance(16)
    assert kube.client.get(w.DEPLOYMENTS, "web")["spec"]["replicas"] == 5


def test_an_autoscaler_without_its_target_has_a_condition(kube):
    kube.client.create(scaler())
    kube.settled()
    found = kube.client.get(SCALERS, "web")
    assert w.condition(found, "AbleToScale") == ("False", "FailedGetScale")


def test_an_autoscaler_scales_what_keeps_its_replicas_elsewhere(kube):
    definition = yaml.safe_load(widgets.CRD)
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    definition["spec"]["versions"][0]["subresources"] = {"scale": paths}
    kube.client.create(definition)
    kube.settled()
    head = {"apiVersion": "example.com/v1", "kind": "Widget"}
    meta = {"name": "web", "namespace": "default"}
    kube.client.create({**head, "metadata": meta, "spec": {"size": 1}})
    kube.client.create(scaler(scaleTargetRef={**head, "name": "web"}))
    kube.settled()
    assert kube.client.get("example.com/v1/widgets", "web")["spec"]["size"] == 2
    kube.advance(16)
    found = kube.client.get(SCALERS, "web")
    assert w.condition(found, "ScalingActive") == ("False", "InvalidSelector")


def test_every_namespace_has_an_account_and_the_authority(kube):
    kube.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
    kube.settled()
    kube.client.delete("v1/serviceaccounts", "default", "new")
    kube.settled()
    assert kube.client.get("v1/serviceaccounts", "default", "new")
    authority = kube.client.get("v1/configmaps", "kube-root-ca.crt", "new")["data"]["ca.crt"]
    assert authority.startswith("-----BEGIN CERTIFICATE-----")


def test_a_deleted_namespace_with_workloads_ends_with_all_of_them(kube):
    kube.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
    for body in (
        w.workload("Deployment", replicas=2),
        w.workload("StatefulSet", replicas=2),
        w.workload("DaemonSet"),
    ):
        body["metadata"]["namespace"] = "new"
        kube.client.create(body)
    kube.settled()
    kube.client.delete("v1/namespaces", "new")
    kube.settled()
    assert "new" not in [each["metadata"]["name"] for each in kube.client.list("v1/namespaces")]
    assert kube.client.list(w.PODS) == []


@pytest.mark.kube_workloads(controllers={"replicaset", "kube-scheduler", "kubelet"})
def test_only_the_named_controllers_run(kube):
    kube.client.create(w.workload("Deployment", replicas=1))
    kube.client.create(w.workload("ReplicaSet", name="own", replicas=1))
    kube.settled()
    assert len(kube.client.list(w.REPLICA_SETS)) == 1
    assert len(kube.client.list(w.PODS)) == 1


def test_a_controller_that_does_not_exist_is_refused():
    from inkube import Workloads

    with pytest.raises(ValueError, match="no such controllers: deploymint; there are"):
        Workloads(controllers={"deploymint"})
