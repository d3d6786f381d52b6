"""Live checks of repositories in the scripted world: dry run, creation, repair, changes."""

import asyncio

import pytest
from worlds import MAIN, ZERO_STATUS, caused, host, repository, told


def token(value):
    return {"token": {"create": value}}


TOKENS = [{"value": "good", "write": True}, {"value": "reader", "write": False}]
WRITE = {"workflows": ["write"]}


def enterprise(name):
    block = {"url": f"https://{name}/grafana/grafana", "branch": "main"}
    spec = {"title": "Title", "type": "githubEnterprise", "githubEnterprise": block}
    return {**repository(), "spec": spec}


class Row:
    """One row of the table of live checks: how to cause its error, and how to repair it."""

    def __init__(self, name, error, *, broken, repaired, world):
        self.name = name
        self.error = error
        self.broken = broken
        self.repaired = repaired
        self.world = world


ROWS = [
    Row(
        "credentials",
        ("FieldValueInvalid", "secure.token", "not authorized"),
        world=[host(tokens=TOKENS)],
        broken=repository(secure=token("wrong")),
        repaired=repository(secure=token("good")),
    ),
    Row(
        "credentials missing",
        ("FieldValueInvalid", "secure.token", "not authorized"),
        world=[host(tokens=TOKENS)],
        broken=repository(),
        repaired=repository(secure=token("reader")),
    ),
    Row(
        "repository",
        ("FieldValueInvalid", "spec.github.url", "repository not found"),
        world=[host()],
        broken=repository(block={"url": "https://github.com/grafana/none"}),
        repaired=repository(),
    ),
    Row(
        "reachable",
        (
            "FieldValueInvalid",
            "spec.githubEnterprise.url",
            (
                "failed to check if repository exists: "
                "unreachable: host elsewhere.example is not reachable"
            ),
        ),
        world=[host(), host("near.example")],
        broken=enterprise("elsewhere.example"),
        repaired=enterprise("near.example"),
    ),
    Row(
        "branch",
        ("FieldValueInvalid", "spec.github.branch", "branch not found"),
        world=[host()],
        broken=repository(block={"branch": "gone"}),
        repaired=repository(),
    ),
    Row(
        "write",
        ("FieldValueForbidden", "secure.token", "write permission denied"),
        world=[host(tokens=TOKENS)],
        broken=repository(secure=token("reader"), **WRITE),
        repaired=repository(secure=token("good"), **WRITE),
    ),
    Row(
        "connection",
        ("FieldValueNotFound", "spec.connection.name", "connection not found"),
        world=[host()],
        broken=repository(connection={"name": "nobody"}),
        repaired={**repository(), "spec": {**repository()["spec"], "connection": None}},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_a_repository_is_refused_in_a_dry_run_and_reported_once_it_exists(server, row):
    for obj in row.world:
        await server.create(obj)
    kind, field, detail = row.error
    causes = await server.dry_run(row.broken)
    assert caused(causes) == [(kind, field)]
    assert detail in causes[0]["message"]
    created = await server.create(row.broken)
    assert created["status"] == ZERO_STATUS
    assert told(await server.errors("repositories")) == [row.error]
    stored = await server.get("repositories")
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
    assert stored["status"]["health"]["healthy"] is False

    await server.replace({k: v for k, v in row.repaired.items() if v is not None})
    assert await server.errors("repositories") == []
    stored = await server.get("repositories")
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]


async def test_a_branch_that_vanishes_outside_appears_without_a_write_to_the_object(server):
    await server.create(host())
    await server.create(repository(block={"branch": "dev"}))
    assert await server.errors("repositories") == []
    generation = (await server.get("repositories"))["metadata"]["generation"]
    await server.edit("githosts", "github.com", repositories=[{**MAIN, "branches": ["main"]}])
    assert told(await server.errors("repositories")) == [
        ("FieldValueInvalid", "spec.github.branch", "branch not found")
    ]
    await server.edit("githosts", "github.com", repositories=[MAIN])
    assert await server.errors("repositories") == []
    assert (await server.get("repositories"))["metadata"]["generation"] == generation


async def test_an_empty_branch_is_filled_with_the_default_one(server):
    await server.create(host())
    obj = repository()
    obj["spec"] = {
        "title": "Title",
        "type": "git",
        "git": {"url": "https://github.com/grafana/grafana", "branch": ""},
    }
    assert await server.dry_run(obj) == []
    await server.create(obj)
    assert await server.errors("repositories") == []
    stored = await server.get("repositories")
    assert stored["spec"]["git"]["branch"] == "main"
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("code", "reason"),
    [(503, "ServiceUnavailable"), (500, "ServiceUnavailable"), (429, "RateLimited")],
)
async def test_an_outage_is_reported_with_the_service_and_the_time_of_the_next_attempt(
    server, code, reason
):
    await server.create(host(outage={"code": code}))
    causes = await server.dry_run(repository())
    assert caused(causes) == [("FieldValueInvalid", "spec.github.url")]
    assert "github.com" in causes[0]["message"]
    await server.create(repository())
    [error] = await server.errors("repositories")
    assert (error["type"], error["field"]) == ("FieldValueInvalid", "spec.github.url")
    assert error["detail"].startswith("failed to check if repository exists: github.com ")
    assert "tried again within 60 seconds" in error["detail"]
    stored = await server.get("repositories")
    assert stored["status"]["conditions"][0]["reason"] == reason
    await server.edit("githosts", "github.com", outage=None)
    assert await server.errors("repositories") == []


