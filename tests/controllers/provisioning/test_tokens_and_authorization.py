"""Tokens that the server creates and renews by itself, and those that users grant by OAuth."""

import base64
import json
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from worlds import PROVISIONING, host, repository, told

from inkube.controllers.informer import Key

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)
HOST_TOKENS = [{"value": "good", "write": True}]


def app(host_name="", **spec):
    spec = {"installations": [{"id": "42"}], **spec}
    metadata = {"name": "1"}
    return {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "GitHubApp",
        "metadata": metadata,
        "spec": spec,
    }


def connection(**spec):
    block = {"appID": "1", "installationID": "42"}
    spec = {"title": "T", "type": "github", "github": block, **spec}
    return {
        "apiVersion": PROVISIONING,
        "kind": "Connection",
        "metadata": {"name": "conn", "namespace": "ns"},
        "spec": spec,
        "secure": {"privateKey": {"create": base64.b64encode(PEM).decode()}},
    }


def oauth(kind="gitlab", **spec):
    obj = connection()
    spec = {"title": "T", "type": kind, "oauth": {"clientID": "app"}, **spec}
    return {**obj, "spec": spec, "secure": {"clientSecret": {"create": "hush"}}}


async def value_of(server, kind, name):
    """Return the value of `secure.token`, which no response contains."""
    obj = await server.get(kind, name)
    vaults = server.api.parts.environment().services["vaults"]
    held = obj["secure"]["token"]
    assert sorted(held) == ["name"]
    vault = getattr(vaults, kind)
    return await vault.read(server.client, Key("ns", name), "token", held["name"])


async def at_rest(server, kind, name):
    """Wait until the status includes all writes of the server; return the object."""
    await server.settled()
    obj = await server.get(kind, name)
    assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
    return obj


async def test_a_connection_keeps_a_signed_token_and_renews_it(server):
    await server.create(host())
    await server.create(app())
    await server.create(connection())
    first = await at_rest(server, "connections", "conn")
    times = first["status"]["token"]
    assert times["expiration"] - times["lastUpdated"] == 540_000
    claims = (await value_of(server, "connections", "conn")).split(".")[1]
    issued = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert issued["iss"] == "1"
    assert times["expiration"] // 1000 == issued["exp"]

    await server.recheck(300)
    second = await at_rest(server, "connections", "conn")
    assert second["secure"]["token"] != first["secure"]["token"]
    assert second["status"]["token"]["lastUpdated"] > times["lastUpdated"]
    assert second["metadata"]["generation"] == first["metadata"]["generation"] + 1


async def test_a_repository_is_given_a_token_by_its_connection(server):
    await server.create(host(tokens=HOST_TOKENS))
    await server.create(app())
    await server.create(connection())
    await server.settled()
    await server.create(repository(connection={"name": "conn"}, workflows=["write"]))
    first = await at_rest(server, "repositories", "a")
    assert told(first["status"]["fieldErrors"]) == []
    times = first["status"]["token"]
    assert times["expiration"] - times["lastUpdated"] == pytest.approx(3_600_000, abs=5000)
    value = await value_of(server, "repositories", "a")

    await server.recheck(300)
    assert (await at_rest(server, "repositories", "a"))["secure"] == first["secure"]
    for _ in range(9):
        await server.recheck(300)
    second = await at_rest(server, "repositories", "a")
    assert second["secure"]["token"] != first["secure"]["token"]
    assert second["status"]["token"]["lastUpdated"] > times["lastUpdated"]

    # the scripted world accepts its own token for that repository
    direct = repository("b", secure={"token": {"create": value}}, block={"path": "elsewhere"})
    causes = await server.dry_run(direct)
    assert [each["field"] for each in causes] == ["spec.github.path"]
    other = repository("c", secure={"token": {"create": f"{value}x"}})
    assert (await server.dry_run(other))[0]["field"] == "secure.token"


async def test_a_token_that_is_young_is_not_made_again(server):
    await server.create(host())
    await server.create(app())
    await server.create(connection())
    first = await at_rest(server, "connections", "conn")
    await server.edit("connections", "conn", title="Another")
    second = await at_rest(server, "connections", "conn")
    assert second["secure"] == first["secure"]


@pytest.mark.parametrize(
    ("disabled", "fields"),
    [(False, ["spec.github.installationID"]), (True, [])],
    ids=["asked", "not asked"],
)
async def test_an_installation_lacks_a_permission(server, disabled, fields):
    granted = {"contents": "write", "metadata": "read", "pull_requests": "write"}
    installation = {"id": "42", "permissions": granted}
    await server.create(app(installations=[installation]))
    obj = connection(webhook={"disabled": disabled})
    await server.create(obj)
    errors = await server.errors("connections", "conn")
    assert [error["field"] for error in errors] == fields
    if fields:
        assert errors[0]["detail"] == (
            "GitHub App installation lacks required 'webhooks' permission: requires 'write', "
            "has ''. Accept the updated permissions at "
            "https://github.com/settings/installations/42"
        )
        assert errors[0]["badValue"] == "42"


async def test_an_outage_of_github_is_an_error_of_the_app(server):
    await server.create(host(outage={"code": 503}))
    await server.create(app())
    await server.create(connection())
    assert told(await server.errors("connections", "conn")) == [
        ("InternalError", "spec.github.appID", "github is unavailable")
    ]


async def test_a_secret_without_a_valid_key_is_reported(server):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}}
    await server.create({**secret, "stringData": {"privateKey": "nonsense"}})
    await server.create(app())
    await server.create({**connection(), "secure": {"privateKey": {"name": "s"}}})
    assert told(await server.errors("connections", "conn")) == [
        ("FieldValueInvalid", "secure.privateKey", "invalid private key")
    ]


