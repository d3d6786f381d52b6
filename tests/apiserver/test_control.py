"""`/inkube/v1/…`: HTTP endpoints that settle, move in time, reset, restore and fork a server."""

import asyncio
import contextlib
from datetime import datetime

import aiohttp
import boats
import pytest
from patience import SECONDS, within

from inkube import APIServer
from inkube.apiserver.sources import snapshots

ROOT = "/inkube/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
CRD = boats.definition({"type": "object"})


def config_map(name, **data):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


class Web:
    """A client of one server."""

    def __init__(self, session):
        self._session = session

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, url, **headers):
        timeout = aiohttp.ClientTimeout(SECONDS)
        async with aiohttp.ClientSession(url, headers=headers, timeout=timeout) as session:
            yield cls(session)

    async def ask(self, method, path, body=None):
        async with self._session.request(method, path, json=body) as answer:
            return answer.status, await answer.json()

    async def post(self, action, **parameters):
        code, body = await self.ask("POST", f"{ROOT}/{action}", parameters or None)
        assert code == 200, body
        return body

    async def names(self, path=MAPS):
        _, body = await self.ask("GET", path)
        return [item["metadata"]["name"] for item in body["items"]]

    async def read(self, path):
        async with self._session.get(path) as answer:
            return answer.status, await answer.read()


@pytest.fixture
async def server():
    async with APIServer(retry_seconds=0.0) as server:
        yield server


@pytest.fixture
async def web(server):
    async with Web.of(server.url) as web:
        yield web


async def test_settled_waits_for_the_controllers_and_returns_the_revision(server, web):
    await server.client.create(CRD)
    revision = (await web.post("settled"))["revision"]
    assert int(revision) == server.store.revision
    assert (await web.ask("GET", "/apis/example.com/v1/boats"))[0] == 200


async def test_reset_makes_the_state_that_of_the_start(server, web):
    namespaces = await web.names("/api/v1/namespaces")
    await server.client.create(config_map("one"))
    await server.client.create(CRD)
    await web.post("settled")
    await server.client.create({
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "argo", "namespace": "default"},
    })  # fmt: skip
    before = server.store.revision
    assert int((await web.post("reset"))["revision"]) > before
    assert await web.names() == []
    assert await web.names("/api/v1/namespaces") == namespaces
    assert (await web.read("/apis/example.com/v1/boats"))[0] == 404
    await server.client.create(config_map("one"))  # and everything works as before
    assert await web.names() == ["one"]


async def test_a_state_of_any_size_is_restored_and_reset(server, web):
    await web.post("snapshot", name="empty")
    for n in range(600):
        await server.client.create(config_map(f"m-{n:03}"))
    await web.post("snapshot", name="full")
    await web.post("restore", name="empty")
    assert await web.names() == []
    await web.post("restore", name="full")
    assert len(await web.names()) == 600
    await web.post("reset")
    assert await web.names() == []


async def test_what_every_server_has_survives_a_reset(web):
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    classes = await web.names(path)
    assert classes
    await web.post("reset")
    assert await web.names(path) == classes


async def test_a_snapshot_is_restored_with_changes_that_watchers_receive(server, web):
    await server.client.create(config_map("kept", colour="red"))
    await server.client.create(config_map("lost"))
    taken = await web.post("snapshot", name="before")
    assert (await web.ask("GET", f"{ROOT}/snapshot"))[1] == {"snapshots": [taken]}
    uid = (await server.client.get("v1/configmaps", "kept", "default"))["metadata"]["uid"]
    await server.client.patch(
        "v1/configmaps", "kept", namespace="default", patch={"data": {"colour": "blue"}}
    )
    await server.client.delete("v1/configmaps", "lost", "default")
    await server.client.create(config_map("new"))
    query = f"watch=1&resourceVersion={server.store.revision}"
    async with within(), web._session.get(f"{MAPS}?{query}") as watch:
        await web.post("restore", name="before")
        events = [await watch.content.readline() for _ in range(3)]
    assert sorted(line.split(b'"')[3] for line in events) == [b"ADDED", b"DELETED", b"MODIFIED"]
    assert sorted(await web.names()) == ["kept", "lost"]
    kept = await server.client.get("v1/configmaps", "kept", "default")
    assert (kept["data"], kept["metadata"]["uid"]) == ({"colour": "red"}, uid)
    revision = server.store.revision
    await web.post("restore", name="before")  # no difference, so no write
    assert server.store.revision == revision


