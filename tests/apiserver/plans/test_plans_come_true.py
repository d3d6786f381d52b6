"""A plan equals what applying the same objects then does: random sets of objects.

`INKUBE_PLANS=200 pytest …` runs more sets.
"""

import os
import random
import re

import aiohttp
import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver import plans, sources
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import fields
from inkube.apiserver.plans.outcomes import Action
from inkube.schemas.status import StatusError

SETS = int(os.environ.get("INKUBE_PLANS", "4"))
NAMES = ("a", "b", "c")
NAMESPACES = ("default", "limited", "restricted", "missing", "new")
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b10\.\d+\.\d+\.\d+\b")


def pod_spec(chance):
    container = {"name": "main", "image": chance.choice(("nginx", "nginx:1", ""))}
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


def config_map(chance):
    return "v1", {"data": {chance.choice("xyz"): chance.choice(("1", "2"))}}


def secret(chance):
    return "v1", {"data": {"a": chance.choice(("Yg==", "Yw=="))}}


def service(chance):
    port = {"port": chance.choice((80, 443, 70_000))}
    more = {"clusterIP": "None"} if chance.random() < 0.3 else {}
    return "v1", {"spec": {"ports": [port], "selector": {"a": "b"}, **more}}


def pod(chance):
    return "v1", {"spec": pod_spec(chance)}


def deployment(chance):
    labels = {"app": chance.choice("xy")}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(chance)}
    template["spec"].pop("restartPolicy", None)
    selector = {"matchLabels": {"app": chance.choice(("x", labels["app"]))}}
    return "apps/v1", {
        "spec": {"replicas": chance.choice((1, 2, -1)), "selector": selector, "template": template}
    }


def job(chance):
    spec = {**pod_spec(chance), "restartPolicy": chance.choice(("Never", "Always"))}
    return "batch/v1", {"spec": {"template": {"spec": spec}}}


def quota(chance):
    return "v1", {"spec": {"hard": {"configmaps": chance.choice(("1", "9"))}}}


def boat(chance):
    return "example.com/v1", {"spec": {"size": chance.choice((1, 2, "three"))}}


KINDS = {
    "ConfigMap": config_map, "Secret": secret, "Service": service, "Pod": pod,
    "Deployment": deployment, "Job": job, "ResourceQuota": quota, "Boat": boat,
}  # fmt: skip


def random_set(chance, boat_crd):
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


async def fill(file, chance, boat_crd):
    """The data of a cluster: namespaces with rules, and some objects."""
    async with APIServer(data=file, controllers=False) as server:
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        for name, own in (("limited", {}), ("restricted", labels)):
            meta = {"name": name, "labels": own}
            await server.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        meta = {"name": "few", "namespace": "limited"}
        spec = {"hard": {"configmaps": "2", "pods": "1"}}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec}
        await server.client.create(quota)
        async with aiohttp.ClientSession() as session:
            for manifest in random_set(chance, boat_crd):
                manager = chance.choice(("kubectl", "helm"))
                await applied(server, session, manifest.object, manager)


async def applied(server, session, obj, manager="kubectl"):
    """Apply an object as kubectl does. Returns the code, the body and the state before."""
    try:
        resource = server.client.resource_of(obj)
    except StatusError as error:
        return error.code, {"message": error.message}, None
    meta = obj["metadata"]
    url = server.url + resource.path(meta.get("namespace", ""), meta["name"])
    async with session.get(url) as answer:
        before = await answer.json() if answer.status == 200 else None
    query = {"fieldManager": manager, "fieldValidation": "Strict"}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    async with session.patch(url, json=obj, params=query, headers=headers) as answer:
        body = await answer.json()
    if obj["kind"] == "CustomResourceDefinition":
        await server.settled()
    return answer.status, body, before


def normal(text):
    return _RANDOM.sub("?", text)


@pytest.mark.timeout(SETS * SECONDS)
@pytest.mark.parametrize("number", range(SETS))
async def test_a_plan_comes_true(number, tmp_path, boat_crd):
    chance = random.Random(number)
    file = tmp_path / "a.db"
    await fill(file, chance, boat_crd)
    found = random_set(chance, boat_crd)
    plan = await plans.plan(await sources.snapshots.load(file), found, plans.PlanOptions())
    async with (
        APIServer(data=file, controllers=False) as server,
        aiohttp.ClientSession() as session,
    ):
        for manifest, outcome in zip(plans.ordered(found), plan.outcomes, strict=True):
            code, body, before = await applied(server, session, manifest.object)
            assert (outcome.code, normal(outcome.message)) == (
                code, "" if code in (200, 201) else normal(body["message"]),
            ), manifest.object  # fmt: skip
            if code in (200, 201):
                changes = fields.changes(before, body, manifest.object)
                told = [] if outcome.action is Action.UNCHANGED else changes
                assert normal(str(outcome.changes)) == normal(str(told))
                assert (outcome.action is Action.CREATE) == (before is None)
                assert (outcome.action is Action.UNCHANGED) == (
                    before is not None and fields.leaves(before) == fields.leaves(body)
                )
