"""Scenarios: each is loaded, and its example gets the errors that it documents, in both phases."""

import base64

import pytest
from worlds import KEY, pem, told

from inkube.apiserver import scenarios
from inkube.controllers.provisioning.scenarios import HEAL_SECONDS

SECRET = {"privateKey": {"create": base64.b64encode(pem(KEY)).decode()}}


def placed(example):
    """Return the example in the tests' namespace, with its credentials."""
    obj = {**example, "metadata": {**example["metadata"], "namespace": "ns"}}
    return {**obj, "secure": SECRET} if obj["kind"] == "Connection" else obj


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
async def test_a_scenario_causes_its_errors(server, name):
    scenario = await scenarios.load(server.client, name)
    obj = placed(scenario.example)
    causes = await server.dry_run(obj)
    await server.create(obj)
    kind = "connections" if obj["kind"] == "Connection" else "repositories"
    errors = await server.errors(kind, obj["metadata"]["name"])
    for found in (causes, errors):
        told_so = [(each["type"], each["field"]) for each in found]
        assert told_so == [error[:2] for error in scenario.errors]
        for each, (_, _, detail) in zip(found, scenario.errors, strict=True):
            assert each["detail"].startswith(detail)
    stored = await server.get(kind, obj["metadata"]["name"])
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
    assert stored["status"]["health"]["healthy"] is False


async def test_one_scenario_follows_another(server):
    for name in (*scenarios.SCENARIOS, "vanished-branch"):
        await scenarios.load(server.client, name)
    await server.create(placed(scenarios.find("outage").example))
    assert await server.errors("repositories", "my-repo") == []


async def test_an_outage_heals_by_itself(server):
    scenario = await scenarios.load(server.client, "outage")
    await server.create(placed(scenario.example))
    [error] = await server.errors("repositories", "my-repo")
    assert error["type"] == "FieldValueInvalid"
    stored = await server.client.get("world.inkube.dev/v1/githosts", "github.com")
    ends = stored["status"]["outageEnds"] / 1000 - server.clock.now().timestamp()
    assert HEAL_SECONDS - 5 < ends <= HEAL_SECONDS
    await server.recheck(HEAL_SECONDS - 10)
    assert len(await server.errors("repositories", "my-repo")) == 1
    await server.recheck(11)
    assert told(await server.errors("repositories", "my-repo")) == []
    stored = await server.client.get("world.inkube.dev/v1/githosts", "github.com")
    assert "outage" not in stored["spec"]
    assert "outageEnds" not in stored["status"]


async def test_an_outage_that_somebody_ends_is_forgotten(server):
    await scenarios.load(server.client, "outage")
    await server.settled()
    await server.edit("githosts", "github.com", outage=None)
    await server.settled()
    stored = await server.client.get("world.inkube.dev/v1/githosts", "github.com")
    assert "outageEnds" not in stored["status"]


def test_a_scenario_nobody_knows_lists_those_there_are():
    with pytest.raises(scenarios.UnknownScenario, match="there are vanished-branch, "):
        scenarios.find("flood")
