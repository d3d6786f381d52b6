"""Subresources of repositories and connections for web pages: branches, resources, history,
counts."""

import base64

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from worlds import PROVISIONING, host, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
FILES = [
    {
        "path": "team/a.json",
        "content": '{"uid":"a","title":"A","schemaVersion":1,"panels":[],"tags":[]}',
    },
    {
        "path": "b.yaml",
        "content": "apiVersion: dashboard.grafana.app/v1\nkind: Dashboard\nmetadata: {name: b}\n",
    },
]
HOSTED = {
    "path": "grafana/grafana", "branches": ["main", "dev"], "defaultBranch": "main",
    "protectedBranches": ["main"], "files": FILES,
}  # fmt: skip
SYNC = {"enabled": True, "target": "folder", "intervalSeconds": 30}


def app(repositories):
    installation = (
        {"id": "42"} if repositories is None else {"id": "42", "repositories": repositories}
    )
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHubApp",
        "metadata": {"name": "123456"},
        "spec": {"installations": [installation]},
    }


def connection():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    github = {"appID": "123456", "installationID": "42"}
    return {
        "apiVersion": PROVISIONING,
        "kind": "Connection",
        "metadata": {"name": "conn", "namespace": "ns"},
        "spec": {"title": "Title", "type": "github", "github": github},
        "secure": {"privateKey": {"create": base64.b64encode(text).decode()}},
    }


async def get(server, path, version="v0alpha1"):
    code, _, body = await server.request("GET", f"{ALL}/{path}".replace("v0alpha1", version))
    return code, body


@pytest.fixture
async def world(server):
    """A server whose github.com has files."""
    await server.create(host(repositories=[HOSTED]))
    return server


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1"])
async def test_branches_are_listed_by_name(world, version):
    await world.create(repository())
    code, body = await get(world, "repositories/a/refs", version)
    assert code == 200
    assert body["kind"] == "RefList"
    assert body["apiVersion"] == f"provisioning.grafana.app/{version}"
    dev, main = body["items"]
    assert len(dev.pop("hash")) == len(main.pop("hash")) == 40
    base = "https://github.com/grafana/grafana/tree"
    assert dev == {"name": "dev", "refURL": f"{base}/dev"}
    assert main == {"name": "main", "refURL": f"{base}/main", "protected": True}


@pytest.mark.parametrize(
    ("kind", "place", "url"),
    [
        ("gitlab", "https://github.com/grafana/grafana", "-/tree/dev"),
        ("bitbucket", "https://bitbucket.org/grafana/grafana", "src/dev"),
        ("git", "https://github.com/grafana/grafana", None),
    ],
)
async def test_each_provider_shows_branches_elsewhere(world, kind, place, url):
    if kind == "bitbucket":
        await world.create(host("bitbucket.org"))
    spec = {"title": "T", "type": kind, kind: {"url": place, "branch": "main"}}
    await world.create({**repository(), "spec": spec})
    _, body = await get(world, "repositories/a/refs")
    assert body["items"][0].get("refURL") == (f"{place}/{url}" if url else None)


async def test_a_head_moves_with_the_files_of_its_branch_and_comes_back(world):
    await world.create(repository())
    _, first = await get(world, "repositories/a/refs")
    extra = {"path": "c.json", "content": "{}", "branch": "dev"}
    await world.edit("githosts", "github.com", repositories=[{**HOSTED, "files": [*FILES, extra]}])
    _, second = await get(world, "repositories/a/refs")
    assert first["items"][0] != second["items"][0]
    assert first["items"][1] == second["items"][1]
    await world.edit("githosts", "github.com", repositories=[HOSTED])
    assert (await get(world, "repositories/a/refs"))[1] == first


async def test_a_directory_has_neither_branches_nor_history(provisioned, tmp_path):
    async with provisioned(local_path_prefixes=[tmp_path]) as server:
        spec = {"title": "T", "type": "local", "local": {"path": str(tmp_path)}}
        await server.create({**repository(), "spec": spec})
        code, body = await get(server, "repositories/a/refs")
        assert (code, body["message"]) == (
            400, "repository does not support versioned operations",
        )  # fmt: skip
        code, body = await get(server, "repositories/a/history")
        assert (code, body["message"]) == (400, "this repository does not support history")


@pytest.mark.parametrize("what", ["refs", "resources", "history", "jobs"])
async def test_of_no_repository_there_is_nothing_to_read(server, what):
    code, body = await get(server, f"repositories/nobody/{what}")
    assert (code, body["details"]["name"]) == (404, "nobody")


async def test_an_unreachable_host_is_an_error_with_its_cause(server):
    await server.create(repository())
    code, body = await get(server, "repositories/a/refs")
    assert (code, body["message"]) == (500, "github.com: host github.com is not reachable")


