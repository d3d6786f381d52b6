"""Live checks and history of GitLab, Bitbucket and GitHub Enterprise, with small emulators.

Each emulator follows the provider's public REST documentation, for one repository.
"""

import base64
import hashlib
import hmac
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from patience import SECONDS
from worlds import PROVISIONING, told

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
HEAD = "a" * 40
WHEN = "2026-01-02T03:04:05Z"
MILLISECONDS = 1767323045000


class Emulator:
    """The common part of all three: tokens, branches, and a fault to simulate."""

    def __init__(self):
        self.url = ""
        self.tokens = {"good": True, "reader": False}
        self.branches = {"main": HEAD, "dev": "b" * 40}
        self.default = "main"
        self.protected = set()
        self.trouble = None
        self.asked = []
        self.hooks = {}

    async def __call__(self, request):
        self.asked.append((request.method, request.raw_path.partition("?")[0]))
        if self.trouble:
            return web.json_response({"message": "trouble"}, status=self.trouble)
        body = await request.json() if request.can_read_body else None
        return self.answer(request, request.raw_path.partition("?")[0], body)

    def answer(self, request, path, body):
        """The response of the provider; `body` is the decoded body of the request."""
        raise NotImplementedError


class GitLab(Emulator):
    """docs.gitlab.com/api: projects, branches, commits."""

    def answer(self, request, path, body):
        token = request.headers.get("PRIVATE-TOKEN", "")
        if token not in self.tokens:
            return say({"message": "401 Unauthorized"}, 401)
        place = "/api/v4/projects/team%2Fsub%2Fdash"
        if path == place:
            level = 30 if self.tokens[token] else 20
            access = {"project_access": {"access_level": level}, "group_access": None}
            return say({"default_branch": self.default, "permissions": access})
        if path == f"{place}/repository/branches":
            return say([{"name": name} for name in self.branches])
        if path.startswith(f"{place}/repository/branches/"):
            name = path.rpartition("/")[2].replace("%2F", "/")
            if name not in self.branches:
                return say({"message": "404 Branch Not Found"}, 404)
            is_protected = name in self.protected
            flags = {"protected": is_protected, "can_push": not is_protected}
            return say({"name": name, "commit": {"id": self.branches[name]}, **flags})
        if path == f"{place}/repository/commits" and request.query["ref_name"] in self.branches:
            return say(
                [
                    {
                        "id": HEAD,
                        "title": "Add",
                        "message": "Add\n",
                        "author_name": "Ada",
                        "authored_date": WHEN,
                    }
                ]
            )
        return say({"message": "404 Project Not Found"}, 404)


class Bitbucket(Emulator):
    """developer.atlassian.com/cloud/bitbucket/rest: repositories, refs, commits, permissions."""

    email = "ada@example.com"

    def answer(self, request, path, body):
        kind, _, value = request.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            email, _, value = base64.b64decode(value).decode().partition(":")
            if email != self.email:
                value = ""
        if value not in self.tokens:
            return say({"type": "error", "error": {"message": "Unauthorized"}}, 401)
        place = "/2.0/repositories/team/dash"
        if path == place:
            return say({"full_name": "team/dash", "mainbranch": {"name": self.default}})
        if path == "/2.0/user/permissions/repositories":
            assert request.query["q"] == 'repository.full_name="team/dash"'
            permission = "write" if self.tokens[value] else "read"
            return say({"values": [{"permission": permission}]})
        if path == f"{place}/refs/branches":
            return say({"values": [{"name": name} for name in self.branches]})
        if path.startswith(f"{place}/refs/branches/"):
            head = self.branches.get(path.rpartition("/")[2])
            if head is not None:
                return say({"target": {"hash": head}})
        if path == f"{place}/commits/main":
            author = {"raw": "Ada <a@example.com>", "user": {"nickname": "ada"}}
            author["user"]["display_name"] = "Ada"
            commit = {"hash": HEAD, "message": "Add", "date": WHEN, "author": author}
            return say({"values": [commit]})
        return say({"type": "error", "error": {"message": "not found"}}, 404)


