"""The files of a repository: listed, read as resources, written in commits, refused."""

import json

import aiohttp
import pytest
from worlds import PROVISIONING, host, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns/repositories/a/files"
DASHBOARD = {"uid": "a", "title": "A", "schemaVersion": 39, "panels": [], "tags": []}
MANIFEST = "apiVersion: dashboard.grafana.app/v1\nkind: Dashboard\nmetadata: {name: b}\n"
FILES = [
    {"path": "team/a.json", "content": json.dumps(DASHBOARD)},
    {"path": "b.yaml", "content": MANIFEST},
    {"path": "README.md", "content": "# Hello"},
    {"path": "bad.json", "content": "[]"},
    {"path": "other.yaml", "content": MANIFEST.replace("name: b", "name: b, namespace: x")},
]
PLACE = {"path": "grafana/grafana", "branches": ["main", "dev"], "defaultBranch": "main"}
HOSTED = {**PLACE, "files": FILES}
SECURE = {"token": {"create": "x"}}


class Files:
    """A server with one repository that allows all ways to write."""

    def __init__(self, server):
        self.server = server

    async def ask(self, method, path="", body=None):
        return await self.server.request(method, f"{ALL}/{path}", data=body)

    async def refused(self, method, path="", body=None):
        code, _, answer = await self.ask(method, path, body)
        return code, answer["message"]

    async def on(self, branch):
        """Return paths of a branch."""
        query = f"?ref={branch}" if branch else ""
        _, _, answer = await self.ask("GET", query)
        return [each["path"] for each in answer["items"]]


@pytest.fixture
async def files(server):
    await server.create(host(repositories=[HOSTED]))
    await server.create(repository(workflows=["write", "branch"], secure=SECURE))
    await server.settled()
    return Files(server)


ALL_PATHS = ["README.md", "b.yaml", "bad.json", "other.yaml", "team/a.json"]


async def test_files_are_listed_below_the_path(files):
    code, _, answer = await files.ask("GET")
    assert (code, answer["kind"]) == (200, "FileList")
    assert [each["path"] for each in answer["items"]] == ALL_PATHS
    assert answer["items"][0]["size"] == 7
    assert len(answer["items"][0]["hash"]) == 40
    await files.server.edit("repositories", "a", github={"path": "team"})
    assert await files.on("") == ["a.json"]


