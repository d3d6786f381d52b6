"""Every verb of every kind in discovery works, with and without dry run."""

from typing import Any

import aiohttp
import pytest

from inkube import APIServer

CONTAINERS = [{"name": "c", "image": "i"}]
LABELS = {"a": "b"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}}
WORKLOAD = {"spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}}
ONCE = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
RULES = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
]
POLICY = {"matchConstraints": {"resourceRules": RULES}}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "name": "r"}
EXTRA: dict[str, dict[str, Any]] = {
    "APIService": {
        "metadata": {"name": "v9.walk.example.com"},
        "spec": {
            "group": "walk.example.com",
            "version": "v9",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
        },
    },
    "ClusterRoleBinding": {"roleRef": {**ROLE, "kind": "ClusterRole"}},
    "ControllerRevision": {"data": {"spec": {}}, "revision": 1},
    "CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": ONCE}}}},
    "CSIDriver": {"spec": {}},
    "CSINode": {"spec": {"drivers": []}},
    "CSIStorageCapacity": {"storageClassName": "c"},
    "CustomResourceDefinition": {
        "metadata": {"name": "walks.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "walks", "kind": "Walk"},
            "scope": "Cluster",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    },
    "DaemonSet": WORKLOAD,
    "Deployment": WORKLOAD,
    "DeviceClass": {"spec": {}},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": []},
    "Event": {
        "type": "Normal",
        "reason": "Walked",
        "action": "Walk",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingInstance": "w-1",
    },
    "FlowSchema": {"spec": {"priorityLevelConfiguration": {"name": "l"}}},
    "HorizontalPodAutoscaler": {
        "spec": {
            "maxReplicas": 1,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        }
    },
    "IPAddress": {
        "metadata": {"name": "192.0.2.1"},
        "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "s"}},
    },
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
    "IngressClass": {"spec": {"controller": "example.com/c"}},
    "Job": {"spec": {"template": ONCE}},
    "Lease": {"spec": {}},
    "LimitRange": {"spec": {"limits": []}},
    "MutatingAdmissionPolicy": {
        "spec": {
            **POLICY,
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {
                        "expression": "[JSONPatch{op: 'test', path: '/kind', value: 'Pod'}]"
                    },
                },
            ],
        }
    },
    "MutatingAdmissionPolicyBinding": {"spec": {"policyName": "p"}},
    "NetworkPolicy": {"spec": {"podSelector": {}}},
    "PersistentVolume": {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
        }
    },
    "PersistentVolumeClaim": {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
    },
    "Pod": {"spec": {"containers": CONTAINERS}},
    "PodDisruptionBudget": {"spec": {"selector": {"matchLabels": LABELS}}},
    "PodTemplate": {"template": TEMPLATE},
    "PriorityClass": {"value": 1},
    "PriorityLevelConfiguration": {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    },
    "ReplicaSet": WORKLOAD,
    "ReplicationController": {"spec": {"selector": LABELS, "template": TEMPLATE}},
    "ResourceClaim": {"spec": {}},
    "ResourceClaimTemplate": {"spec": {"spec": {}}},
    "ResourceSlice": {
        "spec": {
            "driver": "example.com",
            "allNodes": True,
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        }
    },
    "RoleBinding": {"roleRef": {**ROLE, "kind": "Role"}},
    "RuntimeClass": {"handler": "h"},
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "ServiceCIDR": {"spec": {"cidrs": ["192.0.2.0/24"]}},
    "StatefulSet": {"spec": {**WORKLOAD["spec"], "serviceName": "s"}},
    "StorageClass": {"provisioner": "example.com/p"},
    "ValidatingAdmissionPolicy": {"spec": {**POLICY, "validations": [{"expression": "true"}]}},
    "ValidatingAdmissionPolicyBinding": {
        "spec": {"policyName": "p", "validationActions": ["Deny"]}
    },
    "VolumeAttachment": {
        "spec": {
            "attacher": "a.example.com",
            "nodeName": "n",
            "source": {"persistentVolumeName": "v"},
        }
    },
    "VolumeAttributesClass": {"driverName": "d.example.com", "parameters": {"a": "b"}},
}
"""The members of a minimal object, except its name."""
WAYS = {"get": "GET", "create": "POST", "update": "PUT"}
ELSEWHERE = {
    "Binding", "CertificateSigningRequest", "LocalSubjectAccessReview", "SelfSubjectAccessReview",
    "SelfSubjectReview", "SelfSubjectRulesReview", "SubjectAccessReview", "TokenReview",
    "ComponentStatus",
}  # fmt: skip
"""Kinds that need special requests; they have their own tests."""