class Enterprise(Emulator):
    """docs.github.com/enterprise-server/rest, below `/api/v3`."""

    def answer(self, request, path, body):
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            return say({"message": "Bad credentials"}, 401)
        place = "/api/v3/repos/team/dash"
        if path == place:
            push = self.tokens[token]
            return say({"default_branch": self.default, "permissions": {"push": push}})
        if path == f"{place}/branches":
            return say([{"name": name} for name in self.branches])
        if path.startswith(f"{place}/branches/"):
            name = path.rpartition("/")[2]
            if name not in self.branches:
                return say({"message": "Branch not found"}, 404)
            commit = {"sha": self.branches[name]}
            return say({"name": name, "commit": commit, "protected": name in self.protected})
        if path == f"{place}/commits" and request.query["sha"] in self.branches:
            author = {"name": "Ada", "date": WHEN}
            account = {"login": "ada", "avatar_url": "https://example.com/ada.png"}
            commit = {"message": "Add", "author": author}
            return say([{"sha": HEAD, "commit": commit, "author": account}])
        if path.startswith(f"{place}/hooks"):
            return self.hook(request.method, path.removeprefix(f"{place}/hooks"), body)
        return say({"message": "Not Found"}, 404)

    def hook(self, method, path, body):
        number = int(path[1:]) if path else len(self.hooks) + 1
        if path and number not in self.hooks:
            return say({"message": "Not Found"}, 404)
        if method == "DELETE":
            del self.hooks[number]
            return web.Response(status=204)
        self.hooks[number] = body
        return say({"id": number, **body}, 201 if method == "POST" else 200)


def say(body, code=200):
    return web.json_response(body, status=code)


@asynccontextmanager
async def running(emulator):
    async def handle(request):
        return await emulator(request)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    emulator.url = f"http://{host}:{port}"
    yield emulator
    await runner.cleanup()


EMULATORS = {"gitlab": GitLab, "bitbucket": Bitbucket, "githubEnterprise": Enterprise}


@pytest.fixture(params=sorted(EMULATORS))
async def hub(request):
    """Each of the three; `kind` tells which."""
    async with running(EMULATORS[request.param]()) as emulator:
        emulator.kind = request.param
        yield emulator


@pytest.fixture
async def enterprise():
    async with running(Enterprise()) as emulator:
        emulator.kind = "githubEnterprise"
        yield emulator


@pytest.fixture
async def server(provisioned, hub):
    async with serving(provisioned, hub) as made:
        yield made


def serving(provisioned, hub):
    return provisioned(
        offline=False,
        allow_private_hosts=True,
        outside_timeout=SECONDS,
        bitbucket_api_url=f"{hub.url}/2.0",
    )


def repository(hub, *, token="good", path="", branch="main", **spec):
    places = {"gitlab": "team/sub/dash", "bitbucket": "team/dash", "githubEnterprise": "team/dash"}
    base = "https://bitbucket.org" if hub.kind == "bitbucket" else hub.url
    block = {"url": f"{base}/{path or places[hub.kind]}", "branch": branch}
    if hub.kind == "bitbucket":
        block["email"] = Bitbucket.email
    obj = {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"title": "Title", "type": hub.kind, hub.kind: block, **spec},
    }
    if token:
        obj["secure"] = {"token": {"create": token}}
    return obj


INVALID, FORBIDDEN = "FieldValueInvalid", "FieldValueForbidden"
ROWS = [
    ("healthy", {"workflows": ["write", "branch"]}, []),
    ("no token", {"token": ""}, [(INVALID, "secure.token", "not authorized")]),
    ("wrong token", {"token": "x"}, [(INVALID, "secure.token", "not authorized")]),
    ("repository", {"path": "team/none"}, [(INVALID, "spec.TYPE.url", "repository not found")]),
    ("branch", {"branch": "gone"}, [(INVALID, "spec.TYPE.branch", "branch not found")]),
    (
        "reader",
        {"token": "reader", "workflows": ["branch"]},
        [(FORBIDDEN, "secure.token", "write permission denied")],
    ),
]