async def test_a_slow_service_is_waited_for(server):
    await server.create(host(outage={"delayMilliseconds": 3_000}))
    await server.create(repository())
    for _ in range(50):
        await asyncio.sleep(0)
    server.clock.advance(3)
    assert await server.errors("repositories") == []


async def test_two_repositories_over_the_same_files_the_later_one_is_reported(server):
    await server.create(host())
    await server.create(repository("first", block={"path": "dashboards"}))
    await server.settled()
    other = repository("second", block={"path": "dashboards/team"})
    [cause] = await server.dry_run(other)
    assert (cause["reason"], cause["field"]) == ("FieldValueDuplicate", "spec.github.path")
    assert "first" in cause["message"]
    await server.create(other)
    [error] = await server.errors("repositories", "second")
    assert error["type"] == "FieldValueDuplicate"
    assert "repository first" in error["detail"]
    assert await server.errors("repositories", "first") == []
    await server.delete("repositories", "first")
    assert await server.errors("repositories", "second") == []


@pytest.mark.parametrize(
    "block",
    [{"path": "other"}, {"path": "dashboards-2"}, {"path": "dashboards", "branch": "dev"}],
    ids=["sibling", "same beginning", "other branch"],
)
async def test_repositories_beside_each_other_are_fine(server, block):
    await server.create(host())
    await server.create(repository("first", block={"path": "dashboards"}))
    await server.settled()
    assert await server.dry_run(repository("second", block=block)) == []


async def test_a_repository_moved_onto_another_one_is_the_one_reported(server):
    await server.create(host())
    await server.create(repository("old", block={"path": "x"}))
    await server.create(repository("young", block={"path": "y"}))
    await server.settled()
    await server.replace(repository("old", block={"path": "y"}))
    assert [error["type"] for error in await server.errors("repositories", "old")] == [
        "FieldValueDuplicate"
    ]
    assert await server.errors("repositories", "young") == []


async def test_a_local_repository_needs_its_directory(provisioned, tmp_path):
    path = tmp_path / "files"
    obj = repository()
    obj["spec"] = {"title": "Title", "type": "local", "local": {"path": str(path)}}
    async with provisioned(local_path_prefixes=(str(tmp_path),)) as server:
        assert caused(await server.dry_run(obj)) == [("FieldValueInvalid", "spec.local.path")]
        await server.create(obj)
        assert told(await server.errors("repositories")) == [
            ("FieldValueInvalid", "spec.local.path", "directory not found")
        ]
        path.mkdir()
        await server.recheck(60)
        assert await server.errors("repositories") == []
        path.rmdir()
        await server.recheck(300)
        assert len(await server.errors("repositories")) == 1


async def test_the_status_of_a_sync_has_its_result_and_commit(server):
    await server.create(host())
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 30}
    await server.create(repository(sync=sync))
    await server.settled()
    first = (await server.get("repositories"))["status"]["sync"]
    assert first["state"] == "success"
    assert len(first["lastRef"]) == 40
    await server.edit("githosts", "github.com", repositories=[])
    await server.settled()
    status = (await server.get("repositories"))["status"]
    assert status["sync"]["state"] == "error"
    assert status["sync"]["lastRef"] == first["lastRef"]
    assert status["sync"]["message"] == ["Repository is unhealthy"]


async def test_a_timed_recheck_repeats_no_checks_of_healthy_repositories(server, monkeypatch):
    await server.create(host(tokens=TOKENS))
    await server.create(repository(secure=token("good"), **WRITE))
    await server.create(repository("b", block={"branch": "gone"}, secure=token("good")))
    await server.settled()
    client = type(server.client)
    revision, asked, get = server.api.store.revision, [], client.get

    async def counted(self, resource, name, namespace="", **options):
        asked.append(name)
        return await get(self, resource, name, namespace, **options)

    monkeypatch.setattr(client, "get", counted)  # that of every client
    await server.recheck(300)
    assert "a" not in asked
    assert "b" in asked
    assert server.api.store.revision == revision
    await server.edit("githosts", "github.com", tokens=[])
    await server.settled()
    assert "a" in asked


async def test_a_value_that_others_may_change_is_read_at_every_recheck(server):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}}
    await server.create({**secret, "stringData": {"token": "good"}})
    await server.create(host(tokens=TOKENS))
    await server.create(repository(secure={"token": {"name": "s"}}))
    assert await server.errors("repositories") == []
    await server.client.patch("v1/secrets", "s", "ns", patch={"stringData": {"token": "bad"}})
    await server.recheck(300)
    [error] = await server.errors("repositories")
    assert error["detail"] == "not authorized"


@pytest.mark.parametrize("branch", ["main", "gone"])
async def test_a_hundred_rechecks_of_an_unchanged_world_write_nothing(server, branch):
    await server.create(host())
    await server.create(repository(block={"branch": branch}))
    await server.settled()
    version = (await server.get("repositories"))["metadata"]["resourceVersion"]
    for _ in range(100):
        await server.recheck(301)
    assert (await server.get("repositories"))["metadata"]["resourceVersion"] == version
