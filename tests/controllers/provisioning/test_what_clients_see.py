"""The API that front ends use: tables, lists, watches, dry runs over HTTP, and no special
endpoints."""

import json

import pytest
from worlds import PROVISIONING, ZERO_STATUS

ALL = f"/apis/{PROVISIONING}/namespaces/ns/repositories"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
HOST = {
    "apiVersion": "world.inkube.dev/v1",
    "kind": "GitHost",
    "metadata": {"name": "git.example"},
    "spec": {"repositories": [{"path": "o/r", "branches": ["main"], "defaultBranch": "main"}]},
}


def repository(name="a", branch="gone", path="", **spec):
    git = {"url": "https://git.example/o/r", "branch": branch, "path": path}
    return {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"title": "Title", "type": "git", "git": git, **spec},
    }


@pytest.fixture
async def server(provisioned):
    async with provisioned() as made:
        await made.create(HOST)
        yield made


@pytest.mark.parametrize("name", ["test", "validate", "check"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_there_are_no_validation_endpoints(server, name, method):
    await server.create(repository())
    code, _, body = await server.request(method, f"{ALL}/a/{name}", json=repository())
    assert code == 404
    assert body["kind"] == "Status"


@pytest.mark.parametrize("value", ["All", "true"])
async def test_both_spellings_of_a_dry_run_answer_causes(server, value):
    code, headers, body = await server.request("POST", f"{ALL}?dryRun={value}", json=repository())
    assert code == 422
    assert body["reason"] == "Invalid"
    assert body["details"]["kind"] == "Repository"
    assert body["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "type": "FieldValueInvalid",
            "field": "spec.git.branch",
            "message": 'Invalid value: "gone": branch not found',
            "detail": "branch not found",
            "origin": "branch_exists",
            "badValue": "gone",
            "supportedValues": ["main"],
        }
    ]
    assert ("Warning" in headers) == (value == "true")


async def test_a_dry_run_that_passes_answers_with_a_zero_status_and_stores_nothing(server):
    code, _, body = await server.request(
        "POST", f"{ALL}?dryRun=All", json=repository(branch="main")
    )
    assert code == 201
    assert body["status"] == ZERO_STATUS
    assert (await server.request("GET", f"{ALL}/a"))[0] == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_dry_run_of_an_update_runs_the_live_checks_too(server, method):
    created = await server.create(repository(branch="main"))
    await server.settled()
    created["spec"]["git"]["branch"] = "gone"
    created["metadata"].pop("resourceVersion")
    stored = await server.get("repositories")
    if method == "PUT":
        created["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
    code, _, body = await server.request(
        method,
        f"{ALL}/a?dryRun=All",
        data=json.dumps(created if method == "PUT" else {"spec": created["spec"]}),
        headers={
            "Content-Type": "application/json"
            if method == "PUT"
            else "application/merge-patch+json"
        },
    )
    assert code == 422
    assert [cause["field"] for cause in body["details"]["causes"]] == ["spec.git.branch"]
    assert await server.get("repositories") == stored


async def test_a_status_sent_by_a_client_is_ignored(server):
    obj = {**repository(branch="main"), "status": {"fieldErrors": [], "observedGeneration": 7}}
    created = await server.create(obj)
    assert created["status"] == ZERO_STATUS


async def test_the_table_shows_health_and_counts_errors(server):
    await server.create(repository("good", "main", "x"))
    await server.create(repository("bad", "gone", "y"))
    await server.settled()
    _, _, body = await server.request("GET", ALL, headers={"Accept": TABLE})
    names = [column["name"] for column in body["columnDefinitions"]]
    assert names == ["Name", "Title", "Type", "Healthy", "Errors", "Age"]
    cells = {row["cells"][0]: row["cells"][1:5] for row in body["rows"]}
    assert cells == {"good": ["Title", "git", True, 0], "bad": ["Title", "git", False, 1]}


async def test_lists_and_watches_carry_the_errors(server):
    start = (await server.client.list(f"{PROVISIONING}/repositories")).resource_version
    await server.create(repository())
    await server.settled()
    _, _, body = await server.request("GET", ALL)
    assert len(body["items"][0]["status"]["fieldErrors"]) == 1
    seen = []
    watch = server.client.watch(f"{PROVISIONING}/repositories", resource_version=start)
    async for event in watch:
        seen.append(event.object.get("status", {}).get("fieldErrors"))
        if seen[-1]:
            break
    await watch.aclose()
    assert len(seen) == 2


async def test_repositories_are_selected_by_their_connection(server):
    await server.create(repository("a", path="x", connection={"name": "one"}))
    await server.create(repository("b", path="y"))
    _, _, body = await server.request("GET", f"{ALL}?fieldSelector=spec.connection.name%3Done")
    assert [item["metadata"]["name"] for item in body["items"]] == ["a"]


async def test_every_error_is_a_cause(server):
    obj = repository(branch="main", workflows=["fly"])
    del obj["spec"]["title"]
    causes = await server.dry_run(obj)
    assert {(cause["reason"], cause["field"]) for cause in causes} == {
        ("FieldValueRequired", "spec.title"),
        ("FieldValueInvalid", "spec.workflows"),
        ("FieldValueRequired", "spec.connection"),
        ("FieldValueRequired", "secure.token"),
    }


async def test_events_of_a_repository_follow_its_changes(server):
    await server.create(repository())
    await server.settled()
    await server.replace(repository(branch="main"))
    await server.settled()
    events = (await server.client.list("v1/events")).items
    told = [
        (event["type"], event["reason"])
        for event in events
        if event["involvedObject"]["name"] == "a"
    ]
    assert sorted(told) == [("Normal", "ChecksPassed"), ("Warning", "ChecksFailed")]


async def test_other_requests_are_answered_during_a_slow_live_check(provisioned):
    async with provisioned() as server:
        slow = {**HOST, "spec": {**HOST["spec"], "outage": {"delayMilliseconds": 60_000}}}
        await server.create(slow)
        for number in range(200):
            await server.create(repository(f"r{number}", path=f"p{number}"))
        code, _, body = await server.request("GET", ALL)
        assert code == 200
        assert len(body["items"]) == 200
        assert all(item["status"] == ZERO_STATUS for item in body["items"])