@pytest.mark.parametrize(("given", "errors"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
async def test_every_provider_reports_the_same_errors_in_both_phases(server, hub, given, errors):
    obj = repository(hub, **given)
    wanted = [(kind, field.replace("TYPE", hub.kind), detail) for kind, field, detail in errors]
    causes = await server.dry_run(obj)
    assert [(each["type"], each["field"]) for each in causes] == [row[:2] for row in wanted]
    await server.create(obj)
    assert told(await server.errors("repositories")) == wanted


async def test_a_repository_without_any_branch_is_reported(server, hub):
    hub.branches.clear()
    await server.create(repository(hub))
    [error] = await server.errors("repositories")
    assert error["field"] == f"spec.{hub.kind}.branch"
    assert error["detail"] == (
        "repository has no branches; push at least one commit before configuring sync"
    )


@pytest.mark.parametrize(
    ("default", "names", "chosen"),
    [
        ("dev", ["main", "dev"], "dev"),
        ("gone", ["a", "master", "main"], "main"),
        ("gone", ["z", "master"], "master"),
        ("", ["z", "b"], "b"),
    ],
    ids=["default", "main", "master", "first"],
)
async def test_an_empty_branch_is_looked_up(server, hub, default, names, chosen):
    hub.default, hub.branches = default, dict.fromkeys(names, HEAD)
    await server.create(repository(hub, branch=""))
    assert await server.errors("repositories") == []
    stored = await server.get("repositories")
    assert stored["spec"][hub.kind]["branch"] == chosen
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]


async def test_a_protected_branch_is_not_written_to(server, hub):
    if hub.kind == "bitbucket":
        pytest.skip("Bitbucket tells its branch restrictions to administrators only")
    hub.protected = {"main"}
    [cause] = await server.dry_run(repository(hub, workflows=["write"]))
    assert (cause["type"], cause["field"]) == (INVALID, "spec.workflows")
    assert "main has protection rules that prevent direct pushes" in cause["message"]
    assert await server.dry_run(repository(hub, workflows=["branch"])) == []


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_an_outage_is_an_error_of_the_url(server, hub, code):
    hub.trouble = code
    [cause] = await server.dry_run(repository(hub))
    assert (cause["type"], cause["field"]) == ("FieldValueInvalid", f"spec.{hub.kind}.url")
    await server.create(repository(hub))
    await server.errors("repositories")
    hub.trouble = None
    await server.recheck(60)
    assert await server.errors("repositories") == []


async def test_history_is_that_of_the_provider(server, hub):
    await server.create(repository(hub))
    code, _, body = await server.request("GET", f"{ALL}/repositories/a/history")
    assert (code, body["kind"]) == (200, "HistoryList")
    [commit] = body["items"]
    assert (commit["ref"], commit["createdAt"]) == (HEAD, MILLISECONDS)
    assert commit["message"].strip() == "Add"
    assert commit["authors"][0]["name"] == "Ada"


SYNC = {"enabled": True, "target": "folder", "intervalSeconds": 60}
HOOK = {"webhook": {"baseUrl": "https://grafana.example.com/"}, "workflows": ["write"]}
URL = "https://grafana.example.com" + f"{ALL}/repositories/a/webhook"


async def test_a_webhook_is_registered_kept_current_and_removed(provisioned, enterprise):
    async with serving(provisioned, enterprise) as server:
        await server.create(repository(enterprise, **HOOK))
        assert await server.errors("repositories") == []
        stored = await server.get("repositories")
        assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
        webhook = stored["status"]["webhook"]
        assert webhook.pop("lastRotated") > 0
        assert webhook == {"id": 1, "url": URL, "subscribedEvents": ["pull_request", "push"]}
        config = enterprise.hooks[1]["config"]
        assert (config["url"], config["content_type"]) == (URL, "json")
        assert enterprise.hooks[1]["events"] == ["pull_request", "push"]
        secret = config["secret"]

        await server.recheck(300)
        writes = [method for method, path in enterprise.asked if "/hooks" in path]
        assert writes == ["POST"]

        spec = {"webhook": {"baseUrl": "https://other.example.com"}}
        await server.edit("repositories", "a", **spec)
        await server.settled()
        assert enterprise.hooks[1]["config"]["url"].startswith("https://other.example.com/apis/")
        assert enterprise.hooks[1]["config"]["secret"] == secret

        await server.edit("repositories", "a", webhook={"disabled": True})
        await server.settled()
        assert enterprise.hooks == {}
        assert "webhook" not in (await server.get("repositories"))["status"]

        await server.edit("repositories", "a", webhook={"disabled": False})
        await server.settled()
        assert len(enterprise.hooks) == 1
        await server.delete("repositories", "a")
        await server.settled()
        assert enterprise.hooks == {}
        assert (await server.client.list(f"{PROVISIONING}/repositories")).items == []


async def test_a_webhook_that_cannot_be_removed_holds_the_repository(provisioned, enterprise):
    async with serving(provisioned, enterprise) as server:
        await server.create(repository(enterprise, **HOOK))
        await server.settled()
        enterprise.trouble = 500
        start = (await server.client.list(f"{PROVISIONING}/repositories")).resource_version
        await server.delete("repositories", "a")
        watch = server.client.watch(f"{PROVISIONING}/repositories", resource_version=start)
        async for event in watch:
            told = event.object["status"].get("deleteError")
            if told:
                break
        assert told.startswith("remove finalizers: webhook: 127.0.0.1 answered 500")
        code, _, refused = await server.request(
            "POST", f"{ALL}/repositories/a/jobs", json={"pull": {}}
        )
        assert code == 409
        assert refused["message"] == "cannot create jobs for a repository marked for deletion"
        patch = {"metadata": {"annotations": {"provisioning.grafana.app/force-delete": "true"}}}
        await server.client.patch(f"{PROVISIONING}/repositories", "a", "ns", patch=patch)
        async for event in watch:
            if event.type == "DELETED":
                break
        await watch.aclose()
        assert enterprise.hooks


async def test_credentials_without_the_right_to_manage_webhooks_are_reported(
    provisioned, enterprise
):
    def refuse(method, path, body):
        return say({"message": "Resource not accessible by personal access token"}, 403)

    enterprise.hook = refuse
    async with serving(provisioned, enterprise) as server:
        obj = repository(enterprise, **HOOK)
        assert await server.dry_run(obj) == []  # a dry run registers nothing
        await server.create(obj)
        [error] = await server.errors("repositories")
        assert (error["type"], error["field"]) == (FORBIDDEN, "spec.webhook.baseUrl")
        status = (await server.get("repositories"))["status"]
        assert status["health"]["error"] == "hook"


class Sender:
    """Sends events as GitHub does, signed with the webhook's secret."""

    def __init__(self, server, secret):
        self.server = server
        self.secret = secret

    async def __call__(self, event, payload, *, secret=None):
        body = json.dumps(payload).encode()
        key = (secret or self.secret).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-Hub-Signature-256": f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}",
        }
        code, _, answer = await self.server.request(
            "POST", f"{ALL}/repositories/a/webhook", data=body, headers=headers
        )
        return code, answer


