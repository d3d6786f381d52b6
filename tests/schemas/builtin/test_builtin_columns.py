"""The tables of built-in kinds."""

from datetime import UTC, datetime

import pytest

from inkube.schemas.builtin import columns, resources

NOW = datetime(2026, 1, 1, 1, 0, tzinfo=UTC)
BORN = "2026-01-01T00:00:00Z"


def cells(group, plural, obj):
    obj = {"metadata": {"name": "a", "creationTimestamp": BORN}, **obj}
    return columns.cells(group, plural, obj, NOW)


@pytest.mark.parametrize(
    ("group", "plural", "obj", "expected"),
    [
        ("", "configmaps", {"data": {"a": "", "b": ""}, "binaryData": {"c": ""}}, ["a", 3, "60m"]),
        ("", "secrets", {"type": "Opaque", "data": {"a": ""}}, ["a", "Opaque", 1, "60m"]),
        ("", "serviceaccounts", {}, ["a", "60m"]),
        ("", "namespaces", {"status": {"phase": "Active"}}, ["a", "Active", "60m"]),
        ("", "limitranges", {}, ["a", BORN]),
        (
            "",
            "services",
            {"spec": {"type": "ClusterIP", "clusterIP": "None", "selector": {"app": "db"},
                      "ports": [{"port": 5432, "protocol": "TCP"},
                                {"port": 53, "protocol": "UDP", "nodePort": 30000}]}},
            ["a", "ClusterIP", "None", "<none>", "5432/TCP,53:30000/UDP", "60m", "app=db"],
        ),
        (
            "",
            "services",
            {"spec": {"type": "ExternalName", "externalName": "example.com"}},
            ["a", "ExternalName", "<none>", "example.com", "<none>", "60m", "<none>"],
        ),
        (
            "",
            "pods",
            {"spec": {"containers": [{}, {}], "nodeName": "n"},
             "status": {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [
                 {"ready": True, "restartCount": 2},
                 {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}},
            ["a", "1/2", "CrashLoopBackOff", "2", "60m", "10.0.0.1", "n", "<none>", "<none>"],
        ),
        (
            "apps",
            "deployments",
            {"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                      "template": {"spec": {"containers": [{"name": "n", "image": "i:1"}]}}}},
            ["a", "0/2", 0, 0, "60m", "n", "i:1", "app=web"],
        ),
        (
            "autoscaling",
            "horizontalpodautoscalers",
            {"spec": {"minReplicas": 1, "maxReplicas": 3,
                      "scaleTargetRef": {"kind": "Deployment", "name": "web"},
                      "metrics": [{"type": "Resource", "resource": {
                          "name": "cpu",
                          "target": {"type": "Utilization", "averageUtilization": 80}}}]}},
            ["a", "Deployment/web", "cpu: <unknown>/80%", "1", 3, 0, "60m"],
        ),
        (
            "",
            "events",
            {"type": "Normal", "reason": "Done", "message": "well", "count": 4,
             "firstTimestamp": BORN, "lastTimestamp": "2026-01-01T00:59:00Z",
             "involvedObject": {"kind": "Deployment", "name": "web"},
             "source": {"component": "tester"}},
            ["60s", "Normal", "Done", "deployment/web", "", "tester", "well", "60m", 4, "a"],
        ),
        (
            "rbac.authorization.k8s.io",
            "rolebindings",
            {"roleRef": {"kind": "Role", "name": "reader"},
             "subjects": [{"kind": "User", "name": "jane"},
                          {"kind": "ServiceAccount", "name": "t", "namespace": "n"}]},
            ["a", "Role/reader", "60m", "jane", "", "n/t"],
        ),
        ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "me"}}, ["a", "me", "60m"]),
    ],
)  # fmt: skip
def test_a_row_has_the_cells_of_kube_apiserver(group, plural, obj, expected):
    assert cells(group, plural, obj) == expected


def test_every_row_has_as_many_cells_as_columns():
    for resource in resources.read():
        if "list" not in resource.verbs:
            continue
        shown = columns.of(resource.group, resource.plural)
        row = cells(resource.group, resource.plural, {"kind": resource.kind})
        beside = resource.plural == "ipaddresses"  # upstream shows an age without a column
        assert len(row) == len(shown) + beside, resource.plural


def test_wide_columns_have_a_priority():
    names = {column.name: column.priority for column in columns.of("", "pods")}
    assert (names["Status"], names["Node"]) == (0, 1)
