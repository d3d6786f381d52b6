"""Live checks with GitHub's REST API, emulated on loopback."""

import base64
import json

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from patience import SECONDS
from worlds import PROVISIONING

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
GRANTED = {
    "contents": "write",
    "metadata": "read",
    "pull_requests": "write",
    "repository_hooks": "write",
}


class GitHubEmulator:
    """Apps, installations, tokens, repositories and branches, as in the REST API."""

    def __init__(self, clock):
        self.clock = clock
        self.url = ""
        self.apps = {"123456": KEY.public_key()}
        self.permissions = dict(GRANTED)
        self.installations = {"42": dict(GRANTED)}
        self.tokens = {"good": True, "reader": False}
        self.branches = {"main": "a" * 40, "dev": "b" * 40}
        self.trouble = None
        self.requests = []

    async def __call__(self, request):
        self.requests.append((request.method, request.path))
        if self.trouble:
            code, headers = self.trouble
            return web.json_response({"message": "trouble"}, status=code, headers=headers)
        method, parts = request.method, request.path.strip("/").split("/")
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if parts[0] == "app":
            return self._app(method, parts[1:], bearer)
        if parts[:3] == ["repos", "grafana", "renamed"]:
            raise web.HTTPMovedPermanently("/repos/grafana/grafana")
        return self._repository(parts[1:], bearer)

    def _app(self, method, parts, bearer):
        app, error = self._signed(bearer)
        if error:
            return _message(*error)
        if not parts:
            return web.json_response({"id": int(app), "permissions": self.permissions})
        permissions = self.installations.get(parts[1])
        if permissions is None:
            return _message(404, "Not Found")
        if method == "POST":
            self.tokens["installation"] = True
            body = {"token": "installation", "expires_at": "2099-01-01T00:00:00Z"}
            return web.json_response({**body, "permissions": permissions}, status=201)
        return web.json_response({"id": int(parts[1]), "permissions": permissions})

    def _signed(self, bearer):
        signed, _, signature = bearer.rpartition(".")
        claims = json.loads(_decode(signed.partition(".")[2]))
        now = self.clock.now().timestamp()
        if not now - 120 < claims["iat"] <= now < claims["exp"] <= claims["iat"] + 600:
            return "", (401, "'Expiration time' claim ('exp') is too far in the future")
        key = self.apps.get(claims["iss"])
        if key is None:
            return "", (404, "Integration not found")
        try:
            key.verify(_decode(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        except Exception:
            return "", (401, "A JSON web token could not be decoded")
        return claims["iss"], None

    def _repository(self, parts, bearer):
        if bearer not in self.tokens:
            return _message(401, "Bad credentials")
        if parts[:2] != ["grafana", "grafana"]:
            return _message(404, "Not Found")
        if len(parts) > 2:
            sha = self.branches.get("/".join(parts[3:]))
            if sha is None:
                return _message(404, "Branch not found")
            return web.json_response({"name": parts[3], "commit": {"sha": sha}})
        push = self.tokens[bearer]
        body = {"default_branch": "main", "permissions": {"pull": True, "push": push}}
        return web.json_response(body)


def _message(code, text):
    return web.json_response({"message": text}, status=code)


def _decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.fixture
async def hub():
    """The emulator and its URL."""
    emulator = GitHubEmulator(None)

    async def handle(request):
        return await emulator(request)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    emulator.url = f"http://{host}:{port}"
    yield emulator
    await runner.cleanup()


@pytest.fixture
async def server(provisioned, hub):
    async with provisioned(offline=False, github_api_url=hub.url, outside_timeout=SECONDS) as made:
        hub.clock = made.clock
        yield made


def repository(path="grafana/grafana", *, branch="main", secure=None, **spec):
    block = {"url": f"https://github.com/{path}", "branch": branch}
    obj = {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"title": "Title", "type": "github", "github": block, **spec},
    }
    if secure:
        obj["secure"] = {"token": {"create": secure}}
    return obj


def connection(key=KEY, app_id="123456", installation="42"):
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return {
        "apiVersion": PROVISIONING,
        "kind": "Connection",
        "metadata": {"name": "conn", "namespace": "ns"},
        "spec": {
            "title": "Title",
            "type": "github",
            "github": {"appID": app_id, "installationID": installation},
        },
        "secure": {"privateKey": {"create": base64.b64encode(pem).decode()}},
    }


async def both_phases(server, obj):
    """Type and field of the controller's errors, after a check that the dry run has the same."""
    causes = await server.dry_run(obj)
    await server.create(obj)
    kind, name = obj["kind"].lower(), obj["metadata"]["name"]
    plural = {"repository": "repositories"}.get(kind, f"{kind}s")
    found = [(error["type"], error["field"]) for error in await server.errors(plural, name)]
    assert [(cause["reason"], cause["field"]) for cause in causes] == found
    return found


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (repository(secure="good", workflows=["write", "branch"]), []),
        (repository("grafana/renamed", secure="good"), []),
        (repository(secure="wrong"), [("FieldValueInvalid", "secure.token")]),
        (repository(), [("FieldValueInvalid", "secure.token")]),
        (repository("grafana/none", secure="good"), [("FieldValueInvalid", "spec.github.url")]),
        (repository(branch="gone", secure="good"), [("FieldValueInvalid", "spec.github.branch")]),
        (
            repository(secure="reader", workflows=["write"]),
            [("FieldValueForbidden", "secure.token")],
        ),
        (connection(), []),
        (connection(app_id="999"), [("FieldValueNotFound", "spec.github.appID")]),
        (
            connection(OTHER_KEY),
            [
                ("FieldValueInvalid", "spec.github.appID"),
                ("FieldValueInvalid", "secure.privateKey"),
            ],
        ),
        (
            connection(installation="999999999"),
            [("FieldValueInvalid", "spec.installationID")],
        ),
    ],
    ids=[
        "healthy", "renamed", "wrong token", "no token", "repository", "branch", "write",
        "healthy connection", "app", "key", "installation",
    ],
)  # fmt: skip
async def test_both_phases_report_errors_of_github(server, obj, errors):
    assert await both_phases(server, obj) == errors