async def test_an_enterprise_server_has_apps_of_its_own(server):
    block = {"appID": "1", "installationID": "42", "serverUrl": "https://hub.example/"}
    obj = connection(type="githubEnterprise", github=None, githubEnterprise=block)
    await server.create(host("hub.example"))
    await server.create(app())
    await server.create(obj)
    stored = await at_rest(server, "connections", "conn")
    assert stored["status"]["fieldErrors"] == []
    assert stored["spec"]["url"] == "https://hub.example/settings/installations/42"
    _, _, listed = await server.request("GET", f"{ALL}/connections/conn/repositories")
    assert [each["url"] for each in listed["items"]] == ["https://hub.example/grafana/grafana"]
    place = {"url": "https://hub.example/grafana/grafana", "branch": "main"}
    spec = {"title": "T", "type": "githubEnterprise", "githubEnterprise": place}
    await server.create({**repository(), "spec": {**spec, "connection": {"name": "conn"}}})
    assert told((await at_rest(server, "repositories", "a"))["status"]["fieldErrors"]) == []


CODE = {"spec": {"code": "good", "redirectURI": "https://grafana.example.com/back"}}


async def authorize(server, body=None, name="conn", **options):
    path = f"{ALL}/connections/{name}/authorize"
    options = options or {"json": CODE if body is None else body}
    code, _, answer = await server.request("POST", path, **options)
    return code, answer


async def test_a_code_becomes_the_token_of_a_connection_and_its_repositories(server):
    await server.create(host("gitlab.com", tokens=HOST_TOKENS))
    await server.create(oauth())
    waiting = await at_rest(server, "connections", "conn")
    assert waiting["status"]["health"]["healthy"] is True
    assert "token" not in waiting["secure"]
    place = {"url": "https://gitlab.com/grafana/grafana", "branch": "main"}
    spec = {"title": "T", "type": "gitlab", "gitlab": place, "connection": {"name": "conn"}}
    await server.create({**repository(), "spec": spec})
    assert told(await server.errors("repositories")) == [
        ("FieldValueInvalid", "secure.token", "not authorized")
    ]
    code, answer = await authorize(server)
    assert (code, answer["spec"], answer["status"]) == (200, {"code": ""}, {"authorized": True})
    stored = await at_rest(server, "connections", "conn")
    assert stored["status"]["token"]["lastUpdated"] > 0
    assert await value_of(server, "connections", "conn") == "good"
    assert await server.errors("repositories") == []

    await server.edit("connections", "conn", oauth={"clientID": "another"})
    assert "token" not in (await at_rest(server, "connections", "conn"))["secure"]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"spec": {}}, 400, "spec.code is required"),
        ({"spec": {"code": ""}}, 400, "spec.code is required"),
        ({"spec": {"code": "bad"}}, 400, "failed to exchange authorization code"),
        ([], 400, "error decoding ConnectionAuthorizeRequest from request"),
        ({"spec": []}, 400, "error decoding ConnectionAuthorizeRequest from request"),
    ],
    ids=["missing", "empty", "bad", "list", "spec"],
)
async def test_invalid_codes_of_oauth_are_refused(server, body, code, message):
    await server.create(host("gitlab.com", tokens=HOST_TOKENS))
    await server.create(oauth())
    found, answer = await authorize(server, body)
    assert (found, answer["message"]) == (code, message)


async def test_connections_that_cannot_be_authorized_are_refused(server):
    assert (await authorize(server, name="nobody"))[0] == 404
    await server.create(oauth())  # of an unknown host
    assert (await authorize(server))[1]["message"] == "failed to exchange authorization code"
    code, answer = await authorize(server, data=b"{")
    assert (code, answer["message"]) == (
        400, "error decoding ConnectionAuthorizeRequest from request",
    )  # fmt: skip
    await server.delete("connections", "conn")
    await server.create(connection())
    code, answer = await authorize(server)
    assert (code, answer["message"]) == (
        501, "authorization code exchange not implemented for given connection type",
    )  # fmt: skip


@asynccontextmanager
async def provider():
    """An OAuth endpoint with one application and one code (RFC 6749)."""
    asked = []

    async def handle(request):
        form = {name: value[0] for name, value in parse_qs(await request.text()).items()}
        asked.append((request.path, form, request.headers.get("Authorization", "")))
        if form.get("code") != "good":
            return web.json_response({"error": "bad_verification_code"})
        return web.json_response({"access_token": "made", "expires_in": 7200})

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address, port = runner.addresses[0]
    yield f"http://{address}:{port}", asked
    await runner.cleanup()


async def test_a_real_provider_receives_the_code(provisioned):
    async with (
        provider() as (url, asked),
        provisioned(offline=False, allow_private_hosts=True) as server,
    ):
        kind = "githubEnterpriseOAuth"
        await server.create(oauth(kind, githubEnterprise={"serverUrl": url}))
        await server.settled()
        assert (await authorize(server))[0] == 200
        [(path, form, _)] = asked
        assert path == "/login/oauth/access_token"
        assert form == {
            "grant_type": "authorization_code",
            "code": "good",
            "client_id": "app",
            "client_secret": "hush",
            "redirect_uri": "https://grafana.example.com/back",
        }
        stored = await at_rest(server, "connections", "conn")
        times = stored["status"]["token"]
        assert times["expiration"] - times["lastUpdated"] == 7_200_000
        code, answer = await authorize(server, {"spec": {"code": "bad"}})
        assert (code, answer["message"]) == (400, "failed to exchange authorization code")
