"""Validation of built-in kinds."""

import pytest

from inkube.schemas.builtin import flowcontrol

POD = {"containers": [{"name": "c", "image": "i:1"}]}
BINDING = {
    "roleRef": {"kind": "Role", "name": "r"},
    "subjects": [{"kind": "User", "name": "u"}],
}
JOB = {"spec": {"template": {"spec": {**POD, "restartPolicy": "OnFailure"}}}}


def workload(**spec):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        (
            "ConfigMap",
            {"data": {"k": "v"}, "binaryData": {"k": "dg=="}},
            ['data[k]: Invalid value: "k": duplicate of key present in binaryData'],
        ),
        (
            "Secret",
            {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "x"}},
            ["data[tls.key]: Required value"],
        ),
        (
            "Secret",
            {
                "type": "kubernetes.io/dockerconfigjson",
                "stringData": {".dockerconfigjson": "{auths"},
            },
            [
                (
                    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
                    "invalid character "
                    "'a' looking for beginning of object key string"
                )
            ],
        ),
        (
            "Namespace",
            {"metadata": {"name": "a.b"}},
            ['metadata.name: Invalid value: "a.b": must not contain dots'],
        ),
        (
            "Role",
            {"rules": [{}]},
            [
                (
                    "rules[0].apiGroups: Required value: resource rules must supply at least one "
                    "api group"
                ),
                (
                    "rules[0].resources: Required value: resource rules must supply at least one "
                    "resource"
                ),
                "rules[0].verbs: Required value: verbs must contain at least one value",
            ],
        ),
        (
            "ClusterRoleBinding",
            {
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "s"}],
            },
            [
                'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
                "subjects[0].namespace: Required value",
            ],
        ),
        (
            "Lease",
            {"spec": {"leaseDurationSeconds": 0}},
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            "PriorityClass",
            {"value": 1_000_000_001},
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
        (
            "LimitRange",
            {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}},
            ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
        ),
        ("Pod", {"spec": {}}, ["spec.containers: Required value"]),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "a",
                            "image": "x",
                            "imagePullPolicy": "Daily",
                            "ports": [{"containerPort": 0}],
                        }
                    ],
                    "volumes": [{"name": "v"}, {"name": "v"}],
                }
            },
            [
                (
                    'spec.containers[0].imagePullPolicy: Unsupported value: "Daily": '
                    "supported values: "
                    '"Always", "IfNotPresent", "Never"'
                ),
                "spec.containers[0].ports[0].containerPort: Required value",
                'spec.volumes[1].name: Duplicate value: "v"',
            ],
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "a",
                            "image": "x",
                            "volumeMounts": [{"name": "v", "mountPath": "/x"}],
                        }
                    ]
                }
            },
            ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
        ),
        (
            "Deployment",
            workload(replicas=-1),
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "Deployment",
            workload(selector={"matchLabels": {"a": "c"}}),
            [
                (
                    'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` '
                    "does not match "
                    "template `labels`"
                )
            ],
        ),
        (
            "Job",
            {"spec": {"template": {"spec": POD}}},
            [
                (
                    "spec.template.spec.restartPolicy: Required value: valid values: "
                    '"OnFailure", "Never"'
                )
            ],
        ),
        (
            "CronJob",
            {"spec": {"schedule": "* *", "jobTemplate": JOB}},
            ['spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]'],
        ),
        (
            "Service",
            {"spec": {"ports": [{"port": 80}, {"port": 70000}]}},
            [
                "spec.ports[0].name: Required value",
                "spec.ports[1].name: Required value",
                "spec.ports[1].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
                (
                    "spec.ports[1].targetPort: Invalid value: 70000: must be between 1 and "
                    "65535, inclusive"
                ),
            ],
        ),
        ("Service", {"spec": {"type": "ExternalName"}}, ["spec.externalName: Required value"]),
        (
            "Ingress",
            {"spec": {"rules": [{"http": {"paths": [{"backend": {}}]}}]}},
            ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
        ),
        (
            "PersistentVolumeClaim",
            {"spec": {}},
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
    ],
)
def test_an_invalid_object_has_these_errors(kinds, kind, obj, expected):
    assert kinds.texts(kind, obj) == sorted(expected)


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (
            "ConfigMap",
            {"immutable": True, "data": {"a": "1"}},
            {"data": {"a": "2"}},
            [
                "data: Forbidden: field is immutable when `immutable` is set",
                "immutable: Forbidden: field is immutable when `immutable` is set",
            ],
        ),
        (
            "Secret",
            {"type": "example.com/a"},
            {},
            ['type: Invalid value: "Opaque": field is immutable'],
        ),
        (
            "ControllerRevision",
            {"data": {}, "revision": 1},
            {"revision": 1},
            ["data: Invalid value: null: field is immutable"],
        ),
        ("ControllerRevision", {"data": {}, "revision": 1}, {"data": {}, "revision": 1}, []),
        (
            "PriorityClass",
            {"value": 1},
            {"value": 2},
            ["value: Forbidden: may not be changed in an update."],
        ),
        (
            "RoleBinding",
            BINDING,
            {"roleRef": {"kind": "Role", "name": "x"}},
            [
                (
                    'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
                    '"Name":"x"}: cannot change roleRef'
                )
            ],
        ),
        (
            "Deployment",
            workload(),
            workload(selector={"matchLabels": {"a": "b", "c": "d"}}),
            [
                (
                    'spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is '
                    "immutable"
                ),
                (
                    'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` '
                    "does not match "
                    "template `labels`"
                ),
            ],
        ),
    ],
)
def test_immutable_fields_are_refused_on_updates(kinds, kind, old, new, expected):
    assert kinds.update_texts(kind, old, new) == sorted(expected)


