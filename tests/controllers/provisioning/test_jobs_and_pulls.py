"""Jobs: requested, refused, run and kept; pulls of files of the scripted world."""

import json

import pytest
from patience import within
from worlds import PROVISIONING, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
SYNC = {"enabled": True, "target": "folder", "intervalSeconds": 30}
MANY = 50
DASHBOARD = {"uid": "a", "title": "A", "schemaVersion": 39, "panels": [], "tags": []}
FOLDERS = {"group": "folder.grafana.app", "kind": "Folder"}
DASHBOARDS = {"group": "dashboard.grafana.app", "kind": "Dashboard"}


def dashboard(uid="a", **members):
    return json.dumps({**DASHBOARD, "uid": uid, **members})


def resource(name="b", kind="Dashboard", group="dashboard.grafana.app", **metadata):
    named = {"name": name} if name else {}
    obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {**named, **metadata}}
    return json.dumps({**obj, "spec": {"title": f"Title of {name}"}})


def file(path, content, **members):
    return {"path": path, "content": content, **members}


def hosted(*files, **members):
    own = {"path": "grafana/grafana", "branches": ["main", "dev"], "defaultBranch": "main"}
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHost",
        "metadata": {"name": "github.com"},
        "spec": {"repositories": [{**own, "files": list(files), **members}]},
    }


class Jobs:
    """A server with one repository, and helpers for its jobs."""

    def __init__(self, server):
        self.server = server

    async def post(self, spec, name="a", path=""):
        body = spec if isinstance(spec, str) else json.dumps(spec)
        where = f"{ALL}/repositories/{name}/jobs{path}"
        code, _, answer = await self.server.request("POST", where, data=body)
        return code, answer

    async def finished(self, name="a"):
        """Return the recent jobs, the newest first."""
        await self.server.settled()
        _, _, answer = await self.server.request("GET", f"{ALL}/repositories/{name}/jobs")
        return answer["items"]

    async def edit(self, *files, **members):
        repositories = hosted(*files, **members)["spec"]["repositories"]
        await self.server.edit("githosts", "github.com", repositories=repositories)
        await self.server.settled()

    async def pull(self):
        """Request a full pull; return the status of the finished job."""
        code, _ = await self.post({"pull": {}})
        assert code == 202
        return (await self.finished())[0]["status"]

    async def sync(self):
        return (await self.server.get("repositories"))["status"]["sync"]


@pytest.fixture
async def jobs(server):
    """A healthy repository that was synced once."""
    await server.create(hosted(file("team/a.json", dashboard())))
    await server.create(repository(sync=SYNC, workflows=["write"], secure=SECURE))
    await server.settled()
    return Jobs(server)


SECURE = {"token": {"create": "x"}}


async def test_a_healthy_repository_is_synced_by_itself(jobs):
    stored = await jobs.server.get("repositories")
    sync = stored["status"]["sync"]
    assert (sync["state"], sync["job"], sync["message"]) == ("success", "a-sync", [])
    assert len(sync["lastRef"]) == 40
    assert stored["status"]["stats"] == [
        {"group": "dashboard.grafana.app", "resource": "dashboards", "count": 1},
        {"group": "folder.grafana.app", "resource": "folders", "count": 2},
    ]
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
    [job] = await jobs.finished()
    assert job["kind"] == "Job"
    assert job["metadata"]["name"].startswith("a-sync-")
    assert job["metadata"]["generateName"] == "a-sync-"
    labels = job["metadata"]["labels"]
    assert labels["provisioning.grafana.app/repository"] == "a"
    assert sorted(labels) == [
        "provisioning.grafana.app/original-uid",
        "provisioning.grafana.app/repository",
    ]
    status = job["status"]
    assert (status["state"], status["message"]) == ("success", "completed successfully")
    assert (status["progress"], status["progressUpdates"]) == (100, 1)
    assert status["finished"] >= status["started"]
    assert status["summary"] == [
        {**DASHBOARDS, "total": 1, "create": 1},
        {**FOLDERS, "total": 2, "create": 2},
    ]


async def test_a_pull_reports_changes_since_the_last_one(jobs):
    await jobs.edit(file("team/a.json", dashboard(title="B")), file("b.yaml", resource()))
    status = await jobs.pull()
    assert status["summary"] == [
        {**DASHBOARDS, "total": 2, "create": 1, "update": 1},
        {**FOLDERS, "total": 2, "noop": 2},
    ]
    await jobs.edit(file("b.yaml", resource()))
    status = await jobs.pull()
    assert status["summary"] == [
        {**DASHBOARDS, "total": 2, "noop": 1, "delete": 1},
        {**FOLDERS, "total": 2, "noop": 1, "delete": 1},
    ]
    assert (await jobs.pull())["summary"][0] == {**DASHBOARDS, "total": 1, "noop": 1}


