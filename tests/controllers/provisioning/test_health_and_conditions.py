"""Health in the status: the plain details, and conditions whose times change only with their
status."""

import pytest
from worlds import host, repository

GONE = {"branch": "gone"}


def conditions(obj):
    return {each["type"]: each for each in obj["status"]["conditions"]}


async def test_the_health_of_a_healthy_repository_has_no_error(server):
    await server.create(host())
    await server.create(repository())
    await server.settled()
    stored = await server.get("repositories")
    assert sorted(stored["status"]["health"]) == ["checked", "healthy"]
    told = {
        name: (each["status"], each["reason"], each["message"])
        for name, each in conditions(stored).items()
    }
    assert told == {
        "NamespaceQuota": ("True", "QuotaUnlimited", "No quota limits configured"),
        "ResourceQuota": ("True", "QuotaUnlimited", "No quota limits configured"),
        "Ready": ("True", "Available", "Resource is available"),
        "PathConflict": (
            "True",
            "NoPathConflict",
            "no other repository shares this URL, branch, and path",
        ),
    }
    generation = stored["metadata"]["generation"]
    assert {each["observedGeneration"] for each in conditions(stored).values()} == {generation}


async def test_an_unhealthy_repository_reports_details_only(server):
    await server.create(host())
    await server.create(repository(block=GONE))
    await server.settled()
    stored = await server.get("repositories")
    health = stored["status"]["health"]
    assert (health["healthy"], health["error"]) == (False, "health")
    assert health["message"] == ["branch not found"]
    ready = conditions(stored)["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "InvalidSpec")
    assert ready["message"] == "branch not found"


async def test_times_of_conditions_move_with_their_status_only(server):
    await server.create(host())
    await server.create(repository(block=GONE))
    await server.settled()
    first = conditions(await server.get("repositories"))
    server.clock.advance(100)
    await server.edit("repositories", "a", title="Another")
    await server.settled()
    second = conditions(await server.get("repositories"))
    assert second["Ready"]["lastTransitionTime"] == first["Ready"]["lastTransitionTime"]
    assert second["Ready"]["observedGeneration"] == 2
    await server.edit("repositories", "a", github={"branch": "main"})
    await server.settled()
    third = conditions(await server.get("repositories"))
    assert third["Ready"]["lastTransitionTime"] > first["Ready"]["lastTransitionTime"]
    assert third["PathConflict"] == {**second["PathConflict"], "observedGeneration": 3}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("x", "duplicate repository path: a"),
        ("x/y", "repository path conflicts with existing repository: a"),
    ],
    ids=["same", "below"],
)
async def test_the_condition_names_the_repository_with_the_same_path(server, path, message):
    await server.create(host())
    await server.create(repository(block={"path": "x"}))
    await server.settled()
    await server.create(repository("b", block={"path": path}))
    await server.settled()
    stored = await server.get("repositories", "b")
    found = conditions(stored)["PathConflict"]
    assert (found["status"], found["reason"]) == ("False", "PathConflict")
    assert found["message"] == message
    assert stored["status"]["fieldErrors"][0]["type"] == "FieldValueDuplicate"


async def test_a_sync_has_its_condition_when_it_is_over(server):
    files = [{"path": "a.json", "content": "[]"}]
    own = {"path": "grafana/grafana", "branches": ["main"], "defaultBranch": "main"}
    await server.create(host(repositories=[{**own, "files": files}]))
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 30}
    await server.create(repository(sync=sync))
    await server.settled()
    found = conditions(await server.get("repositories"))["SyncStatus"]
    assert (found["status"], found["reason"]) == ("False", "SyncFailed")
    assert found["message"].startswith("unable to read file as a resource")
    await server.edit("githosts", "github.com", repositories=[own])
    await server.recheck(31)
    stored = await server.get("repositories")
    found = conditions(stored)["SyncStatus"]
    assert (found["status"], found["reason"]) == ("True", "SyncSuccessful")
    assert conditions(stored)["Ready"]["status"] == "True"
