"""`inkube plan --client-side`: the patches of kubectl apply, compared with kubectl."""

import asyncio
import copy
import json
import random
import shutil

import aiohttp
import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver import plans
from inkube.apiserver.cli import main
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import PlanOptions, clientside
from inkube.schemas.meta import GVR

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
KINDS = {
    "Deployment": "apps/v1/deployments", "Service": "v1/services", "ConfigMap": "v1/configmaps",
    "Boat": "example.com/v1/boats",
}  # fmt: skip


def objects(chance, boat):
    """Return objects of four kinds, with lists that are merged, replaced and ordered."""
    labels = {"app": "web"}
    containers = [
        {
            "name": name,
            "image": chance.choice(("a", "b")),
            "env": [
                {"name": key, "value": chance.choice("12")}
                for key in chance.sample("XYZ", chance.randrange(4))
            ],
            "ports": [
                {"containerPort": port} for port in chance.sample((80, 90), chance.randrange(3))
            ],
            **({"args": [chance.choice("pq")]} if chance.random() < 0.5 else {}),
        }
        for name in chance.sample(("one", "two", "three"), chance.randrange(1, 4))
    ]
    volumes = [
        {"name": name, **chance.choice(({"emptyDir": {}}, {"configMap": {"name": "sky"}}))}
        for name in chance.sample(("u", "v"), chance.randrange(3))
    ]
    strategy = chance.choice(({"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 2}}, None))
    spec = {
        "replicas": chance.choice((1, 2)),
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels}, "spec": {"containers": containers, "volumes": volumes},
        },
        **({"strategy": strategy} if strategy else {}),
    }  # fmt: skip
    meta = {"name": "web", "namespace": "default"}
    finalizers = [f"example.com/{each}" for each in chance.sample("ab", chance.randrange(3))]
    data = {key: chance.choice("12") for key in chance.sample("xyz", chance.randrange(4))}
    ports = [
        {"name": name, "port": port}
        for name, port in chance.sample([("a", 80), ("b", 81), ("c", 82)], chance.randrange(1, 4))
    ]
    ship = boat("web", size=chance.choice((1, 2)))
    ship["metadata"]["namespace"] = "default"
    ship["metadata"]["labels"] = dict.fromkeys(chance.sample("kl", chance.randrange(3)), "x")
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": ports}},
        {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {**meta, "finalizers": finalizers}, "data": data,
        },
        ship,
    ]  # fmt: skip


async def states(server):
    """Return the objects without what differs between two servers."""
    found = {}
    for kind, resource in KINDS.items():
        obj = copy.deepcopy(dict(await server.client.get(resource, "web", "default")))
        meta = obj["metadata"]
        for name in ("uid", "resourceVersion", "creationTimestamp"):
            meta.pop(name)
        owned = [(each["manager"], each["fieldsV1"]) for each in meta.pop("managedFields")]
        meta["managers"] = sorted(owned, key=str)
        for name in ("clusterIP", "clusterIPs"):
            obj.get("spec", {}).pop(name, None)
        found[kind] = obj
    return found


async def kubectl(config, *arguments, text=""):
    process = await asyncio.create_subprocess_exec(
        "kubectl", f"--kubeconfig={config}", *arguments,
        stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, errors = await process.communicate(text.encode())
    assert process.returncode == 0, errors.decode()


@needs_kubectl
@pytest.mark.parametrize("number", range(2))
async def test_a_plan_does_what_kubectl_apply_does(number, tmp_path, boat_crd, boat):
    chance = random.Random(number)
    config = tmp_path / "config"
    async with (
        APIServer(controllers=False) as theirs,
        APIServer(controllers=False) as ours,
        aiohttp.ClientSession(ours.url) as session,
    ):
        config.write_text(theirs.kubeconfig())
        for server in (theirs, ours):
            await server.client.create(boat_crd)
            await server.settled()
        for _ in range(4):
            wanted = objects(chance, boat)
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": wanted})
            await kubectl(config, "apply", "-f", "-", text=text)
            found = [Manifest("set", each) for each in wanted]
            options = PlanOptions(client_side=True)
            plan = await plans.plan(await ours.snapshot(), found, options)
            assert plan.exit_code in (0, 2), plan
            assert (await plans.apply(plan, session)).problem == ""
            assert await states(ours) == await states(theirs)
            again = await plans.plan(await ours.snapshot(), found, options)
            assert again.exit_code == 0


def test_fields_of_others_stay(config_map):
    old = clientside.write(GVR("", "v1", "configmaps"), config_map("a", x="1", y="2"), None, {}, 36)
    stored = copy.deepcopy(old.body)
    stored["data"]["z"] = "3"
    new = clientside.write(GVR("", "v1", "configmaps"), config_map("a", x="4"), stored, {}, 36)
    assert new.body["data"] == {"y": None, "x": "4"}


def test_force_needs_a_server_side_apply(tmp_path):
    command = ["plan", "-f", str(tmp_path), "--client-side", "--force-conflicts"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert "--client-side finds no conflicts" in done.stderr