@pytest.fixture
async def kinds():
    """(group and version, resource, its subresources) of everything in discovery."""
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:
        groups = await _read(session, "/apis")
        lists = ["/api/v1"]
        lists += [
            f"/apis/{version['groupVersion']}"
            for group in groups["groups"]
            for version in group["versions"]
        ]
        found = []
        for path in lists:
            listed = (await _read(session, path))["resources"]
            found += [
                (path, one, [s for s in listed if s["name"].startswith(one["name"] + "/")])
                for one in listed
                if "/" not in one["name"] and "grafana" not in path and "inkube" not in path
            ]
        yield session, found


async def _read(session: aiohttp.ClientSession, path: str) -> Any:
    async with session.get(path) as answer:
        assert answer.status == 200, path
        return await answer.json()


async def _ask(
    session: aiohttp.ClientSession, verb: str, path: str, body: Any = None, **headers: str
) -> int:
    async with session.request(verb, path, json=body, headers=headers) as answer:
        text = await answer.text()
        assert answer.status < 400, (verb, path, answer.status, text)
        return answer.status


async def _put_what_is_there(session: aiohttp.ClientSession, one: str, dry: str) -> None:
    """Replace an object by itself; read it again if controllers changed its status meanwhile."""
    for _ in range(5):
        held = await _read(session, one)
        async with session.put(one + dry, json=held) as answer:
            code, text = answer.status, await answer.text()
        if code != 409:
            break
    assert code == 200, (one, text)


def _place(path: str, resource: dict[str, Any]) -> str:
    namespace = "/namespaces/default" if resource["namespaced"] else ""
    return f"{path}{namespace}/{resource['name']}"


def _minimal(path: str, kind: str) -> dict[str, Any]:
    there = {"namespace": "default"}
    event: dict[str, Any] = {"reportingComponent": "example.com/w", "involvedObject": there}
    if path.startswith("/apis"):
        event = {"reportingController": "example.com/w", "regarding": there}
    version = path.removeprefix("/apis/").removeprefix("/api/")
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "walk"}}
    return {**head, **EXTRA.get(kind, {}), **(event if kind == "Event" else {})}


async def test_every_listed_verb_of_every_kind_does_its_work(kinds):
    session, found = kinds
    assert len(found) > 60
    for path, resource, _ in found:
        verbs, kind = set(resource["verbs"]), resource["kind"]
        if kind in ELSEWHERE:
            continue
        place = _place(path, resource)
        assert {"get", "list", "create", "update", "patch", "delete"} <= verbs, place
        body = _minimal(path, kind)
        one = f"{place}/{body['metadata']['name']}"
        dry = "?dryRun=All"
        await _ask(session, "POST", place + dry, body)
        await _ask(session, "POST", place, body)
        await _put_what_is_there(session, one, dry)
        merge = {"metadata": {"labels": {"walked": "yes"}}}
        await _ask(session, "PATCH", one + dry, merge, **_as("merge-patch+json"))
        owned = {**body, "metadata": {**body["metadata"], "labels": {"applied": "yes"}}}
        applied = f"{one}{dry}&fieldManager=walk&force=true"
        await _ask(session, "PATCH", applied, owned, **_as("apply-patch+yaml"))
        await _ask(session, "GET", place)
        await _ask(session, "DELETE", one + dry)
        await _ask(session, "DELETE", one)


async def test_every_listed_part_of_a_kind_is_there(kinds):
    session, found = kinds
    for path, resource, parts in found:
        if resource["kind"] in ELSEWHERE or not parts:
            continue
        place, body = _place(path, resource), _minimal(path, resource["kind"])
        body["metadata"] = {"name": f"p-{body['metadata']['name']}"}
        if resource["kind"] in ("APIService", "CustomResourceDefinition", "IPAddress"):
            body = _minimal(path, resource["kind"])
        await _ask(session, "POST", place, body)
        one = f"{place}/{body['metadata']['name']}"
        for part in parts:
            if part["name"] == "services/proxy":  # 404 as long as the service has no endpoints
                continue
            verb = next(verb for verb in WAYS if verb in part["verbs"])
            name = part["name"].partition("/")[2]
            async with session.request(WAYS[verb], f"{one}/{name}", json=None) as answer:
                assert answer.status not in (404, 405), (verb, one, name, await answer.text())
        await _ask(session, "DELETE", one)


def _as(media: str) -> dict[str, str]:
    return {"Content-Type": f"application/{media}"}