@pytest.fixture
async def send(provisioned, enterprise):
    async with serving(provisioned, enterprise) as server:
        await server.create(repository(enterprise, sync=SYNC, **HOOK))
        await server.settled()
        yield Sender(server, enterprise.hooks[1]["config"]["secret"])


HEADER = {"kind": "WebhookResponse", "apiVersion": PROVISIONING}
PUSH = {"ref": "refs/heads/main", "repository": {"full_name": "team/dash"}}
PROPOSED = {
    "action": "opened",
    "number": 7,
    "pull_request": {
        "number": 7,
        "html_url": "https://hub.example/team/dash/pull/7",
        "head": {"ref": "dev", "sha": "b" * 40},
        "base": {"ref": "main"},
    },
}


async def test_a_ping_is_answered(send):
    assert await send("ping", {"zen": "…"}) == (
        200, {**HEADER, "code": 200, "added": "ping received"},
    )  # fmt: skip


async def test_a_push_to_the_branch_is_pulled(send):
    code, answer = await send("push", PUSH)
    job = {"action": "pull", "repository": "a", "pull": {"incremental": True}}
    assert (code, answer) == (202, {**HEADER, "code": 202, "job": job})
    await send.server.settled()
    stored = await send.server.get("repositories")
    assert stored["status"]["webhook"]["lastEvent"] > 0
    _, _, jobs = await send.server.request("GET", f"{ALL}/repositories/a/jobs")
    assert jobs["items"][0]["spec"] == job