async def test_a_snapshot_is_a_file_that_other_servers_begin_with(server, web, tmp_path):
    await server.client.create(config_map("one"))
    await web.post("snapshot", name="before")
    code, data = await web.read(f"{ROOT}/snapshot/before")
    assert code == 200
    path = tmp_path / "before.db"
    path.write_bytes(data)
    async with APIServer(snapshot=await snapshots.load(path)) as other, Web.of(other.url) as there:
        assert await there.names() == ["one"]
    assert (await web.ask("DELETE", f"{ROOT}/snapshot/before"))[0] == 200
    assert (await web.ask("POST", f"{ROOT}/restore", {"name": "before"}))[0] == 404


async def test_advance_moves_the_clock_and_waits_for_what_became_due(server, web):
    made = await server.client.create({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "old", "namespace": "default"},
        "involvedObject": {"kind": "ConfigMap", "namespace": "default"},
    })  # fmt: skip
    told = await web.post("advance", seconds=7200)
    begun = datetime.fromisoformat(made["metadata"]["creationTimestamp"])
    assert (datetime.fromisoformat(told["time"]) - begun).total_seconds() >= 7200
    async with within():
        while await web.names("/api/v1/namespaces/default/events"):
            await web.post("settled")
    later = await server.client.create(config_map("later"))
    assert datetime.fromisoformat(later["metadata"]["creationTimestamp"]) > begun


async def test_a_fork_has_the_state_and_a_life_of_its_own(server, web):
    await server.client.create(config_map("one"))
    await web.post("advance", seconds=60)
    fork = await web.post("fork", name="other")
    assert fork["url"] in fork["kubeconfig"]
    async with Web.of(fork["url"]) as there:
        assert await there.names() == ["one"]
        await there.ask("POST", MAPS, config_map("two"))
        assert await there.names() == ["one", "two"]
        assert await web.names() == ["one"]
        times = [(await each.ask("GET", ROOT))[1]["time"] for each in (web, there)]
    first, second = map(datetime.fromisoformat, times)
    assert abs((second - first).total_seconds()) < SECONDS
    assert (await web.ask("GET", f"{ROOT}/fork"))[1]["forks"] == [
        {"name": "other", "url": fork["url"]}
    ]
    assert (await web.ask("DELETE", f"{ROOT}/fork/other"))[0] == 200
    async with Web.of(fork["url"]) as there:
        with pytest.raises(aiohttp.ClientConnectionError):
            await there.names()


async def test_a_fork_of_a_snapshot_begins_there_and_ends_with_its_server():
    async with APIServer() as server, Web.of(server.url) as web:
        await web.post("snapshot", name="empty")
        await server.client.create(config_map("one"))
        fork = await web.post("fork", name="other", snapshot="empty")
        async with Web.of(fork["url"]) as there:
            assert await there.names() == []
    async with Web.of(fork["url"]) as there:
        with pytest.raises(aiohttp.ClientConnectionError):
            await there.names()


async def test_a_server_that_keeps_its_data_is_restored_and_never_reset(tmp_path):
    async with APIServer(data=tmp_path / "data.db") as server, Web.of(server.url) as web:
        await web.post("snapshot", name="before")
        await server.client.create(config_map("one"))
        code, refused = await web.ask("POST", f"{ROOT}/reset")
        assert (code, refused["reason"]) == (409, "Conflict")
        assert await web.names() == ["one"]
        await web.post("restore", name="before")
        assert await web.names() == []


async def test_a_state_is_restored_while_others_write(server, web):
    await web.post("snapshot", name="before")
    stop = asyncio.Event()

    async def write():
        number = 0
        while not stop.is_set():
            await server.client.create(config_map(f"c{number}"))
            number += 1

    writing = asyncio.create_task(write())
    await web.post("restore", name="before")
    stop.set()
    await writing
    await web.post("restore", name="before")
    assert await web.names() == []


