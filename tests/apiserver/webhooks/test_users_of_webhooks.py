"""Who the server is for webhooks: the kubeconfig in the configuration of the plugins.

Follows TestWebhookClientAuth of Kubernetes.
"""

import base64
import json

import pytest
from aiohttp import web
from endpoints import BUNDLE, configuration, serving

from inkube import APIServer
from inkube.apiserver.auth import webhookusers

FILE = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: %sAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: "%s"
"""


def configured(tmp_path, users, *, kind="Validating", **more):
    kubeconfig, path = tmp_path / "users.conf", tmp_path / "admission.yaml"
    kubeconfig.write_text(json.dumps({"users": users, **more}))
    path.write_text(FILE % (kind, kubeconfig))
    return path


def user(name, **credentials):
    return {"name": name, "user": credentials or {"token": name}}


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("a.example.com", 8443, "a.example.com:8443"),
        ("b.example.com", 8443, "*.com:8443"),
        ("a.example.com", 443, "a.example.com"),
        ("b.example.com", 443, "*.example.com"),
        ("b.example.com", 80, "*"),
        ("::1", 8443, "[::1]:8443"),
    ],
)
def test_the_most_specific_user_of_an_address_is_found(tmp_path, host, port, expected):
    names = "a.example.com:8443", "a.example.com", "*.com:8443", "*.example.com", "[::1]:8443", "*"
    path = tmp_path / "users.conf"
    path.write_text(json.dumps({"users": [user(name) for name in names]}))
    found = webhookusers.Users.read(path).find(host, port)
    assert found.headers == {"Authorization": f"Bearer {expected}"}


def test_the_current_context_names_the_user_of_other_addresses(tmp_path):
    path = tmp_path / "users.conf"
    config = {
        "users": [user("me")],
        "contexts": [{"name": "here", "context": {"user": "me"}}],
        "current-context": "here",
    }
    path.write_text(json.dumps(config))
    found = webhookusers.Users.read(path).find("a.example.com", 443)
    assert found.headers == {"Authorization": "Bearer me"}


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_a_webhook_receives_the_credentials_of_its_user(tmp_path, kind):
    seen = []

    async def hook(request):
        seen.append(request.headers.get("Authorization"))
        review = await request.json()
        told = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({**review, "response": told})

    async with serving(hook) as url:
        place = url.rpartition("/")[2]
        path = configured(tmp_path, [user(place, username="u", password="p")], kind=kind)
        async with APIServer(admission_control_config_file=path) as server:
            config = {"url": url, "caBundle": BUNDLE}
            for each in ("Mutating", "Validating"):
                await server.client.create(configuration(config, each, ["CREATE"]))
            meta = {"name": "c", "namespace": "default"}
            await server.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    basic = "Basic " + base64.b64encode(b"u:p").decode()
    assert seen == ([basic, None] if kind == "Mutating" else [None, basic])


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        ({"exec": {"command": "x"}}, "exec is not supported"),
        ({"tokenFile": "missing"}, "No such file"),
    ],
)
async def test_credentials_that_cannot_be_used_end_the_start(tmp_path, credentials, message):
    path = configured(tmp_path, [user("*", **credentials)])
    with pytest.raises(ValueError, match=message):
        async with APIServer(admission_control_config_file=path):
            pass


async def test_the_path_of_the_kubeconfig_is_absolute(tmp_path):
    path = tmp_path / "admission.yaml"
    path.write_text(FILE % ("Validating", "users.conf"))
    expected = 'kubeConfigFile: Invalid value: "users.conf": must be an absolute file path'
    with pytest.raises(ValueError, match=expected):
        async with APIServer(admission_control_config_file=path):
            pass
