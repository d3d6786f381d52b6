"""Files of authentication and authorization that change while the server runs."""

import hashlib
import json
import re
import time

import aiohttp
import pytest
import yaml
from openid import BY_CLAIM, configuration
from patience import until

from inkube import APIServer
from inkube.apiserver.access.configs import authorization, reloading

USERS = 'admin,admin,1,"system:masters"\nada,ada,2\n'
RELOADS = "apiserver_{0}_config_controller_automatic_reloads_total"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def authorizers(*kinds, kubeconfig=""):
    """Return a configuration with authorizers; the webhook does not respond, and denies."""
    settings = {
        "authorizedTTL": "5m",
        "unauthorizedTTL": "30s",
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(kubeconfig)},
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": [
            {"type": kind, "name": kind.lower()}
            | ({"webhook": settings} if kind == "Webhook" else {})
            for kind in kinds
        ],
    }


class Client:
    """Sends requests with a token."""

    def __init__(self, server, session) -> None:
        self._server = server
        self._session = session

    async def code(self, token, path="/api/v1/pods"):
        head = {"Authorization": f"Bearer {token}"}
        async with self._session.get(self._server.url + path, headers=head) as answer:
            return answer.status

    async def user(self, token):
        head = {"Authorization": f"Bearer {token}"}
        async with self._session.post(self._server.url + WHO, json=REVIEW, headers=head) as answer:
            body = await answer.json()
        return body["status"]["userInfo"]["username"] if answer.ok else answer.status

    async def reloads(self, component):
        """Return the numbers of successful and failed reloads."""
        head = {"Authorization": "Bearer admin"}
        async with self._session.get(self._server.url + "/metrics", headers=head) as answer:
            lines = (await answer.text()).splitlines()
        name = RELOADS.format(component)
        found = {"success": 0, "failure": 0}
        for line in lines:
            if line.startswith(name + "{"):
                result = "success" if 'status="success"' in line else "failure"
                found[result] = int(float(line.split()[-1]))
        return tuple(found.values())

    async def content(self, component):
        """Return the hash of the settings in force, and when they were read."""
        head = {"Authorization": "Bearer admin"}
        async with self._session.get(self._server.url + "/metrics", headers=head) as answer:
            text = await answer.text()
        name = f"apiserver_{component}_config_controller_"
        [hashed] = re.findall(rf'^{name}last_config_info{{.*,hash="(\S+)"}} 1$', text, re.MULTILINE)
        successes = rf'^{name}automatic_reload_last_timestamp_seconds{{.*"success"}} (\S+)$'
        return hashed, [float(each) for each in re.findall(successes, text, re.MULTILINE)]


@pytest.fixture
def reloaded(caplog):
    """A function that waits until a file was read again successfully, or else in vain, so many
    times."""
    caplog.set_level("INFO", reloading.logger.name)

    async def wait(successes, failures):
        def has_happened():
            told = [record.getMessage().startswith("reloaded ") for record in caplog.records
                    if record.name == reloading.logger.name]  # fmt: skip
            return (told.count(True), told.count(False)) == (successes, failures)

        await until(has_happened)

    return wait


@pytest.fixture
def files(tmp_path):
    (tmp_path / "tokens.csv").write_text(USERS)
    return tmp_path


async def test_other_authorizers_decide_after_a_change(files, reloaded) -> None:
    path, kubeconfig = files / "authorization.yaml", files / "webhook.yaml"
    context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
    cluster = {"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}
    named = {"contexts": [context], "clusters": [cluster], "users": [{"name": "a", "user": {}}]}
    kubeconfig.write_text(json.dumps({"current-context": "a", **named}))

    def write(*kinds):
        path.write_text(json.dumps(authorizers(*kinds, kubeconfig=kubeconfig)))

    write("AlwaysAllow")
    options = {"token_auth_file": files / "tokens.csv", "modules": "none"}
    async with (
        APIServer(**options, authorization_config=path) as server,
        aiohttp.ClientSession() as session,
    ):
        client = Client(server, session)
        assert await client.code("ada") == 200
        write("Webhook", "AlwaysAllow")
        await reloaded(1, 0)
        assert [await client.code(token) for token in ("ada", "admin")] == [500, 200]
        write("Webhook", "RBAC")
        await reloaded(1, 1)
        assert await client.code("ada") == 500, "the last valid configuration stays"
        write("AlwaysAllow", "Webhook")
        await reloaded(2, 1)
        assert await client.code("ada") == 200
        assert await client.reloads("authorization") == (2, 1)
        hashed, [read_at] = await client.content("authorization")
        assert hashed == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        assert 0 <= time.time() - read_at < 600


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        (("RBAC",), "missing required types: [AlwaysDeny]"),
        (
            ("RBAC", "AlwaysDeny", "Node"),
            "authorizer type Node is not allowed if it was not enabled at initial server startup",
        ),
    ],
)
def test_a_reload_needs_the_same_authorizers(kinds, why) -> None:
    with pytest.raises(ValueError) as caught:
        authorization.read(authorizers(*kinds), required={"RBAC", "AlwaysDeny"})
    assert str(caught.value) == why


async def test_issuers_are_added_changed_and_removed_by_reloading(files, issuer, reloaded) -> None:
    path = files / "authentication.yaml"
    config = configuration(issuer)
    path.write_text(yaml.safe_dump({**config, "jwt": []}))
    options = {"token_auth_file": files / "tokens.csv", "authorization_mode": "RBAC"}
    async with (
        APIServer(**options, authentication_config=path, modules="none") as server,
        aiohttp.ClientSession() as session,
    ):
        client, token = Client(server, session), issuer.token(exp=time.time() + 600)
        assert await client.user(token) == 401
        path.write_text(yaml.safe_dump(config))
        await reloaded(1, 0)
        assert issuer.fetched == 1, "an issuer is ready before its tokens are accepted"
        assert await client.user(token) == "corp:7"
        path.write_text(yaml.safe_dump({**config, "anonymous": {"enabled": False}}))
        await reloaded(1, 1)
        assert await client.user(token) == "corp:7"
        other = {"username": {**BY_CLAIM["username"], "prefix": "new:"}}
        path.write_text(yaml.safe_dump(configuration(issuer, claimMappings=other)))
        await reloaded(2, 1)
        assert await client.user(token) == "new:7"
        assert [series for series in server.parts.core.samples.numbers if "_jwks_" in series[0]]
        path.write_text(yaml.safe_dump({**config, "jwt": []}))
        await reloaded(3, 1)
        assert await client.user(token) == 401
        assert await client.reloads("authentication") == (3, 1)
        assert not [series for series in server.parts.core.samples.numbers if "_jwks_" in series[0]]