async def test_the_next_recheck_reports_a_deleted_branch_until_it_exists_again(server, hub):
    await server.create(repository(branch="dev", secure="good"))
    assert await server.errors("repositories") == []
    dev = hub.branches.pop("dev")
    await server.recheck(300)
    assert [error["field"] for error in await server.errors("repositories")] == [
        "spec.github.branch"
    ]
    hub.branches["dev"] = dev
    await server.recheck(60)
    assert await server.errors("repositories") == []


async def test_each_missing_permission_is_reported(server, hub):
    hub.permissions = {**GRANTED, "contents": "read"}
    hub.installations["42"] = {"contents": "read", "metadata": "read", "pull_requests": "write"}
    assert await both_phases(server, connection()) == [
        ("FieldValueForbidden", "spec.github.appID"),
        ("FieldValueForbidden", "spec.github.installationID"),
    ]
    hub.permissions = dict(GRANTED)
    hub.installations["42"] = dict(GRANTED)
    await server.recheck(60)
    assert await server.errors("connections", "conn") == []


async def test_a_repository_logs_in_with_its_connection(server, hub):
    await server.create(connection())
    await server.settled()
    obj = repository(connection={"name": "conn"}, workflows=["write"])
    assert await both_phases(server, obj) == []
    tokens = [path for method, path in hub.requests if method == "POST"]
    assert tokens == ["/app/installations/42/access_tokens"] * 2  # one for the check, one to keep
    hub.installations.clear()
    await server.recheck(300)
    await server.recheck(300)
    assert [error["detail"] for error in await server.errors("repositories")] == [
        "connection is not healthy"
    ]


@pytest.mark.parametrize("obj", [repository(secure="good"), connection()], ids=["repo", "conn"])
@pytest.mark.parametrize("code", [500, 502])
async def test_an_outage_is_reported_in_both_phases(server, hub, obj, code):
    hub.trouble = (code, {})
    told = {
        "Repository": ("FieldValueInvalid", "spec.github.url"),
        "Connection": ("InternalError", "spec.github.appID"),
    }
    assert await both_phases(server, obj) == [told[obj["kind"]]]


async def test_a_rate_limit_is_reported_with_its_end_and_stops_requests_until_then(server, hub):
    until = int(server.clock.now().timestamp()) + 1000
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(until)}
    hub.trouble = (403, headers)
    await server.create(repository(secure="good"))
    [error] = await server.errors("repositories")
    assert error["type"] == "FieldValueInvalid"
    assert "rate limit" in error["detail"]
    assert "tried again after" in error["detail"]
    status = (await server.get("repositories"))["status"]
    assert status["conditions"][0]["reason"] == "RateLimited"
    asked = len(hub.requests)
    await server.recheck(60)
    assert len(hub.requests) == asked
    hub.trouble = None
    await server.recheck(1000)
    assert await server.errors("repositories") == []


async def test_a_refused_connection_is_unreachable(provisioned):
    url = "http://127.0.0.1:1"
    async with provisioned(offline=False, github_api_url=url) as server:
        [cause] = await server.dry_run(repository(secure="good"))
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "spec.github.url")
    assert "unreachable: host 127.0.0.1 refused the connection" in cause["message"]


async def test_an_enterprise_host_on_a_private_address_passes_the_guard_first(provisioned):
    obj = repository(secure="good")
    block = {"url": "https://127.0.0.1/grafana/grafana", "branch": "main"}
    obj["spec"] = {"title": "T", "type": "githubEnterprise", "githubEnterprise": block}
    async with provisioned(offline=False) as server:
        [cause] = await server.dry_run(obj)
        assert "not allowed to ask" in cause["message"]
        block["url"] = "https://localhost/grafana/grafana"
        [cause] = await server.dry_run(obj)
        assert "not allowed to ask" in cause["message"]