async def test_a_moved_branch_is_pulled_when_the_interval_is_over(jobs):
    before = await jobs.sync()
    await jobs.server.recheck(31)
    assert await jobs.sync() == before
    await jobs.edit(file("team/a.json", dashboard(title="B")))
    await jobs.server.recheck(31)
    after = await jobs.sync()
    assert after["lastRef"] != before["lastRef"]
    assert (after["state"], after["incremental"]) == ("success", True)
    assert len(await jobs.finished()) == 2


async def test_an_incremental_pull_of_a_branch_that_stands_still_does_nothing(jobs):
    await jobs.post({"pull": {"incremental": True}})
    job = (await jobs.finished())[0]
    assert job["status"]["state"] == "success"
    assert "summary" not in job["status"]


async def test_a_changed_spec_is_synced_at_once(jobs):
    await jobs.server.edit("repositories", "a", title="Another")
    assert len(await jobs.finished()) == 2


async def test_an_unhealthy_repository_is_synced_again_when_it_recovers(jobs):
    head = (await jobs.sync())["lastRef"]
    await jobs.edit(branches=["dev"], defaultBranch="dev")
    sync = await jobs.sync()
    assert (sync["state"], sync["message"]) == ("error", ["Repository is unhealthy"])
    assert sync["lastRef"] == head
    await jobs.edit(file("team/a.json", dashboard()))
    sync = await jobs.sync()
    assert (sync["state"], sync["message"], sync["lastRef"]) == ("success", [], head)
    assert len(await jobs.finished()) == 2


async def test_without_sync_nothing_is_pulled(server):
    await server.create(hosted(file("a.json", dashboard())))
    await server.create(repository())
    await server.settled()
    jobs = Jobs(server)
    assert await jobs.sync() == {"state": "", "message": []}
    await jobs.post({"action": "pull"})
    [job] = await jobs.finished()
    assert job["status"]["state"] == "error"
    assert job["status"]["message"] == "sync is not enabled"


BAD = [
    ("not json", "{", "unable to read file as a resource: unexpected end of JSON input", ""),
    ("no resource", "[]", "unable to read file as a resource", ""),
    ("no kind", '{"a": 1}', "unable to read file as a resource", ""),
    ("no name", resource(""), "name is required", ""),
    ("no uid", dashboard(""), "name is required", ""),
    (
        "elsewhere",
        resource(namespace="other"),
        "the file namespace does not match target namespace",
        "b",
    ),
]


