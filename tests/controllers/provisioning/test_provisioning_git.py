"""Live checks with real git: dulwich's http server and repositories in files."""

import asyncio
import base64
import contextlib
import gc
import socket
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich.object_store import iter_tree_contents
from dulwich.refs import Ref
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain
from patience import SECONDS, within
from worlds import PROVISIONING, told

from inkube.controllers.checks import OutsideError
from inkube.controllers.provisioning import places
from inkube.controllers.provisioning.outside.clients.git import Git
from inkube.controllers.provisioning.outside.hosts import (
    NotAuthorized,
    RepositoryNotFound,
    Target,
)
from inkube.controllers.provisioning.outside.ssrf import Guard


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        return None


class GitServer:
    """dulwich over http, with a password and optional outages."""

    def __init__(self, repositories):
        self.app = make_wsgi_chain(DictBackend(repositories))
        self.readers, self.writers = set(), set()
        self.code = None
        self.before_push = None
        self.server = make_server("127.0.0.1", 0, self, handler_class=Quiet)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def __call__(self, environ, start_response):
        refused = self.code or self._refused(environ)
        is_push = "git-receive-pack" in environ.get("QUERY_STRING", "")
        if is_push and self.before_push is not None:
            self.before_push()
            self.before_push = None
        if refused:
            start_response(f"{refused} Refused", [("Content-Type", "text/plain")])
            return [b"no"]
        return self.app(environ, start_response)

    def _refused(self, environ):
        if not self.readers | self.writers:
            return None
        _, _, encoded = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        token = base64.b64decode(encoded).decode().partition(":")[2]
        if token not in self.readers | self.writers:
            return 401
        if "receive-pack" in environ.get("QUERY_STRING", "") and token not in self.writers:
            return 403
        return None


@pytest.fixture
def origin(tmp_path):
    """A bare repository with the branches main and dev."""
    path = tmp_path / "origin.git"
    path.mkdir()
    repo = Repo.init_bare(str(path))
    commit = _commit(repo)
    repo.refs[b"refs/heads/main"] = commit
    repo.refs[b"refs/heads/dev"] = commit
    repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(b"refs/heads/main"))
    yield repo
    repo.close()


def _commit(repo):
    from dulwich.objects import Commit, Tree

    tree = Tree()
    commit = Commit()
    commit.tree = tree.id
    commit.author = commit.committer = b"A <a@example.com>"
    commit.author_time = commit.commit_time = 0
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"first"
    repo.object_store.add_object(tree)
    repo.object_store.add_object(commit)
    return commit.id


@pytest.fixture
def git(origin):
    server = GitServer({"/team/dashboards": origin})
    yield server
    server.close()


@pytest.fixture
async def server(provisioned):
    async with provisioned(
        offline=False, allow_private_hosts=True, outside_timeout=SECONDS
    ) as made:
        yield made


def repository(url, *, branch="main", secure=None, name="a", kind="git", **spec):
    obj = {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"title": "Title", "type": kind, kind: {"url": url, "branch": branch}, **spec},
    }
    if secure:
        obj["secure"] = {"token": {"create": secure}}
    return obj


async def both_phases(server, obj):
    """Return the errors of the controller, after a check that the dry run has the same."""
    causes = await server.dry_run(obj)
    await server.create(obj)
    errors = await server.errors("repositories")
    assert [(cause["reason"], cause["field"]) for cause in causes] == [
        (error["type"], error["field"]) for error in errors
    ]
    return told(errors)


async def test_a_repository_over_http_is_healthy_and_its_head_is_known(server, git, origin):
    sync = {"enabled": True, "target": "folder"}
    assert await both_phases(server, repository(f"{git.url}/team/dashboards", sync=sync)) == []
    status = (await server.get("repositories"))["status"]
    assert status["sync"]["lastRef"] == origin.refs[b"refs/heads/main"].decode()


