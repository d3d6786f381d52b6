"""Defaults and preparation of built-in kinds."""

import pytest

from inkube.schemas.builtin import decoding, lookup, resources, served
from inkube.schemas.strategy import Context, Strategy

POD = {"containers": [{"name": "c", "image": "i:1"}]}


def workload(**spec):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}


SOUND = {
    "ConfigMap": {"data": {"a": "b"}},
    "Secret": {"stringData": {"a": "b"}},
    "Namespace": {},
    "ServiceAccount": {},
    "Pod": {"spec": POD},
    "PodTemplate": {"template": {"spec": POD}},
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "Endpoints": {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}]}]},
    "Event": {"involvedObject": {"namespace": "ns"}},
    "LimitRange": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}},
    "ResourceQuota": {"spec": {"hard": {"pods": "1", "count/widgets.example.com": "2"}}},
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "PersistentVolume": {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/x"},
        }
    },
    "Deployment": workload(),
    "ReplicaSet": workload(),
    "DaemonSet": workload(),
    "StatefulSet": workload(serviceName="s"),
    "ReplicationController": {
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}
    },
    "Job": {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}},
    "CronJob": {
        "spec": {
            "schedule": "*/5 * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "OnFailure"}}}},
        }
    },
    "HorizontalPodAutoscaler": {
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        }
    },
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {}}},
    "Ingress": {
        "spec": {
            "rules": [
                {
                    "host": "example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        }
    },
    "IngressClass": {"spec": {"controller": "example.com/x"}},
    "NetworkPolicy": {"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]}},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]},
    "Lease": {"spec": {"leaseDurationSeconds": 15}},
    "PriorityClass": {"value": 10},
    "Role": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "ClusterRole": {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
    "RoleBinding": {
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}],
    },
    "ClusterRoleBinding": {"roleRef": {"kind": "ClusterRole", "name": "r"}},
    "StorageClass": {"provisioner": "example.com/p"},
    "CSIDriver": {},
    "RuntimeClass": {"handler": "runc"},
}


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_object_passes_and_settles(kinds, kind):
    strategy, context = kinds.strategy_of(kind), kinds.context_of(kind)
    made = kinds.created(kind, SOUND[kind])
    assert strategy.validate(context, made) == []
    again = decoding.decode(made, strategy.gvk).object
    strategy.default(again)
    strategy.prepare_for_update(context, again, made)
    assert again == made
    assert strategy.check_update(again, made) == []


def test_string_data_is_folded_into_data(kinds):
    secret = kinds.created(
        "Secret", {"data": {"a": "eA==", "b": "eA=="}, "stringData": {"a": "new"}}
    )
    assert secret["data"] == {"a": "bmV3", "b": "eA=="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


def test_a_namespace_comes_with_label_finalizer_and_phase(kinds):
    made = kinds.created("Namespace", {"status": {"phase": "Terminating"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    made["status"]["phase"] = "Terminating"
    (error,) = kinds.strategy_of("Namespace").check_status(made, made)
    assert error.field == "status.Phase"


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:0", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(kinds, image, policy):
    pod = kinds.created("Pod", {"spec": {"containers": [{"name": "c", "image": image}]}})
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            "Burstable",
        ),
    ],
)
def test_the_quality_of_service_follows_from_requests_and_limits(kinds, resources, expected):
    container = {"name": "c", "image": "i", "resources": resources}
    pod = kinds.created("Pod", {"spec": {"containers": [container]}})
    assert pod["status"] == {"phase": "Pending", "qosClass": expected}


def test_limits_of_a_range_follow_from_one_another(kinds):
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"},
            "default": {"memory": "64Mi"}}  # fmt: skip
    made = kinds.created("LimitRange", {"spec": {"limits": [item]}})
    (filled,) = made["spec"]["limits"]
    assert filled["default"] == {"cpu": "2", "memory": "64Mi"}
    assert filled["defaultRequest"] == {"cpu": "2", "memory": "64Mi"}


def test_a_service_is_given_addresses_and_keeps_them(kinds):
    ports = {"ports": [{"port": 80}], "type": "NodePort"}
    old = kinds.created("Service", {"spec": ports})
    assert old["spec"]["clusterIP"].startswith("10.0.")
    assert 30_000 <= old["spec"]["ports"][0]["nodePort"] < 32_768
    new = kinds.decoded("Service", {"spec": ports})
    kinds.strategy_of("Service").prepare_for_update(kinds.context_of("Service"), new, old)
    assert new["spec"] == old["spec"]


def test_a_job_selects_its_own_pods(kinds):
    job = kinds.created("Job", SOUND["Job"])
    labels = job["spec"]["template"]["metadata"]["labels"]
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    assert labels["job-name"] == "a"


def test_generations_count_what_they_should(kinds):
    strategy, context = kinds.strategy_of("Deployment"), kinds.context_of("Deployment")
    old = kinds.created("Deployment", workload())
    assert old["metadata"]["generation"] == 1

    def generation(new):
        new["metadata"]["generation"] = 1
        strategy.prepare_for_update(context, new, old)
        return new["metadata"]["generation"]

    assert generation(kinds.decoded("Deployment", workload())) == 1
    assert generation(kinds.decoded("Deployment", workload(replicas=3))) == 2
    annotated = {**workload(), "metadata": {"annotations": {"a": "b"}}}
    assert generation(kinds.decoded("Deployment", annotated)) == 2
    labelled = {**workload(), "metadata": {"labels": {"a": "b"}}}
    assert generation(kinds.decoded("Deployment", labelled)) == 1


def test_an_update_ignores_the_status_and_a_status_update_the_spec(kinds):
    strategy, context = kinds.strategy_of("Deployment"), kinds.context_of("Deployment", "status")
    old = kinds.created("Deployment", {**workload(), "status": {"replicas": 9}})
    assert old["status"] == {}
    new = kinds.decoded("Deployment", {**workload(replicas=7), "status": {"replicas": 2}})
    strategy.prepare_for_update(context, new, old)
    assert new["spec"] == old["spec"]
    assert new["status"] == {"replicas": 2}


def test_events_of_the_newer_group_are_strict(kinds):
    events = lookup.strategy_of("events.k8s.io", "events")
    context = Context(served.of(events.definition, events.definition.storage_version))
    event = {"metadata": {"name": "a", "namespace": "ns"}, "regarding": {"namespace": "ns"},
             "type": "Loud"}  # fmt: skip
    assert sorted(error.text() for error in events.validate(context, event)) == [
        "eventTime: Required value",
        'type: Invalid value: "": has invalid value: Loud',
    ]
    assert events.definition.error_group == ""


def test_every_resource_has_a_strategy():
    for resource in resources.read():
        assert isinstance(lookup.strategy_of(resource.group, resource.plural), Strategy)


def test_surprising_names_and_variables_are_warned_of(kinds):
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    container = {"name": "c", "image": "i", "env": twice}
    spec = {"containers": [container]}
    pod = kinds.created("Pod", {"metadata": {"name": "a.b"}, "spec": spec})
    strategy, context = kinds.strategy_of("Pod"), kinds.context_of("Pod")
    hidden = (
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when '
        "using apply"
    )
    name, variable = strategy.warnings_on_create(context, pod)
    assert name.endswith("a DNS label is recommended: [must not contain dots]")
    assert variable == hidden
    assert strategy.warnings_on_update(context, pod, pod) == []


@pytest.mark.parametrize(
    ("kind", "rolling", "unavailable"),
    [
        ("RollingUpdate", None, 1),
        ("RollingUpdate", {}, 1),
        ("OnDelete", {}, 0),
        ("OnDelete", None, None),
    ],
)
def test_a_rolling_update_of_a_daemon_set_has_both_numbers(kinds, kind, rolling, unavailable):
    """They are 0 unless it is used: the internal type has no pointers to them."""
    made = kinds.created(
        "DaemonSet", workload(updateStrategy={"type": kind, "rollingUpdate": rolling})
    )
    found = made["spec"]["updateStrategy"].get("rollingUpdate")
    assert found == (
        None if unavailable is None else {"maxSurge": 0, "maxUnavailable": unavailable}
    )


def test_daemon_sets_count_their_templates(kinds):
    old = kinds.created("DaemonSet", workload())
    key = "deprecated.daemonset.template.generation"
    assert old["metadata"]["annotations"] == {key: "1"}
    template = {**workload()["spec"]["template"], "metadata": {"labels": {"a": "b", "c": "d"}}}
    new = kinds.decoded("DaemonSet", workload(template=template))
    kinds.strategy_of("DaemonSet").prepare_for_update(kinds.context_of("DaemonSet"), new, old)
    assert new["metadata"]["annotations"] == {key: "2"}