async def test_a_file_is_shown_as_the_resource_it_is(files):
    code, _, answer = await files.ask("GET", "team/a.json")
    assert (code, answer["kind"], answer["path"]) == (200, "ResourceWrapper", "team/a.json")
    assert answer["repository"] == {
        "name": "a", "namespace": "ns", "title": "Title", "type": "github",
    }  # fmt: skip
    resource = answer["resource"]
    assert resource["type"] == {
        "group": "dashboard.grafana.app", "version": "v1", "kind": "Dashboard",
        "resource": "dashboards", "classic": "dashboard",
    }  # fmt: skip
    assert (resource["file"], resource["action"]) == (DASHBOARD, "create")
    metadata = resource["dryRun"]["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("a", "ns")
    notes = metadata["annotations"]
    assert notes["grafana.app/managedBy"] == "repo"
    assert notes["grafana.app/managerId"] == "a"
    assert notes["grafana.app/sourcePath"] == "team/a.json"
    assert notes["grafana.app/sourceChecksum"] == answer["hash"]
    assert notes["grafana.app/folder"].startswith("team-")
    base = "https://github.com/grafana/grafana"
    assert answer["urls"] == {
        "repositoryURL": base, "sourceURL": f"{base}/blob/main/team/a.json",
    }  # fmt: skip


async def test_what_is_wrong_with_a_file_stands_beside_it(files):
    code, _, answer = await files.ask("GET", "other.yaml")
    assert code == 206
    assert answer["errors"] == ["the file namespace does not match target namespace"]
    assert answer["resource"]["file"]["metadata"]["namespace"] == "x"


async def test_markdown_is_answered_as_it_is(files):
    url = f"{files.server.api.url}{ALL}/README.md"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        assert (answer.status, answer.content_type) == (200, "text/markdown")
        assert await answer.text() == "# Hello"


REFUSED = [
    ("GET", "none.json", 404, "file not found"),
    ("PUT", "none.json", 404, "file not found"),
    ("DELETE", "none.json", 404, "file not found"),
    ("GET", "b.yaml?ref=none", 404, "ref not found"),
    ("POST", "b.yaml", 409, "file already exists"),
    ("POST", "", 400, "missing request path"),
    ("GET", "team/", 400, "folder navigation not yet supported"),
    ("GET", "b.txt", 400, "unsupported file extension"),
    ("POST", "b", 400, "unsupported file extension"),
    ("GET", "1/2/3/4/5/6/7/8/9.json", 400, "the path is too deep"),
    ("GET", "a/..%2Fb.json", 400, "path contains traversal attempt (./ or ../)"),
    (
        "POST",
        ".github/b.json",
        400,
        "path contains hidden file or directory (starting with dot)",
    ),
    ("GET", "bad.json", 400, "unable to read file as a resource"),
    ("POST", "new.json", 400, "unable to read file as a resource"),
    (
        "PUT",
        "team/",
        405,
        "the server does not allow this method on the requested resource",
    ),
]


@pytest.mark.parametrize(("method", "path", "code", "message"), REFUSED)
async def test_refused_reads_and_writes_of_files_have_their_reason(
    files, method, path, code, message
):
    body = "[]" if method in ("POST", "PUT") else None
    assert await files.refused(method, path, body) == (code, message)


async def test_a_file_is_made_changed_moved_and_removed(files):
    code, _, answer = await files.ask("POST", "new/c.yaml?message=Hi", MANIFEST)
    assert (code, answer["resource"]["action"]) == (200, "create")
    assert "new/c.yaml" in await files.on("")
    assert "new/c.yaml" not in await files.on("dev")
    code, _, answer = await files.ask("PUT", "new/c.yaml", MANIFEST.replace("b}", "c}"))
    assert (code, answer["resource"]["action"]) == (200, "update")
    _, _, shown = await files.ask("GET", "new/c.yaml")
    assert shown["resource"]["file"]["metadata"]["name"] == "c"
    code, _, _ = await files.ask("POST", "d.yaml?originalPath=new/c.yaml")
    assert code == 200
    assert await files.on("") == ["README.md", "b.yaml", "bad.json", "d.yaml", *ALL_PATHS[3:]]
    code, _, answer = await files.ask("DELETE", "d.yaml")
    assert (code, answer["resource"]["action"]) == (200, "delete")
    assert await files.on("") == ALL_PATHS
    path = ALL.replace("files", "history")
    _, _, history = await files.server.request("GET", path)
    messages = [each["message"] for each in history["items"]]
    assert messages == ["Delete d.yaml", "Move d.yaml", "Update new/c.yaml", "Hi", "initial"]


async def test_a_directory_is_made_by_a_hidden_file_and_removed_with_all_in_it(files):
    assert (await files.ask("POST", "empty/"))[0] == 200
    assert (await files.refused("POST", "empty/"))[0] == 409
    assert "empty/.keep" in await files.on("")
    assert (await files.ask("DELETE", "team/"))[0] == 200
    assert "team/a.json" not in await files.on("")


async def test_a_branch_is_made_when_something_is_written_to_it(files):
    code, _, answer = await files.ask("PUT", "b.yaml?ref=fix", MANIFEST + "spec: {title: X}\n")
    assert (code, answer["ref"]) == (200, "fix")
    compared = "https://github.com/grafana/grafana/compare/main...fix"
    assert answer["urls"]["compareURL"] == compared
    assert answer["urls"]["newPullRequestURL"] == f"{compared}?quick_pull=1"
    assert await files.on("fix") == ALL_PATHS
    _, _, here = await files.ask("GET", "b.yaml")
    _, _, there = await files.ask("GET", "b.yaml?ref=fix")
    assert here["hash"] != there["hash"]


@pytest.mark.parametrize(
    ("workflows", "query", "why"),
    [
        ([], "", "write operations are not allowed for this repository"),
        (["branch"], "", "write workflow is not allowed for this repository"),
        (["branch"], "?ref=main", "write workflow is not allowed for this repository"),
        (["write"], "?ref=dev", "branch workflow is not allowed for this repository"),
    ],
)
async def test_workflows_limit_writes(files, workflows, query, why):
    await files.server.edit("repositories", "a", workflows=workflows)
    code, message = await files.refused("POST", f"c.yaml{query}", MANIFEST)
    assert code == 403
    assert message.endswith(why)


async def test_what_is_written_is_pulled_at_once(files):
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 3600}
    good = {**PLACE, "files": FILES[:2]}
    await files.server.edit("githosts", "github.com", repositories=[good])
    await files.server.edit("repositories", "a", sync=sync)
    await files.server.settled()
    before = (await files.server.get("repositories"))["status"]["sync"]["lastRef"]
    await files.ask("POST", "c.yaml", MANIFEST.replace("name: b", "name: c"))
    await files.server.settled()
    assert (await files.server.get("repositories"))["status"]["sync"]["lastRef"] != before
    _, _, shown = await files.ask("GET", "c.yaml")
    assert shown["resource"]["action"] == "update"
    assert shown["resource"]["existing"]["metadata"]["name"] == "c"


async def test_a_directory_of_the_server_knows_no_branches(provisioned, tmp_path):
    (tmp_path / "b.yaml").write_text(MANIFEST)
    async with provisioned(local_path_prefixes=[tmp_path]) as server:
        spec = {"title": "T", "type": "local", "local": {"path": str(tmp_path)}}
        await server.create({**repository(), "spec": {**spec, "workflows": ["write"]}})
        files = Files(server)
        assert await files.on("") == ["b.yaml"]
        assert await files.refused("GET", "b.yaml?ref=x") == (
            400, "local repository does not support ref",
        )  # fmt: skip
        assert (await files.ask("POST", "x/c.yaml", MANIFEST))[0] == 200
        assert (tmp_path / "x" / "c.yaml").read_text() == MANIFEST
        (tmp_path.parent / "outside").mkdir()
        (tmp_path / "link").symlink_to(tmp_path.parent / "outside")
        assert await files.refused("POST", "link/c.yaml", MANIFEST) == (
            400, "path leads out of the directory",
        )  # fmt: skip
        assert (await files.ask("DELETE", "b.yaml"))[0] == 200
        assert await files.on("") == ["x/c.yaml"]
