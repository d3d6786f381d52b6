"""A saved plan, applied to a cluster: what was planned is what happens, or nothing happens."""

import asyncio
import json
import random
import shutil

import aiohttp
import pytest
import yaml
from click.testing import CliRunner
from randomsets import random_set

from inkube import APIServer
from inkube.apiserver import plans
from inkube.apiserver.cli import main
from inkube.apiserver.manifests import Manifest
from inkube.apiserver.plans import MovedError, PlanError, PlanOptions, savedplans
from inkube.apiserver.plans.outcomes import FAILURES

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")


@pytest.fixture
async def cluster(config_map):
    """A server in the role of a cluster, and an HTTP client for it."""
    async with (
        APIServer(controllers=False) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        await server.client.patch(
            "v1/configmaps", "sky", "default",
            patch=config_map("sky", colour="blue"), type="apply", field_manager="kubectl",
        )  # fmt: skip
        yield server, session


@pytest.fixture
def planned(cluster, tmp_path):
    """`await planned(*objects, **options)`: a plan that was saved and read again."""
    server, _ = cluster

    async def run(*objects, **options):
        found = [Manifest("set", each) for each in objects]
        plan = await plans.plan(await server.snapshot(), found, PlanOptions(**options))
        savedplans.save(tmp_path / "plan.json", savedplans.SavedPlan(plan, None))
        read = savedplans.read(tmp_path / "plan.json").plan
        assert (read.outcomes, read.readings) == (plan.outcomes, plan.readings)
        return read

    return run


async def state(server):
    """Return the history of the ConfigMaps."""
    rows = (await server.snapshot()).log.records
    return [(row.key, row.revision) for row in rows if "/configmaps/default/" in row.key]


async def test_a_saved_plan_does_what_it_shows(cluster, planned, config_map, boat_crd, boat):
    server, session = cluster
    new = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
    ship = boat("argo", size=3)
    ship["metadata"]["namespace"] = "new"
    plan = await planned(ship, new, boat_crd, config_map("sky", colour="grey"))
    told = []
    applied = await plans.apply(plan, session, told.append)
    assert (applied.problem, applied.left) == ("", [])
    assert [each.title for each in told] == [
        "Namespace new", "CustomResourceDefinition boats.example.com", "Boat new/argo",
        "ConfigMap default/sky",
    ]  # fmt: skip
    sky = await server.client.get("v1/configmaps", "sky", "default")
    assert sky["data"] == {"colour": "grey"}
    assert [each["manager"] for each in sky["metadata"]["managedFields"]] == ["kubectl"]
    argo = await server.client.get("example.com/v1/boats", "argo", "new")
    assert argo["spec"]["size"] == 3


@pytest.mark.parametrize("number", range(4))
async def test_random_plans_come_true(number, cluster, planned, boat_crd):
    _, session = cluster
    chance = random.Random(number)
    found = random_set(chance, boat_crd)
    first = await planned(*(each.object for each in found), force=True)
    pairs = zip(plans.ordered(found), first.outcomes, strict=True)
    fine = [each.object for each, outcome in pairs if outcome.action not in FAILURES]
    for again in (fine, chance.sample(fine, len(fine))):
        plan = await planned(*again, force=True)
        if plan.exit_code == 1:
            continue  # two objects of one name, in another order
        applied = await plans.apply(plan, session)
        assert (applied.problem, len(applied.done)) == ("", len(again))


async def test_a_changed_object_is_not_written(cluster, planned, config_map):
    server, session = cluster
    plan = await planned(config_map("new"), config_map("sky", colour="grey"))
    await server.client.patch("v1/configmaps", "sky", "default", patch={"data": {"depth": "deep"}})
    before = await state(server)
    with pytest.raises(MovedError, match=r"ConfigMap default/sky: resource version \d+ then"):
        await plans.apply(plan, session)
    assert await state(server) == before


async def test_created_deleted_and_replaced_objects_end_a_plan(cluster, planned, config_map):
    server, session = cluster
    plan = await planned(config_map("new"))
    await server.client.create(config_map("new"))
    with pytest.raises(MovedError, match="ConfigMap default/new: was created"):
        await plans.apply(plan, session)
    plan = await planned(config_map("sky", colour="grey"))
    await server.client.delete("v1/configmaps", "sky", "default")
    with pytest.raises(MovedError, match="ConfigMap default/sky: was deleted"):
        await plans.apply(plan, session)
    await server.client.create(config_map("sky"))
    with pytest.raises(MovedError, match="was deleted and created again"):
        await plans.apply(plan, session)


async def test_changed_rules_of_admission_end_a_plan(cluster, planned, config_map):
    server, session = cluster
    plan = await planned(config_map("new"))
    limit = {"type": "Container", "max": {"cpu": "1"}}
    await server.client.create({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "few"},
        "spec": {"limits": [limit]},
    })  # fmt: skip
    path = "/api/v1/namespaces/default/limitranges/few"
    with pytest.raises(MovedError, match=f"{path}: was created"):
        await plans.apply(plan, session)
    plan = await planned(config_map("new"))
    await server.client.patch(
        "v1/namespaces", "default", patch={"metadata": {"labels": {"a": "b"}}}
    )
    with pytest.raises(MovedError, match="/api/v1/namespaces/default: resource version"):
        await plans.apply(plan, session)