@pytest.mark.parametrize(
    ("action", "parameters"),
    [
        ("settled", {"within": -1}),
        ("settled", {"within": 601}),
        ("settled", {"within": "soon"}),
        ("settled", {"wihtin": 1}),
        ("advance", {}),
        ("advance", {"seconds": True}),
        ("advance", {"seconds": -1}),
        ("advance", {"seconds": 1e12}),
        ("snapshot", {}),
        ("snapshot", {"name": ""}),
        ("snapshot", {"name": "a/b"}),
        ("snapshot", {"name": "a" * 65}),
        ("restore", {"name": 1}),
        ("fork", {"name": "a", "port": 1}),
        ("reset", ["all"]),
    ],
)
async def test_parameters_that_make_no_sense_are_refused(web, action, parameters):
    code, body = await web.ask("POST", f"{ROOT}/{action}", parameters)
    assert (code, body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "settled", 405),
        ("DELETE", "reset", 405),
        ("POST", "", 405),
        ("GET", "fork/one", 405),
        ("DELETE", "fork/one", 404),
        ("GET", "snapshot/one", 404),
        ("DELETE", "snapshot/one", 404),
    ],
)
async def test_unknown_snapshots_and_forks_are_a_404_status(web, method, path, code):
    assert (await web.ask(method, f"{ROOT}/{path}".rstrip("/")))[0] == code


async def test_snapshots_and_forks_are_bounded(web):
    for number in range(20):
        await web.post("snapshot", name=str(number))
    assert (await web.ask("POST", f"{ROOT}/snapshot", {"name": "more"}))[0] == 429
    await web.post("snapshot", name="7")  # an existing one is replaced
    for number in range(10):
        await web.post("fork", name=str(number))
    assert (await web.ask("POST", f"{ROOT}/fork", {"name": "more"}))[0] == 429
    assert (await web.ask("POST", f"{ROOT}/fork", {"name": "7"}))[0] == 409


async def test_each_action_takes_a_right_of_its_own(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,me,1,"system:masters"\nother,tester,2\n')
    options = {"token_auth_file": tokens, "authorization_mode": "RBAC"}
    async with (
        APIServer(**options) as server,
        Web.of(server.url, Authorization="Bearer secret") as admin,
        Web.of(server.url, Authorization="Bearer other") as tester,
        Web.of(server.url) as nobody,
    ):
        code, body = await tester.ask("POST", f"{ROOT}/settled")
        assert code == 403
        assert f'cannot post path "{ROOT}/settled"' in body["message"]
        assert (await nobody.ask("POST", f"{ROOT}/settled"))[0] == 403
        await server.client.create({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "settles"},
            "rules": [{"nonResourceURLs": [f"{ROOT}/settled"], "verbs": ["post"]}],
        })  # fmt: skip
        await server.client.create({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "settles"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "settles",
            },
            "subjects": [
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "tester"}
            ],
        })  # fmt: skip
        await tester.post("settled")
        assert (await tester.ask("POST", f"{ROOT}/reset"))[0] == 403
        await admin.post("settled")


async def test_pages_of_other_machines_control_nothing(server):
    async with Web.of(server.url, Origin="https://elsewhere.example") as web:
        assert (await web.ask("POST", f"{ROOT}/reset"))[0] == 403


async def test_openapi_describes_every_action(web):
    _, document = await web.ask("GET", "/openapi/v3/inkube/v1")
    paths = document["paths"]
    for action in ("settled", "advance", "reset", "snapshot", "restore", "fork"):
        assert "post" in paths[f"{ROOT}/{action}"]
    _, merged = await web.ask("GET", "/openapi/v2")
    assert not [path for path in merged["paths"] if path.startswith("/inkube")]


SIMPLE = ("text/plain", "text/plain;charset=utf-8", "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=a", "application/yaml", "")  # fmt: skip
"""Media types that web pages can send without a preflight request, and others."""


@pytest.mark.parametrize("media", SIMPLE)
@pytest.mark.parametrize(
    ("action", "body"), [("reset", b""), ("reset", b"{}"), ("snapshot", b'{"name": "a"}')]
)
async def test_parameters_are_json_by_their_type(server, action, body, media):
    async with aiohttp.ClientSession(server.url) as session:
        url, headers = f"{ROOT}/{action}", {"Content-Type": media}
        async with session.post(url, data=body, headers=headers) as answer:
            assert answer.status == 415, await answer.text()
            assert "application/json" in (await answer.json())["message"]
        assert not server_snapshots(await (await session.get(f"{ROOT}/snapshot")).json())
        headers = {"Content-Type": "application/json; charset=utf-8"}
        async with session.post(url, data=body, headers=headers) as answer:
            assert answer.status == 200, await answer.text()


def server_snapshots(body):
    return [each["name"] for each in body["snapshots"]]