async def test_resources_are_those_of_the_last_pull(world):
    await world.create(repository())
    assert (await get(world, "repositories/a/resources"))[1]["items"] == []
    await world.edit("repositories", "a", sync=SYNC)
    await world.settled()
    _, body = await get(world, "repositories/a/resources")
    assert body["kind"] == "ResourceList"
    shown = [(each["path"], each["resource"], each["name"]) for each in body["items"]]
    team = shown[1][2]
    assert shown == [
        ("", "folders", "a"),
        ("team/", "folders", team),
        ("b.yaml", "dashboards", "b"),
        ("team/a.json", "dashboards", "a"),
    ]
    assert team.startswith("team-")
    classic = body["items"][3]
    assert (classic["title"], classic["folder"], len(classic["hash"])) == ("A", team, 40)
    assert body["items"][2]["folder"] == "a"


@pytest.mark.parametrize(("target", "folders"), [("instance", 1), ("folderless", 1), ("folder", 2)])
async def test_only_the_target_folder_has_a_root(world, target, folders):
    await world.create(repository(sync={**SYNC, "target": target}))
    await world.settled()
    stats = (await world.get("repositories"))["status"]["stats"]
    assert [each["count"] for each in stats] == [2, folders]


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1"])
async def test_stats_count_what_every_repository_made(world, version):
    empty = {
        "kind": "ResourceStats", "apiVersion": f"provisioning.grafana.app/{version}",
        "instance": [], "unmanaged": [], "managed": [],
    }  # fmt: skip
    assert (await get(world, "stats", version))[1] == empty
    await world.create(repository(sync=SYNC, block={"path": "team"}))
    await world.create(repository("b", sync=SYNC, block={"branch": "dev"}))
    await world.settled()
    _, body = await get(world, "stats", version)

    def counts(dashboards, folders):
        return [
            {"group": "dashboard.grafana.app", "resource": "dashboards", "count": dashboards},
            {"group": "folder.grafana.app", "resource": "folders", "count": folders},
        ]

    assert body["instance"] == counts(3, 3)
    assert body["managed"] == [
        {"kind": "repo", "id": "a", "stats": counts(1, 1)},
        {"kind": "repo", "id": "b", "stats": counts(2, 2)},
    ]
    await world.delete("repositories", "a")
    await world.settled()
    assert len((await get(world, "stats", version))[1]["managed"]) == 1


async def test_history_has_a_commit_per_head_that_was_seen(world):
    await world.create(repository(sync=SYNC))
    await world.settled()
    await world.edit("githosts", "github.com", repositories=[{**HOSTED, "files": FILES[:1]}])
    _, body = await get(world, "repositories/a/history")
    assert body["kind"] == "HistoryList"
    newest, first = body["items"]
    assert newest["ref"] != first["ref"]
    assert first["message"] == "initial"
    assert first["authors"] == [{"name": "inkube", "username": "inkube"}]
    assert newest["createdAt"] >= first["createdAt"]
    _, body = await get(world, "repositories/a/history?ref=dev")
    assert len(body["items"]) == 1
    code, body = await get(world, "repositories/a/history?ref=none")
    assert (code, body["message"]) == (404, "ref not found")


async def test_pure_git_has_no_history(world):
    git = {"url": "https://github.com/grafana/grafana", "branch": "main"}
    await world.create({**repository(), "spec": {"title": "T", "type": "git", "git": git}})
    code, body = await get(world, "repositories/a/history")
    assert (code, body["message"]) == (
        501, "history is not supported for pure git repositories",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "names"), [(None, ["grafana"]), (["grafana/loki", "a/b"], ["b", "loki"])]
)
async def test_a_connection_lists_what_its_installation_reaches(world, limit, names):
    await world.create(app(limit))
    await world.create(connection())
    code, body = await get(world, "connections/conn/repositories")
    assert (code, body["kind"]) == (200, "ExternalRepositoryList")
    assert [each["name"] for each in body["items"]] == names
    last = body["items"][-1]
    assert last == {
        "name": names[-1], "owner": "grafana", "url": f"https://github.com/grafana/{names[-1]}",
    }  # fmt: skip


async def test_a_connection_that_cannot_list_answers_501(server):
    spec = {"title": "T", "type": "gitlab", "oauth": {"clientID": "app"}}
    secure = {"clientSecret": {"create": "x"}}
    await server.create({**connection(), "spec": spec, "secure": secure})
    code, body = await get(server, "connections/conn/repositories")
    assert code == 501
    assert body["message"] == "list repositories not implemented for given connection type"
    assert (await get(server, "connections/nobody/repositories"))[0] == 404


async def test_an_app_that_is_not_there_is_an_error_with_its_cause(world):
    await world.create(connection())
    code, body = await get(world, "connections/conn/repositories")
    assert (code, body["message"]) == (500, "app not found")


async def test_discovery_lists_what_can_be_read(server):
    _, _, body = await server.request("GET", f"/apis/{PROVISIONING}")
    names = {each["name"] for each in body["resources"]}
    assert {
        f"repositories/{name}" for name in ("status", "refs", "resources", "history", "jobs")
    } <= (names)
    assert {"connections/status", "connections/repositories", "jobs/status"} <= names
    assert not names & {"settings", "stats"}