async def test_a_pull_request_is_looked_at(send):
    code, answer = await send("pull_request", PROPOSED)
    about = {
        "ref": "dev", "pr": 7, "hash": "b" * 40, "url": PROPOSED["pull_request"]["html_url"],
    }  # fmt: skip
    assert (code, answer["job"]) == (202, {"action": "pr", "repository": "a", "pr": about})
    await send.server.settled()
    _, _, jobs = await send.server.request("GET", f"{ALL}/repositories/a/jobs")
    assert jobs["items"][0]["metadata"]["generateName"] == "a-pr-7-"


@pytest.mark.parametrize(
    ("event", "payload", "code"),
    [
        ("push", {"ref": "refs/heads/dev"}, 200),
        ("push", {"ref": "refs/tags/main"}, 200),
        ("pull_request", {**PROPOSED, "action": "closed"}, 200),
        ("issues", {}, 501),
        ("push", {**PUSH, "repository": {"full_name": "team/other"}}, 400),
        ("pull_request", {"action": "opened"}, 400),
        ("push", [], 400),
    ],
    ids=["branch", "tag", "closed", "issues", "elsewhere", "no number", "list"],
)
async def test_other_events_of_a_provider_start_no_job(send, event, payload, code):
    found, answer = await send(event, payload)
    assert found == code
    assert "job" not in answer


async def test_a_webhook_call_without_the_secret_is_refused(send):
    code, answer = await send("push", PUSH, secret="another")
    assert (code, answer["message"]) == (401, "invalid signature")
    path = f"{ALL}/repositories/a/webhook"
    code, _, answer = await send.server.request("POST", path, data=b"{}")
    assert (code, answer["message"]) == (401, "invalid signature")
    assert (await send.server.request("GET", path))[0] == 405


async def test_without_a_webhook_nothing_is_received(provisioned, enterprise):
    async with serving(provisioned, enterprise) as server:
        await server.create(repository(enterprise))
        await server.settled()
        path = f"{ALL}/repositories/a/webhook"
        code, _, answer = await server.request("POST", path, data=b"{}")
        assert (code, answer["message"]) == (400, "webhooks are not enabled")
        assert (await server.request("POST", path.replace("/a/", "/b/"), data=b"{}"))[0] == 404


async def test_a_webhook_needs_no_login(provisioned, enterprise, tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('admin,root,1,"system:masters"\n')
    options = {"token_auth_file": tokens, "authorization_mode": "RBAC"}
    async with provisioned(
        offline=False, allow_private_hosts=True, outside_timeout=SECONDS, **options
    ) as server:
        await server.create(repository(enterprise, sync=SYNC, **HOOK))
        await server.settled()
        send = Sender(server, enterprise.hooks[1]["config"]["secret"])
        assert (await send("ping", {}))[0] == 200
        assert (await send("ping", {}, secret="another"))[0] == 401
        for path in ("repositories/a", "repositories/a/files/"):
            assert (await server.request("GET", f"{ALL}/{path}"))[0] in (401, 403)