@pytest.mark.parametrize(
    ("content", "cause", "name"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
async def test_an_invalid_file_is_reported_and_the_others_are_applied(jobs, content, cause, name):
    await jobs.edit(file("bad.json", content), file("team/a.json", dashboard()))
    status = await jobs.pull()
    assert (status["state"], status["message"]) == ("error", "completed with errors")
    assert status["errors"] == [f"{cause} (file: bad.json, name: {name}, action: create)"]
    sync = await jobs.sync()
    assert (sync["state"], sync["message"]) == ("error", status["errors"])
    stats = (await jobs.server.get("repositories"))["status"]["stats"]
    assert stats[0]["count"] == 1


async def test_two_files_of_one_name_are_an_error(jobs):
    await jobs.edit(file("a.json", dashboard()), file("b.json", dashboard()))
    status = await jobs.pull()
    cause = "duplicate resource name: a.json has it already"
    assert status["errors"] == [f"{cause} (file: b.json, name: a, action: create)"]


async def test_twenty_errors_are_too_many(jobs):
    await jobs.edit(*(file(f"{number}.json", "[]") for number in range(30)))
    status = await jobs.pull()
    assert status["message"] == "completed with too many errors"
    assert len(status["errors"]) == 20


async def test_other_files_and_kinds_are_no_errors(jobs):
    files = [file("README.md", "#"), file("x.txt", "x"), file("c.yaml", resource("c", "Map", "v"))]
    await jobs.edit(*files)
    status = await jobs.pull()
    assert (status["state"], status["message"]) == ("warning", "completed with warnings")
    assert status["warnings"] == [
        "kind Map of v is not supported (file: c.yaml, name: c, action: create)"
    ]


async def test_a_path_limits_what_is_read(jobs):
    await jobs.server.edit("repositories", "a", github={"path": "team"})
    await jobs.edit(file("team/a.json", dashboard()), file("b.yaml", resource()))
    assert (await jobs.pull())["summary"][0] == {**DASHBOARDS, "total": 1, "noop": 1}


ONLY_ACTION = (
    'Job.provisioning.grafana.app "a-job" is invalid: spec.action: Required value: '
    "action must be specified"
)
NO_BRANCH = (
    'repositories.provisioning.grafana.app "a" is forbidden: '
    "branch workflow is not allowed for this repository"
)


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"pull": {}, "push": {}}, 400, "multiple job types found"),
        ({}, 422, ONLY_ACTION),
        ("{", 400, "error decoding provisioning.Job from request"),
        ("[]", 400, "error decoding provisioning.Job from request"),
        ({"pull": {"incremental": "x"}}, 400, "error decoding provisioning.Job from request"),
        (
            {"pr": {"pr": 1}},
            400,
            "pull request jobs cannot be created via the API; they are triggered by webhooks",
        ),
        (
            {"action": "releaseResources"},
            409,
            "repository exists and is not being deleted; use the normal delete flow",
        ),
        (
            {"delete": {"ref": "dev", "paths": ["a.json"]}},
            403,
            NO_BRANCH,
        ),
    ],
    ids=["blocks", "action", "json", "list", "type", "pr", "release", "branch"],
)
async def test_invalid_jobs_are_refused(jobs, spec, code, message):
    found, answer = await jobs.post(spec)
    assert (found, answer["kind"], answer["message"]) == (code, "Status", message)


async def test_a_repository_without_workflows_is_not_written_to(jobs):
    await jobs.server.edit("repositories", "a", workflows=[])
    await jobs.server.settled()
    for action in ("push", "migrate", "delete", "move", "fixFolderMetadata"):
        code, answer = await jobs.post({action: {}})
        assert code == 403
        assert answer["message"].endswith("write operations are not allowed for this repository")


async def test_jobs_of_no_or_of_an_unhealthy_repository(jobs):
    assert (await jobs.post({"pull": {}}, "nobody"))[0] == 404
    await jobs.edit(branches=["dev"], defaultBranch="dev")
    code, answer = await jobs.post({"pull": {}})
    assert (code, answer["message"]) == (424, "The repository configuration is not healthy")


async def test_one_job_of_a_name_at_a_time(jobs):
    await jobs.server.edit("githosts", "github.com", outage={"delayMilliseconds": 60_000})
    code, answer = await jobs.post({"pull": {}})
    assert (code, answer["metadata"]["name"], answer["spec"]["action"]) == (202, "a-sync", "pull")
    assert answer["metadata"]["labels"] == {"provisioning.grafana.app/repository": "a"}
    code, answer = await jobs.post({"migrate": {}})
    assert (code, answer["reason"]) == (409, "AlreadyExists")
    assert "already exists" in answer["message"]


async def test_a_sync_whose_job_was_deleted_is_begun_anew(jobs):
    path = f"{PROVISIONING}/repositories"
    stuck = {"status": {"sync": {"state": "working", "job": "a-sync"}}}
    await jobs.server.client.patch(path, "a", "ns", patch=stuck, subresource="status")
    await jobs.server.settled()
    assert (await jobs.sync())["state"] == "success"
    assert len(await jobs.finished()) == 2


async def test_a_watch_sees_a_job_until_it_is_gone(jobs):
    start = (await jobs.server.client.list(f"{PROVISIONING}/jobs")).resource_version
    await jobs.post({"pull": {}})
    seen = []
    watch = jobs.server.client.watch(f"{PROVISIONING}/jobs", resource_version=start)
    async with within():
        async for event in watch:
            seen.append((event.type, event.object["status"].get("state", "")))
            if event.type == "DELETED":
                break
    await watch.aclose()
    assert seen[0] == ("ADDED", "")
    assert ("MODIFIED", "working") in seen
    assert seen[-2:] == [("MODIFIED", "success"), ("DELETED", "success")]


