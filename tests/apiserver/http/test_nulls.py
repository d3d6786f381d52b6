"""A null member of a built-in kind gets the same response as a missing one, because Go reads both
alike.

Tested for every member of every body below.
"""

import copy
from typing import Any

import pytest
from mutations import below

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEFAULT = "/api/v1/namespaces/default"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod", "namespace": "default", "labels": {"app": "a"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "main",
                "ports": [{"containerPort": 80, "name": "http"}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
                "readinessProbe": {"httpGet": {"port": "http", "path": "/"}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        "volumes": [{"name": "data", "configMap": {"name": "a", "items": []}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
    },
}
SELECTOR = {"matchLabels": {"app": "a"}}
ATTRIBUTES = {"resource": "pods", "verb": "get", "namespace": "default", "name": "a"}
MAPS = {"labels", "limits", "requests", "matchLabels", "selector", "extra"}
RULES = [{
    "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
    "resources": ["deployments"], "scope": "*",
}]  # fmt: skip


def of(version: str, kind: str, **members: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, **members}


BODIES = {
    f"DELETE {DEFAULT}/configmaps/kube-root-ca.crt": of(
        "v1", "DeleteOptions", gracePeriodSeconds=0, propagationPolicy="Background",
        preconditions={"uid": "u", "resourceVersion": "1"}, dryRun=["All"],
    ),
    f"DELETE {DEFAULT}/configmaps/other": of("v1", "Status", gracePeriodSeconds=0),
    f"POST {DEFAULT}/pods": POD,
    f"POST {DEFAULT}/pods/pod/eviction": {
        **of("policy/v1", "Eviction", deleteOptions={"dryRun": ["All"], "gracePeriodSeconds": 1}),
        "metadata": {"name": "pod", "namespace": "default"},
    },
    f"POST {DEFAULT}/pods/pod/binding": {
        **of("v1", "Binding", target={"kind": "Node", "name": "n", "apiVersion": "v1"}),
        "metadata": {"name": "pod", "namespace": "default"},
    },
    f"POST {DEFAULT}/serviceaccounts/default/token": of(
        "authentication.k8s.io/v1", "TokenRequest",
        spec={
            "audiences": ["a"], "expirationSeconds": 3600,
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "pod", "uid": ""},
        },
    ),
    f"POST {DEFAULT}/services": of(
        "v1", "Service",
        spec={"selector": {"a": "b"}, "ports": [{"port": 80, "name": "a", "targetPort": "http"}]},
    ),
    f"POST {DEFAULT}/events": of(
        "v1", "Event", involvedObject={"kind": "Pod", "name": "pod", "namespace": "default"},
        reason="a", message="b", type="Normal", source={"component": "c"},
    ),
    "POST /apis/apps/v1/namespaces/default/deployments": of(
        "apps/v1", "Deployment",
        spec={
            "replicas": 1, "selector": SELECTOR,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": POD["spec"]},
        },
    ),
    "POST /apis/batch/v1/namespaces/default/cronjobs": of(
        "batch/v1", "CronJob",
        spec={
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}],
            }}}},
        },
    ),
    "POST /apis/networking.k8s.io/v1/namespaces/default/ingresses": of(
        "networking.k8s.io/v1", "Ingress",
        spec={"rules": [{"host": "a.example", "http": {"paths": [{
            "path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "a", "port": {"number": 80}}},
        }]}}]},
    ),
    "POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings": of(
        "rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
        subjects=[{"kind": "ServiceAccount", "name": "a", "namespace": "default"}],
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    ),
    "POST /apis/apiregistration.k8s.io/v1/apiservices": {
        **of("apiregistration.k8s.io/v1", "APIService", spec={
            "group": "g.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
            "service": {"namespace": "default", "name": "a", "port": 443}, "caBundle": "",
        }),
        "metadata": {"name": "v1.g.example"},
    },
    "POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": of(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
        webhooks=[{
            "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": ""}, "rules": RULES,
            "namespaceSelector": SELECTOR, "matchConditions": [{"name": "a", "expression": "true"}],
        }],
    ),
    "POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": of(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy",
        spec={
            "matchConstraints": {"resourceRules": RULES},
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "validations": [{"expression": "true", "message": "m", "reason": "Invalid"}],
            "variables": [{"name": "a", "expression": "1"}],
            "auditAnnotations": [{"key": "a", "valueExpression": "'a'"}],
        },
    ),
    f"POST {AUTHORIZATION}/subjectaccessreviews": of(
        "authorization.k8s.io/v1", "SubjectAccessReview",
        spec={
            "user": "a", "groups": ["b"], "extra": {"c": ["d"]}, "resourceAttributes": ATTRIBUTES,
        },
    ),
    f"POST {AUTHORIZATION}/selfsubjectaccessreviews": of(
        "authorization.k8s.io/v1", "SelfSubjectAccessReview",
        spec={"resourceAttributes": {**ATTRIBUTES, "fieldSelector": {"requirements": [
            {"key": "spec.nodeName", "operator": "In", "values": ["a"]},
        ]}}},
    ),
    f"POST {AUTHORIZATION}/namespaces/default/localsubjectaccessreviews": of(
        "authorization.k8s.io/v1", "LocalSubjectAccessReview",
        spec={"user": "a", "resourceAttributes": ATTRIBUTES},
    ),
    f"POST {AUTHORIZATION}/selfsubjectrulesreviews": of(
        "authorization.k8s.io/v1", "SelfSubjectRulesReview", spec={"namespace": "default"},
    ),
    "POST /apis/authentication.k8s.io/v1/tokenreviews": of(
        "authentication.k8s.io/v1", "TokenReview", spec={"token": "a", "audiences": ["b"]},
    ),
}  # fmt: skip


def replaced(body: Any, path: tuple[Any, ...], *, gone: bool) -> Any:
    """Return a copy of the body with null at a path, or without the member."""
    changed = copy.deepcopy(body)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    if gone:
        del parent[path[-1]]
    else:
        parent[path[-1]] = None
    return changed


def members(body: Any) -> list[tuple[Any, ...]]:
    """Return the paths of members. A null item of a list or a map is not included, because it means
    an empty item."""
    paths = (path for path in below(body) if path and isinstance(path[-1], str))
    return [path for path in paths if len(path) < 2 or path[-2] not in MAPS]


@pytest.mark.parametrize("request_line", BODIES)
async def test_a_null_member_is_the_same_as_no_member(web, request_line):
    method, _, path = request_line.partition(" ")
    body = BODIES[request_line]
    if "/pods/pod/" in path:
        await web.ask("POST", f"{DEFAULT}/pods", POD)
    places = members(body)
    assert places, body
    for place in places:
        null, gone = [
            await web.ask(method, f"{path}?dryRun=All", replaced(body, place, gone=gone))
            for gone in (False, True)
        ]
        assert b"see the log" not in null.body, place
        assert null.code == gone.code, (place, null.json, gone.json)