async def test_another_cluster_is_refused(planned, config_map):
    plan = await planned(config_map("new"))
    async with (
        APIServer(controllers=False) as other,
        aiohttp.ClientSession(other.url) as session,
    ):
        with pytest.raises(MovedError, match="this is another cluster than that of the plan"):
            await plans.apply(plan, session)


async def test_deletions_are_applied(cluster, planned, config_map):
    server, session = cluster
    old = config_map("old")
    old["metadata"]["labels"] = {"app": "old"}
    await server.client.create(old)
    plan = await planned(config_map("sky", colour="blue"), prune="app=old")
    assert [each.action.value for each in plan.outcomes] == ["unchanged", "delete"]
    assert (await plans.apply(plan, session)).problem == ""
    names = [each["metadata"]["name"] for each in await server.client.list("v1/configmaps")]
    assert "old" not in names


async def test_the_first_other_result_ends_a_plan(cluster, planned, config_map):
    server, session = cluster
    plan = await planned(config_map("a"), config_map("b"), config_map("c"))
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    await server.client.create({**quota, "spec": {"hard": {"count/configmaps": "2"}}})
    applied = await plans.apply(plan, session)
    assert [each.name for each in applied.done] == ["a"]
    assert [each.name for each in applied.left] == ["b", "c"]
    assert "ConfigMap default/b: " in applied.problem
    assert "exceeded quota" in applied.problem


async def test_plans_with_refused_objects_are_not_applied(cluster, planned, config_map):
    _, session = cluster
    plan = await planned(config_map("a"), {**config_map("b"), "kind": "Nothing"})
    with pytest.raises(PlanError, match="1 objects of this plan cannot be applied"):
        await plans.apply(plan, session)


async def test_a_plan_is_applied_as_its_user(cluster, planned, config_map):
    _, session = cluster
    plan = await planned(config_map("a"), user="ann", groups=["system:masters"])
    assert (await plans.apply(plan, session)).problem == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda plan: plan["objects"][0]["request"]["body"]["metadata"].update(name="other"),
        lambda plan: plan["objects"][0]["request"].update(method="PUT"),
        lambda plan: plan["objects"][0]["request"].update(plural="../secrets"),
        lambda plan: plan["objects"][0].pop("uid"),
        lambda plan: plan.pop("objects"),
        lambda plan: plan.update(kind="List"),
    ],
)
async def test_damaged_plans_are_refused(damage, planned, config_map, tmp_path):
    await planned(config_map("a"))
    file = tmp_path / "plan.json"
    found = json.loads(file.read_text())
    damage(found)
    file.write_text(json.dumps(found))
    with pytest.raises(PlanError, match=r"plan\.json is not a"):
        savedplans.read(file)


async def test_a_plan_is_private(planned, config_map, tmp_path):
    await planned({**config_map("key"), "kind": "Secret", "data": {"a": "Yg=="}})
    assert (tmp_path / "plan.json").stat().st_mode & 0o777 == 0o600


@needs_kubectl
async def test_the_command_plans_and_applies(cluster, config_map, tmp_path):
    server, _ = cluster
    objects, config, saved = (tmp_path / name for name in ("set.yaml", "config", "plan.json"))
    objects.write_text(yaml.safe_dump_all([config_map("sky", colour="grey"), config_map("new")]))
    config.write_text(server.kubeconfig())

    async def inkube(*arguments):
        command = ["plan", *arguments, "--kubeconfig", str(config)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)

    done = await inkube("-f", str(objects), "--from-cluster", "", "--out", str(saved))
    assert done.exit_code == 2, done.output
    assert f"inkube plan --apply {saved}" in done.stderr
    done = await inkube("--apply", str(saved))
    assert (done.exit_code, done.stdout) == (
        0,
        "ConfigMap default/sky changed\nConfigMap default/new created\n2 of 2 objects applied.\n",
    )
    done = await inkube("--apply", str(saved))
    assert done.exit_code == 1
    assert "the cluster has changed since the plan was made" in done.stderr
    done = await inkube("--apply", str(saved), "--force-conflicts")
    assert "--force-conflicts is a part of the plan" in done.stderr
    done = await inkube()
    assert "name the objects with -f" in done.stderr
