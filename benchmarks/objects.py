"""The kind that most measurements use, and objects of this kind of about 1 KB."""

import json
import time
from contextlib import closing
from typing import Any

from benchmarks import servers
from benchmarks.servers import Request, Server

Object = dict[str, Any]
GROUP = "bench.example.com"
API_VERSION = f"{GROUP}/v1"
COLLECTION = f"/apis/{API_VERSION}/namespaces/default/things"
_TEXT = {"type": "string", "maxLength": 200}
_SPEC = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": _TEXT,
        "replicas": {"type": "integer", "minimum": 0, "default": 1},
        "mode": {"type": "string", "enum": ["Fast", "Safe"]},
        "tags": {"type": "array", "items": _TEXT},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": _TEXT, "port": {"type": "integer", "maximum": 65535}},
            },
        },
        "notes": {"type": "object", "additionalProperties": _TEXT},
    },
}


def definition() -> Object:
    """Return the CRD of Thing."""
    schema = {
        "type": "object",
        "properties": {
            "spec": _SPEC,
            "status": {"type": "object", "properties": {"phase": _TEXT, "seen": _TEXT}},
        },
    }
    return crd("things", "Thing", schema)


def new(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    labels: Object | None = None,
    **members: Any,
) -> Object:
    """Return an object with these members. Empty ones of its metadata are omitted."""
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    metadata = {member: value for member, value in metadata.items() if value}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


def crd(plural: str, kind: str, schema: Object) -> Object:
    """Return a CRD with one version and a status subresource."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    spec = {
        "group": GROUP,
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
        "scope": "Namespaced",
        "versions": [version],
    }
    api_version = "apiextensions.k8s.io/v1"
    return new(api_version, "CustomResourceDefinition", f"{plural}.{GROUP}", spec=spec)


def thing(name: str) -> Object:
    """Return a Thing of about 1 KB in its stored form."""
    spec = {
        "title": f"the thing {name}",
        "replicas": 3,
        "mode": "Safe",
        "tags": ["one", "two", "three"],
        "ports": [{"name": f"port-{n}", "port": 8000 + n} for n in range(3)],
        "notes": {"about": "x" * 150},
    }
    return new(API_VERSION, "Thing", name, labels={"app": "bench", "tier": "front"}, spec=spec)


def pod(name: str) -> Object:
    """Return a Pod with the fields that most charts set."""
    return new("v1", "Pod", name, labels={"app": "bench"}, spec=_pod_spec())


def deployment(name: str) -> Object:
    """Return a Deployment of such pods."""
    labels = {"app": "bench"}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec()}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return new("apps/v1", "Deployment", name, labels=labels, spec=spec)


def _pod_spec() -> Object:
    container = {
        "name": "main",
        "image": "nginx:1.25",
        "ports": [{"containerPort": 80, "name": "http"}],
        "env": [{"name": "A", "value": "b"}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "64Mi"},
            "limits": {"cpu": "200m", "memory": "128Mi"},
        },
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
    }
    return {"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]}


def installed(server: Server, *definitions: Object) -> None:
    """Create CRDs, and wait until their kinds are served."""
    with closing(server.connect()) as connection:
        for each in definitions:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            servers.ask(connection, Request("POST", path, each))
        for each in definitions:
            _await(connection, f"/apis/{API_VERSION}/{each['spec']['names']['plural']}")


def _await(connection: Any, path: str) -> None:
    for _ in range(500):
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        if response.status == 200:
            assert "items" in json.loads(body)
            return
        time.sleep(0.01)
    raise RuntimeError(f"{path} is not served")