@pytest.mark.parametrize("is_file", [False, True], ids=["http", "file"])
async def test_files_of_a_real_repository_are_pulled(server, git, origin, is_file):
    head = _add(origin, b"team/a.yaml", DASHBOARD)
    url = f"file://{origin.path}" if is_file else f"{git.url}/team/dashboards"
    sync = {"enabled": True, "target": "instance", "intervalSeconds": 60}
    await server.create(repository(url, sync=sync))
    await server.settled()
    status = (await server.get("repositories"))["status"]
    assert (status["sync"]["state"], status["sync"]["lastRef"]) == ("success", head.decode())
    assert [each["count"] for each in status["stats"]] == [1, 1]
    head = _add(origin, b"b.yaml", DASHBOARD.replace(b"mine", b"other"))
    await server.recheck(61)
    status = (await server.get("repositories"))["status"]
    assert status["sync"]["lastRef"] == head.decode()
    path = f"/apis/{PROVISIONING}/namespaces/ns/repositories/a"
    _, _, listed = await server.request("GET", f"{path}/resources")
    assert [each["name"] for each in listed["items"] if each["resource"] == "dashboards"] == [
        "other"
    ]
    _, _, listed = await server.request("GET", f"{path}/refs")
    assert listed["items"][1] == {"name": "main", "hash": head.decode()}


DASHBOARD = b"""apiVersion: dashboard.grafana.app/v1
kind: Dashboard
metadata: {name: mine}
spec: {title: Mine}
"""


def _add(repo, path, data):
    """Return a commit on main that replaces all files by one."""
    from dulwich.index import commit_tree
    from dulwich.objects import Blob, Commit

    blob = Blob.from_string(data)
    repo.object_store.add_object(blob)
    commit = Commit()
    commit.tree = commit_tree(repo.object_store, [(path, blob.id, 0o100644)])
    commit.parents = [repo.refs[b"refs/heads/main"]]
    commit.author = commit.committer = b"A <a@example.com>"
    commit.author_time = commit.commit_time = 1
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"more"
    repo.object_store.add_object(commit)
    repo.refs[b"refs/heads/main"] = commit.id
    return commit.id


async def test_an_empty_branch_becomes_the_one_head_points_to(server, git):
    await server.create(repository(f"{git.url}/team/dashboards", branch=""))
    assert await server.errors("repositories") == []
    assert (await server.get("repositories"))["spec"]["git"]["branch"] == "main"


async def test_a_branch_deleted_outside_shows_at_the_next_recheck(server, git, origin):
    await server.create(repository(f"{git.url}/team/dashboards", branch="dev"))
    assert await server.errors("repositories") == []
    del origin.refs[b"refs/heads/dev"]
    await server.recheck(300)
    assert told(await server.errors("repositories")) == [
        ("FieldValueInvalid", "spec.git.branch", "branch not found")
    ]
    await server.replace(repository(f"{git.url}/team/dashboards", branch="main"))
    assert await server.errors("repositories") == []


async def test_a_missing_branch_is_reported(server, git):
    obj = repository(f"{git.url}/team/dashboards", branch="gone")
    assert await both_phases(server, obj) == [
        ("FieldValueInvalid", "spec.git.branch", "branch not found")
    ]


async def test_a_missing_repository_is_reported(server, git):
    assert await both_phases(server, repository(f"{git.url}/team/none")) == [
        ("FieldValueInvalid", "spec.git.url", "repository not found")
    ]


async def test_a_refused_token_is_reported(server, git):
    git.readers = {"good"}
    obj = repository(f"{git.url}/team/dashboards", secure="wrong")
    assert await both_phases(server, obj) == [
        ("FieldValueInvalid", "secure.token", "not authorized")
    ]
    await server.replace(repository(f"{git.url}/team/dashboards", secure="good"))
    assert await server.errors("repositories") == []


async def test_a_token_with_read_access_is_reported(server, git):
    git.readers, git.writers = {"reader"}, {"writer"}
    url = f"{git.url}/team/dashboards"
    obj = repository(url, secure="reader", workflows=["write"])
    assert await both_phases(server, obj) == [
        ("FieldValueForbidden", "secure.token", "write permission denied")
    ]
    await server.replace(repository(url, secure="writer", workflows=["write"]))
    assert await server.errors("repositories") == []


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_an_outage_of_the_git_host_is_reported(server, git, code):
    git.code = code
    obj = repository(f"{git.url}/team/dashboards")
    [(kind, field, detail)] = await both_phases(server, obj)
    assert (kind, field) == ("FieldValueInvalid", "spec.git.url")
    assert detail.startswith("failed to check if repository exists: 127.0.0.1 ")
    assert str(code) in detail
    git.code = None
    await server.recheck(60)
    assert await server.errors("repositories") == []


async def test_a_refused_connection_is_reported(server):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/team/dashboards"
        assert await both_phases(server, repository(url)) == [
            (
                "FieldValueInvalid",
                "spec.git.url",
                (
                    "failed to check if repository exists: "
                    "unreachable: host 127.0.0.1 refused the connection"
                ),
            )
        ]


