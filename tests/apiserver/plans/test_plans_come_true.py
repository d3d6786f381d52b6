"""A plan equals what applying the same objects then does: random sets of objects.

`INKUBE_PLANS=200 pytest …` runs more sets.
"""

import os
import random
import re

import aiohttp
import pytest
from patience import SECONDS
from randomsets import random_set

from inkube import APIServer
from inkube.apiserver import plans, sources
from inkube.apiserver.plans import fields
from inkube.apiserver.plans.outcomes import Action
from inkube.schemas.status import StatusError

SETS = int(os.environ.get("INKUBE_PLANS", "4"))
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b10\.\d+\.\d+\.\d+\b")


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