async def test_a_finished_job_is_found_by_its_own_uid(jobs):
    _, made = await jobs.post({"pull": {}})
    await jobs.server.settled()
    uid = made["metadata"]["uid"]
    path = f"{ALL}/repositories/a/jobs"
    code, _, found = await jobs.server.request("GET", f"{path}/{uid}")
    assert (code, found["kind"], found["status"]["state"]) == (200, "Job", "success")
    assert found["metadata"]["uid"] != uid
    code, _, answer = await jobs.server.request("GET", f"{path}/unknown")
    assert (code, answer["details"]["kind"]) == (404, "jobs")
    code, _, answer = await jobs.server.request("GET", f"{path}/x=y")
    assert (code, answer["message"]) == (400, "invalid job uid: x=y")
    code, answer = await jobs.post({"pull": {}}, path=f"/{uid}")
    assert (code, answer["message"]) == (400, "can not post to a job UID")


async def test_history_is_forgotten_after_a_while(jobs):
    assert len(await jobs.finished()) == 1
    await jobs.server.recheck(601)
    assert await jobs.finished() == []
    assert (await jobs.server.client.list(f"{PROVISIONING}/historicjobs")).items == []


async def test_history_can_be_read_and_deleted_only(jobs):
    listed = await jobs.server.client.list(f"{PROVISIONING}/historicjobs")
    name = listed.items[0]["metadata"]["name"]
    path = f"{ALL}/historicjobs"
    assert (await jobs.server.request("POST", path, json=listed.items[0]))[0] == 405
    assert (await jobs.server.request("PUT", f"{path}/{name}", json=listed.items[0]))[0] == 405
    assert (await jobs.server.request("GET", f"{path}/{name}"))[0] == 200
    assert (await jobs.server.request("DELETE", f"{path}/{name}"))[0] == 200


@pytest.mark.parametrize("action", ["push", "migrate", "fixFolderMetadata"])
async def test_there_is_nothing_to_export(jobs, action):
    assert (await jobs.post({action: {}}))[0] == 202
    status = (await jobs.finished())[0]["status"]
    assert (status["state"], status["message"]) == ("success", "completed successfully")
    assert "summary" not in status


async def test_files_are_deleted_and_moved_in_commits(jobs):
    head = (await jobs.sync())["lastRef"]
    code, _ = await jobs.post({"move": {"paths": ["team/a.json"], "targetPath": "new/"}})
    assert code == 202
    job = (await jobs.finished())[0]
    assert (job["status"]["state"], job["status"]["summary"][0]["update"]) == ("success", 1)
    spec = (await jobs.server.get("githosts", "github.com"))["spec"]["repositories"][0]
    on_main = {each["path"] for each in spec["files"] if each.get("branch") in (None, "main")}
    assert on_main == {"new/a.json"}
    assert [each["path"] for each in spec["files"] if each.get("branch") == "dev"] == [
        "team/a.json"
    ]
    assert (await jobs.sync())["lastRef"] != head
    reference = {"name": "a", "kind": "Dashboard"}
    await jobs.post({"delete": {"resources": [reference], "paths": ["none.json"]}})
    status = (await jobs.finished())[0]["status"]
    assert status["summary"][0]["delete"] == 1
    assert status["errors"] == ["file not found (file: none.json, name: , action: delete)"]


RULES = [
    ({}, [("Required", "spec.action", "action must be specified")]),
    ({"action": "fly"}, [("Invalid", "spec.action", "invalid action")]),
    ({"action": "pull"}, [("Required", "spec.pull", "pull options required for pull action")]),
    ({"action": "push"}, [("Required", "spec.push", "push options required for push action")]),
    (
        {"action": "pr"},
        [("Required", "spec.pr", "pull request options required for pr action")],
    ),
    (
        {"action": "migrate"},
        [("Required", "spec.migrate", "migrate options required for migrate action")],
    ),
    (
        {"action": "delete", "delete": {}},
        [("Required", "spec.delete", "at least one path or resource must be specified")],
    ),
    (
        {"action": "move", "move": {}},
        [
            ("Required", "spec.move.targetPath", "target path is required"),
            ("Required", "spec.move", "at least one path or resource must be specified"),
        ],
    ),
    (
        {"action": "push", "push": {"branch": "a b", "path": "../x"}},
        [
            ("Invalid", "spec.push.branch", "invalid git branch name"),
            ("Invalid", "spec.push.path", "path contains traversal attempt (./ or ../)"),
        ],
    ),
    (
        {"action": "delete", "delete": {"paths": ["a", "/b", "c%", ".d", "e//f", "g*"]}},
        [
            ("Invalid", "spec.delete.paths[1]", "path must be relative"),
            (
                "Invalid",
                "spec.delete.paths[2]",
                "path contains percent character which could be used for URL encoding attacks",
            ),
            (
                "Invalid",
                "spec.delete.paths[3]",
                "path contains hidden file or directory (starting with dot)",
            ),
            ("Invalid", "spec.delete.paths[4]", "path contains double slashes"),
            ("Invalid", "spec.delete.paths[5]", "path contains invalid characters"),
        ],
    ),
    (
        {"action": "push", "push": {"resources": [{"kind": "Folder", "name": "x"}, {}]}},
        [
            (
                "Invalid",
                "spec.push.resources[0].kind",
                "kind is not supported for export; supported kinds: Dashboard",
            ),
            ("Required", "spec.push.resources[1].name", "resource name is required"),
            ("Required", "spec.push.resources[1].kind", "resource kind is required"),
        ],
    ),
    (
        {"action": "delete", "delete": {"paths": ["a"] * 101}},
        [("TooMany", "spec.delete.paths", "must have at most 100 items")],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), RULES, ids=lambda row: str(row)[:60])