async def test_a_host_without_a_response_is_reported(provisioned):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/team/dashboards"
        options = {"offline": False, "allow_private_hosts": True, "outside_timeout": 0.2}
        async with provisioned(**options) as server:
            [(kind, field, detail)] = await both_phases(server, repository(url))
    assert (kind, field) == ("FieldValueInvalid", "spec.git.url")
    assert "did not answer" in detail


async def test_a_host_without_git_is_reported(server, git):
    git.app = _web_page
    [(kind, field, detail)] = await both_phases(server, repository(f"{git.url}/team/dashboards"))
    assert (kind, field) == ("FieldValueInvalid", "spec.git.url")
    assert "git protocol" in detail


def _web_page(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/x-git-upload-pack-advertisement")])
    return [b"<html>hello</html>"]


async def test_private_hosts_are_refused_without_the_option(provisioned, git):
    async with provisioned(offline=False) as server:
        for host in ("127.0.0.1", "localhost", "[::1]", "0x7f000001", "2130706433"):
            port = git.server.server_port
            causes = await server.dry_run(repository(f"http://{host}:{port}/team/dashboards"))
            assert "which this server is not allowed to ask" in causes[0]["message"], host


async def test_a_file_repository_is_healthy(provisioned, origin, tmp_path):
    url = f"file://{origin.path}"
    async with provisioned(local_path_prefixes=(str(tmp_path),)) as server:
        assert await both_phases(server, repository(url)) == []
        del origin.refs[b"refs/heads/main"]
        await server.recheck(300)
        assert told(await server.errors("repositories")) == [
            ("FieldValueInvalid", "spec.git.branch", "branch not found")
        ]


async def test_a_missing_file_repository_is_reported(provisioned, tmp_path):
    async with provisioned(local_path_prefixes=(str(tmp_path),)) as server:
        assert await both_phases(server, repository(f"file://{tmp_path}/none")) == [
            ("FieldValueInvalid", "spec.git.url", "repository not found")
        ]


async def test_files_outside_the_permitted_directories_are_refused(provisioned, origin):
    async with provisioned(offline=False) as server:
        [cause] = await server.dry_run(repository(f"file://{origin.path}"))
    assert cause["field"] == "spec.git.url"
    assert "--local-path-prefix" in cause["message"]


WRITES = {"workflows": ["write", "branch"], "secure": "good"}
SYNC = {"enabled": True, "target": "instance", "intervalSeconds": 60}
ALL = f"/apis/{PROVISIONING}/namespaces/ns/repositories/a"


def log(repo, branch):
    """Return the messages of a branch's commits, the newest first."""
    entries = repo.get_walker([repo.refs[f"refs/heads/{branch}".encode()]])
    return [entry.commit.message.decode() for entry in entries]


def names(repo, branch):
    commit = repo[repo.refs[f"refs/heads/{branch}".encode()]]
    return [entry.path.decode() for entry in iter_tree_contents(repo.object_store, commit.tree)]


@pytest.mark.parametrize("is_file", [False, True], ids=["http", "file"])
async def test_files_of_a_real_repository_are_written_in_commits(server, git, origin, is_file):
    _add(origin, b"team/.hidden", b"stays")
    url = f"file://{origin.path}" if is_file else f"{git.url}/team/dashboards"
    await server.create(repository(url, sync=SYNC, **WRITES))
    await server.settled()

    async def write(method, path, query="", data=DASHBOARD):
        code, _, answer = await server.request(method, f"{ALL}/files/{path}{query}", data=data)
        return code, answer

    code, answer = await write("POST", "team/a.yaml", "?message=Add+a")
    assert code == 200, answer
    assert names(origin, "main") == ["team/.hidden", "team/a.yaml"]
    assert log(origin, "main") == ["Add a", "more", "first"]
    assert (await write("POST", "team/a.yaml"))[0] == 409
    assert (await write("PUT", "team/a.yaml", "?message=Change+a", DASHBOARD + b"\n"))[0] == 200

    code, _ = await write("POST", "b.yaml", "?ref=proposal&message=Add+b", data=DASHBOARD)
    assert code == 200
    assert names(origin, "proposal") == ["b.yaml", "team/.hidden", "team/a.yaml"]
    assert log(origin, "proposal")[:2] == ["Add b", "Change a"]
    assert names(origin, "main") == ["team/.hidden", "team/a.yaml"]

    await server.settled()
    stored = await server.get("repositories")
    assert stored["status"]["sync"]["lastRef"] == origin.refs[b"refs/heads/main"].decode()
    assert stored["status"]["stats"][0]["count"] == 1

    move = {"move": {"paths": ["team/a.yaml"], "targetPath": "new/"}}
    code, _, _ = await server.request("POST", f"{ALL}/jobs", json=move)
    assert code == 202
    await server.settled()
    assert names(origin, "main") == ["new/a.yaml", "team/.hidden"]
    assert (await write("DELETE", "new/a.yaml", data=None))[0] == 200
    assert names(origin, "main") == ["team/.hidden"]


async def test_a_write_during_a_sync_is_followed_by_another_sync(
    server, origin, monkeypatch, until
):
    url = f"file://{origin.path}"
    await server.create(repository(url, sync=SYNC, **WRITES))
    await server.settled()
    tree, calls, goes_on = places.tree, [], asyncio.Event()

    async def held(*args):
        calls.append(args)
        number, found = len(calls), await tree(*args)
        if number == 2:  # of the sync, after that of the first write
            await goes_on.wait()
        return found

    monkeypatch.setattr(places, "tree", held)
    for method, data in (("POST", DASHBOARD), ("PUT", DASHBOARD + b"\n")):
        code, _, answer = await server.request(method, f"{ALL}/files/a.yaml", data=data)
        assert code == 200, answer
        await until(lambda: len(calls) >= 2)
    goes_on.set()
    await server.settled()
    stored = await server.get("repositories")
    assert stored["status"]["sync"]["lastRef"] == origin.refs[b"refs/heads/main"].decode()


async def test_a_branch_that_moves_meanwhile_is_committed_upon_anew(server, git, origin):
    await server.create(repository(f"{git.url}/team/dashboards", **WRITES))
    await server.settled()
    git.before_push = lambda: _add(origin, b"theirs.yaml", DASHBOARD)
    code, _, answer = await server.request("POST", f"{ALL}/files/ours.yaml", data=DASHBOARD)
    assert code == 200, answer
    assert names(origin, "main") == ["ours.yaml", "theirs.yaml"]


async def test_a_refused_push_is_reported(server, git, origin):
    git.readers, git.writers = {"reader"}, {"good"}
    _add(origin, b"a.yaml", DASHBOARD)
    await server.create(repository(f"{git.url}/team/dashboards", **WRITES))
    await server.settled()
    git.readers, git.writers = {"good"}, set()
    code, _, answer = await server.request("POST", f"{ALL}/files/b.yaml", data=DASHBOARD)
    assert (code, answer["message"].rpartition(": ")[2]) == (500, "not authorized")
    assert names(origin, "main") == ["a.yaml"]


REFS = b"001e# service=git-upload-pack\n0000"
HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        HEAD % b"200 OK" + b"Content-Length: 2000000\r\n\r\n" + b"no git" * 300,
        HEAD % b"200 OK" + b"Content-Length: 2000000\r\n\r\n" + REFS,
        HEAD % b"200 OK" + b"Transfer-Encoding: chunked\r\n\r\n5\r\nno",
        HEAD % b"200 OK" + b"Content-Length: 34\r\n\r\n" + REFS,
        HEAD % b"404 Not Found" + b"Content-Length: 5000\r\n\r\n",
        HEAD % b"401 Unauthorized" + b"Content-Length: 0\r\n\r\n",
        HEAD % b"503 Unavailable" + b"Content-Length: 5000\r\n\r\nlater",
        HEAD % b"302 Found" + b"Location: /other\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 nothing of the kind\r\n\r\n",
    ],
)
async def test_a_request_to_a_git_host_leaves_no_connection_open(answer):
    connections = []

    async def serve(reader, writer):
        connections.append(ended := asyncio.Event())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(answer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    asked = Git(Guard(allow_private=True), timeout=1.0)
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        session = asked.open(Target("git", f"http://127.0.0.1:{port}/team/dashboards"))
        gc.disable()
        try:
            for question in (session.branches, session.may_write):
                with contextlib.suppress(OutsideError, NotAuthorized, RepositoryNotFound):
                    await question()
            assert connections
            async with within():
                await asyncio.gather(*(ended.wait() for ended in connections))
        finally:
            gc.enable()
            asked.close()
