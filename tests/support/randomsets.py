"""Random sets of objects, of which a server accepts a part."""

import random
from typing import Any

from inkube.apiserver.manifests import Manifest

Members = tuple[str, dict[str, Any]]
"""The apiVersion, and the members other than kind and metadata."""
NAMES = ("a", "b", "c")
NAMESPACES = ("default", "limited", "restricted", "missing", "new")


def pod_spec(chance: random.Random) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": chance.choice(("nginx", "nginx:1", ""))}
    if chance.random() < 0.3:
        container["resources"] = {"limits": {"cpu": chance.choice(("1", "100m", "-1"))}}
    if chance.random() < 0.3:
        container["securityContext"] = {"privileged": chance.random() < 0.5}
    if chance.random() < 0.2:
        container["env"] = [{"name": "A", "value": str(chance.random())}]
    return {
        "containers": [container],
        **({"restartPolicy": "Never"} if chance.random() < 0.5 else {}),
    }


def config_map(chance: random.Random) -> Members:
    return "v1", {"data": {chance.choice("xyz"): chance.choice(("1", "2"))}}


def secret(chance: random.Random) -> Members:
    return "v1", {"data": {"a": chance.choice(("Yg==", "Yw=="))}}


def service(chance: random.Random) -> Members:
    port = {"port": chance.choice((80, 443, 70_000))}
    more = {"clusterIP": "None"} if chance.random() < 0.3 else {}
    return "v1", {"spec": {"ports": [port], "selector": {"a": "b"}, **more}}


def pod(chance: random.Random) -> Members:
    return "v1", {"spec": pod_spec(chance)}


def deployment(chance: random.Random) -> Members:
    labels = {"app": chance.choice("xy")}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(chance)}
    template["spec"].pop("restartPolicy", None)
    selector = {"matchLabels": {"app": chance.choice(("x", labels["app"]))}}
    return "apps/v1", {
        "spec": {"replicas": chance.choice((1, 2, -1)), "selector": selector, "template": template}
    }


def job(chance: random.Random) -> Members:
    spec = {**pod_spec(chance), "restartPolicy": chance.choice(("Never", "Always"))}
    return "batch/v1", {"spec": {"template": {"spec": spec}}}


def quota(chance: random.Random) -> Members:
    return "v1", {"spec": {"hard": {"configmaps": chance.choice(("1", "9"))}}}


def boat(chance: random.Random) -> Members:
    return "example.com/v1", {"spec": {"size": chance.choice((1, 2, "three"))}}


KINDS = {
    "ConfigMap": config_map, "Secret": secret, "Service": service, "Pod": pod,
    "Deployment": deployment, "Job": job, "ResourceQuota": quota, "Boat": boat,
}  # fmt: skip


def random_set(chance: random.Random, boat_crd: dict[str, Any]) -> list[Manifest]:
    found = []
    if chance.random() < 0.5:
        found.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
    if chance.random() < 0.5:
        found.append(boat_crd)
    for _ in range(chance.randrange(3, 12)):
        kind = chance.choice(list(KINDS))
        api_version, members = KINDS[kind](chance)
        meta = {"name": chance.choice(NAMES), "namespace": chance.choice(NAMESPACES)}
        found.append({"apiVersion": api_version, "kind": kind, "metadata": meta, **members})
    chance.shuffle(found)
    return [Manifest(f"object {number}", obj) for number, obj in enumerate(found)]
