"""The order of errors in an object, which is that of kube-apiserver's functions."""

import pytest

from inkube.schemas.builtin import lookup, served
from inkube.schemas.strategy import Context


def fields_of(group, plural, obj):
    kind = lookup.strategy_of(group, plural)
    place = {"namespace": "d"} if kind.definition.namespaced else {}
    whole = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind, **obj}
    whole["metadata"] = {"name": "a", **place}
    version = served.of(kind.definition, kind.definition.storage_version)
    return [error.field for error in kind.validate(Context(version), whole)]


HOOK = {
    "name": "a.example.com", "rules": [{"operations": [], "apiGroups": ["*"], "apiVersions": ["*"],
                                        "resources": ["*"]}],
    "failurePolicy": "x", "matchPolicy": "x", "sideEffects": "x", "timeoutSeconds": 0,
    "namespaceSelector": {"matchLabels": {"a b": ""}}, "clientConfig": {},
    "admissionReviewVersions": [],
}  # fmt: skip
TERM = {"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}


@pytest.mark.parametrize("kind", ["validating", "mutating"])
def test_webhooks_are_checked_in_upstreams_order(kind):
    group = "admissionregistration.k8s.io"
    found = fields_of(group, f"{kind}webhookconfigurations", {"webhooks": [HOOK]})
    assert found == [
        f"webhooks[0].{member}"
        for member in (
            "rules[0].operations", "failurePolicy", "matchPolicy", "sideEffects", "timeoutSeconds",
            "namespaceSelector.matchLabels", "clientConfig", "admissionReviewVersions",
        )
    ]  # fmt: skip


def test_selectors_of_budgets_and_capacities_come_before_other_fields():
    selector = {"matchLabels": {"a b": ""}}
    spec = {"selector": selector, "unhealthyPodEvictionPolicy": "x"}
    assert fields_of("policy", "poddisruptionbudgets", {"spec": spec}) == [
        "spec.selector.matchLabels", "spec.unhealthyPodEvictionPolicy",
    ]  # fmt: skip
    capacity = {"nodeTopology": selector, "storageClassName": "a b", "maximumVolumeSize": "-1"}
    assert fields_of("storage.k8s.io", "csistoragecapacities", capacity) == [
        "nodeTopology.matchLabels", "storageClassName",
    ]  # fmt: skip


def test_ports_of_a_slice_come_before_its_endpoints():
    slice_ = {"addressType": "IPv4", "endpoints": [{"addresses": []}], "ports": [{"name": "A B"}]}
    assert fields_of("discovery.k8s.io", "endpointslices", slice_)[:1] == ["ports[0].name"]


@pytest.mark.parametrize("kind", ["X", None])
def test_everything_but_its_addresses_is_checked_in_a_slice_of_an_unknown_type(kind):
    slice_ = {
        "addressType": kind, "endpoints": [{"addresses": ["1.2.3.04"], "hostname": "H"}],
        "ports": [{"name": "A B", "protocol": "TCP"}],
    }  # fmt: skip
    assert fields_of("discovery.k8s.io", "endpointslices", slice_) == [
        "addressType", "ports[0].name", "endpoints[0].hostname",
    ]  # fmt: skip


def test_contradictory_addresses_of_a_service_are_the_only_errors():
    spec = {"type": "ClusterIP", "clusterIPs": ["x"], "clusterIP": "x", "ports": []}
    assert fields_of("", "services", {"spec": spec}) == ["spec.clusterIPs[0]"]


@pytest.mark.parametrize(
    ("terms", "times"),
    [([TERM, TERM], 1), ([TERM, TERM, TERM], 3), ([TERM, {}], 2), ([{}], 1), ([{}, {}], 5)],
)
def test_equal_topologies_are_reported_for_each_earlier_one(terms, times):
    storage = {"provisioner": "a", "allowedTopologies": terms, "reclaimPolicy": "Delete"}
    storage |= {"volumeBindingMode": "Immediate"}
    found = fields_of("storage.k8s.io", "storageclasses", storage)
    assert len(found) == times


def test_a_stateful_set_has_its_claims_as_the_first_volumes_and_no_subdomain():
    container = {"name": "c", "image": "i", "imagePullPolicy": "Always"}
    container |= {"terminationMessagePolicy": "File"}
    pod = {
        "containers": [container], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
        "subdomain": "A.B", "hostname": "A.B", "terminationGracePeriodSeconds": 30,
         "volumes": [{"name": "own"}],
    }  # fmt: skip
    spec = {
        "selector": {"matchLabels": {"a": "b"}}, "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"}, "serviceName": "A B",
        "volumeClaimTemplates": [{"metadata": {"name": "claim"}, "spec": {}}],
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
    }  # fmt: skip
    found = fields_of("apps", "statefulsets", {"spec": spec})
    claims = [field for field in found if field.startswith("spec.volumeClaimTemplates")]
    assert found == [*claims, "spec.serviceName", "spec.template.spec.volumes[1]"]


def test_queues_come_before_shares_and_nodes_before_the_names_of_volumes():
    limited = {"lendablePercent": 101, "limitResponse": {"type": "x"}}
    spec = {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, **limited}}
    levels = fields_of(
        "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", {"spec": spec}
    )
    assert levels == ["spec.limited.limitResponse.type", "spec.limited.lendablePercent"]
    spec = {"attacher": "a", "nodeName": "A", "source": {"persistentVolumeName": "A"}}
    attachment = fields_of("storage.k8s.io", "volumeattachments", {"spec": spec})
    assert attachment == ["spec.nodeName", "spec.source.persistentVolumeName"]


def test_node_ports_of_a_type_without_them_are_an_error_of_validation():
    port = {"port": 1, "targetPort": 1, "nodePort": 2, "name": "A", "protocol": "TCP"}
    spec = {"type": "ClusterIP", "sessionAffinity": "None", "ports": [port]}
    found = fields_of("", "services", {"spec": spec | {"internalTrafficPolicy": "Cluster"}})
    assert found == ["spec.ports[0].name", "spec.ports[0].nodePort"]
