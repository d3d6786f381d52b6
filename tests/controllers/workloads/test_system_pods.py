"""With the option for it, kube-system contains the usual pods of a cluster."""

import pytest


@pytest.mark.kube_workloads(system_pods=True)
def test_what_a_cluster_has_runs_as_simulated_pods(kube):
    kube.settled()
    for name, replicas in (("coredns", 2), ("metrics-server", 1)):
        found = kube.client.get("apps/v1/deployments", name, "kube-system")
        assert found["status"]["availableReplicas"] == replicas
    proxy = kube.client.get("apps/v1/daemonsets", "kube-proxy", "kube-system")
    assert proxy["status"]["numberReady"] == 2
    pods = kube.client.list("v1/pods", "kube-system")
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    slices = kube.client.list("discovery.k8s.io/v1/endpointslices", "kube-system")
    dns = [s for s in slices if s["metadata"]["labels"]["kubernetes.io/service-name"] == "kube-dns"]
    assert len(dns[0]["endpoints"]) == 2


@pytest.mark.kube_workloads
def test_servers_of_tests_have_no_system_pods(kube):
    kube.settled()
    assert kube.client.list("v1/pods", "kube-system") == []