async def test_rules_of_jobs_that_are_created_directly(server, spec, expected):
    body = {"metadata": {"name": "mine"}, "spec": {"repository": "a", **spec}}
    code, _, answer = await server.request("POST", f"{ALL}/jobs", json=body)
    assert code == 422
    causes = answer["details"]["causes"]
    told = [(each["type"].removeprefix("FieldValue"), each["field"]) for each in causes]
    assert told == [row[:2] for row in expected]
    for cause, (_, _, text) in zip(causes, expected, strict=True):
        assert cause["message"].endswith(text)


async def test_a_direct_job_keeps_its_name_and_needs_its_repository(server):
    pull = {"action": "pull", "pull": {}}
    code, _, answer = await server.request(
        "POST", f"{ALL}/jobs", json={"metadata": {"name": "mine"}, "spec": pull}
    )
    assert code == 422
    assert answer["details"]["causes"][0]["message"] == (
        "Required value: repository must be specified"
    )
    body = {"metadata": {"name": "mine"}, "spec": {**pull, "repository": "nobody"}}
    code, _, made = await server.request("POST", f"{ALL}/jobs", json=body)
    assert (code, made["metadata"]["name"], made["status"]) == (201, "mine", {})
    await server.settled()
    [job] = (await server.client.list(f"{PROVISIONING}/historicjobs")).items
    assert job["status"]["message"] == "repository nobody not found"


async def test_a_local_directory_is_pulled_like_a_branch(provisioned, tmp_path):
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "a.json").write_text(dashboard())
    async with provisioned(local_path_prefixes=[tmp_path]) as server:
        spec = {"title": "T", "type": "local", "local": {"path": str(tmp_path)}, "sync": SYNC}
        await server.create({**repository(), "spec": {**spec, "workflows": ["write"]}})
        await server.settled()
        jobs = Jobs(server)
        first = await jobs.sync()
        assert (first["state"], len(first["lastRef"])) == ("success", 40)
        (tmp_path / "b.yaml").write_text(resource())
        await server.recheck(31)
        assert (await jobs.sync())["lastRef"] != first["lastRef"]
        await jobs.post({"delete": {"paths": ["team/"]}})
        assert (await jobs.finished())[0]["status"]["summary"][0]["delete"] == 1
        assert [path.name for path in tmp_path.rglob("*.json")] == []


async def test_finished_jobs_become_history_that_expires(jobs):
    server = jobs.server
    for number in range(MANY):
        spec = {"action": "pull", "repository": "a", "pull": {"incremental": True}}
        head = {"apiVersion": PROVISIONING, "kind": "Job"}
        await server.create(
            {**head, "metadata": {"name": f"j{number}", "namespace": "ns"}, "spec": spec}
        )
    await server.settled()
    before = {"githosts", "repositories"}
    assert await kept(server) == {"historicjobs": MANY + 1, **dict.fromkeys(before, 1)}
    await server.recheck(601)
    assert await kept(server) == dict.fromkeys(before, 1)


async def kept(server):
    """Return the number of objects of each kind."""
    kinds = ["jobs", "historicjobs", "repositories", "connections"]
    found = {}
    for resource in [*(f"{PROVISIONING}/{kind}" for kind in kinds), "world.inkube.dev/v1/githosts"]:
        count = len((await server.client.list(resource)).items)
        if count:
            found[resource.rpartition("/")[2]] = count
    return found