def test_most_of_a_pod_s_spec_is_fixed_but_its_image_is_not(kinds):
    pod = kinds.created("Pod", {"spec": POD})
    other = kinds.decoded("Pod", {"spec": {**pod["spec"], "restartPolicy": "Never"}})
    (error,) = kinds.strategy_of("Pod").check_update(other, pod)
    assert error.text().startswith("spec: Forbidden: pod updates may not change fields other than")
    newer = [{**pod["spec"]["containers"][0], "image": "i:2"}]
    changed = kinds.decoded("Pod", {"spec": {**pod["spec"], "containers": newer}})
    kinds.strategy_of("Pod").prepare_for_update(kinds.context_of("Pod"), changed, pod)
    assert kinds.strategy_of("Pod").check_update(changed, pod) == []
    assert changed["metadata"]["generation"] == 2


CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}
CONDITIONS = {"conditions": [{"type": "A"}, {"type": "A"}, {}]}
REPEATED = [
    'status.conditions[1].type: Duplicate value: "A"',
    "status.conditions[2].type: Required value",
]


@pytest.mark.parametrize(
    ("kind", "obj", "status", "expected"),
    [
        ("FlowSchema", {}, CONDITIONS, REPEATED),
        ("PriorityLevelConfiguration", {}, CONDITIONS, REPEATED),
        (
            "APIService",
            {"spec": {"version": "v1"}},
            {"conditions": [{"type": "Available", "status": "Maybe"}]},
            [
                (
                    'status.conditions[0].status: Unsupported value: "Maybe": supported values: '
                    '"True", "False", "Unknown"'
                )
            ],
        ),
        (
            "PersistentVolumeClaim",
            CLAIM,
            {
                "capacity": {"storage": "-1500m"},
                "allocatedResourceStatuses": {"cpu": "NodeResizePending"},
                "allocatedResources": {"example.com/x": "-500m", "storage": "-1"},
            },
            [
                "status.capacity[storage]: Invalid value: -2: must be a valid resource quantity",
                (
                    'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: '
                    '"storage"'
                ),
                (
                    "status.allocatedResources[example.com/x]: Invalid value: -1: must be a valid "
                    "resource quantity"
                ),
                (
                    "status.allocatedResources[storage]: Invalid value: -1: must be a valid "
                    "resource quantity"
                ),
            ],
        ),
        (
            "ValidatingAdmissionPolicy",
            {},
            {
                "typeChecking": {"expressionWarnings": [{"fieldRef": " "}]},
                "conditions": [{"type": "a b", "status": "True"}],
            },
            [
                "status.typeChecking.expressionWarnings[0].warning: Required value",
                "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
                (
                    'status.conditions[0].type: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
                    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                "status.conditions[0].lastTransitionTime: Required value",
                "status.conditions[0].reason: Required value",
            ],
        ),
    ],
)
def test_invalid_statuses_are_refused(kinds, kind, obj, status, expected):
    assert kinds.status_texts(kind, obj, status) == expected


@pytest.mark.parametrize(
    ("kind", "name", "changes", "expected"),
    [
        ("FlowSchema", "exempt", {"rules": []}, "spec of 'exempt'"),
        ("FlowSchema", "catch-all", {"matchingPrecedence": 9999}, "spec of 'catch-all'"),
        (
            "PriorityLevelConfiguration",
            "exempt",
            {"limited": {"limitResponse": {"type": "Reject"}}},
            "spec of 'exempt' except the 'spec.exempt' field",
        ),
        (
            "PriorityLevelConfiguration",
            "catch-all",
            {"limited": {"limitResponse": {"type": "Reject"}}},
            "spec of 'catch-all'",
        ),
    ],
)
def test_mandatory_objects_of_flow_control_are_fixed(kinds, kind, name, changes, expected):
    spec = flowcontrol.specs()[f"{kind.lower()}s"][name]
    obj = {"metadata": {"name": name}, "spec": spec}
    assert kinds.texts(kind, obj) == []
    errors = kinds.update_texts(kind, obj, {**obj, "spec": {**spec, **changes}})
    (error,) = [text for text in errors if text.startswith("spec: ")]
    assert error.endswith(f"}}: {expected} must equal the fixed value")


def test_the_exempt_priority_level_can_lend(kinds):
    spec = flowcontrol.specs()["prioritylevelconfigurations"]["exempt"]
    lends = {**spec, "exempt": {"nominalConcurrencyShares": 3, "lendablePercent": 50}}
    assert (
        kinds.texts("PriorityLevelConfiguration", {"metadata": {"name": "exempt"}, "spec": lends})
        == []
    )
