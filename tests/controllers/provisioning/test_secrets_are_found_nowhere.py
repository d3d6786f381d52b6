"""A secure value, sent in every possible way, appears in no response, watch, log, event or file."""

import base64
import json
import logging
from urllib.parse import quote

import aiohttp
import pytest

from inkube import APIServer

PROVISIONING = "/apis/provisioning.grafana.app/v0alpha1"
REPOSITORIES = f"{PROVISIONING}/namespaces/default/repositories"
CONNECTIONS = f"{PROVISIONING}/namespaces/default/connections"
SECRET = "hunter2-Swordfish"
JSON = "application/json"
MERGE, PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def repository(name="a", value=SECRET, **more):
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": name},
        "spec": {
            "title": "A",
            "type": "git",
            "git": {"url": "https://git.example/o/r", "branch": "main"},
        },
        "secure": {"token": {"create": value}},
        **more,
    }


def connection(key):
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Connection",
        "metadata": {"name": "c"},
        "spec": {"title": "C", "type": "github", "github": {"appID": "1", "installationID": "2"}},
        "secure": {"privateKey": {"create": key}},
    }


def annotated():
    body = repository("kubectl")
    body["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(repository("kubectl"))}
    return body


def replacing(value):
    return [{"op": "replace", "path": "/secure/token", "value": {"create": value}}]


def comparing(value):
    return [{"op": "test", "path": "/secure/token", "value": {"create": value}}]


A = f"{REPOSITORIES}/a"
WAYS = {
    "create": ("POST", REPOSITORIES, JSON, repository()),
    "create twice": ("POST", REPOSITORIES, JSON, repository()),
    "kubectl apply": ("POST", REPOSITORIES, JSON, annotated()),
    "dry run": ("POST", f"{REPOSITORIES}?dryRun=All", JSON, repository("b")),
    "refused by the schema": ("POST", REPOSITORIES, JSON, repository("b", spec={"type": 1})),
    "refused by a rule": ("POST", REPOSITORIES, JSON, repository("new")),
    "a value of another type": ("POST", REPOSITORIES, JSON, repository("b", [SECRET])),
    "a member nobody knows": (
        "POST",
        f"{REPOSITORIES}?fieldValidation=Strict",
        JSON,
        repository("b", secure={"token": {"create": SECRET, "value": SECRET}}),
    ),
    "a secret nobody knows": (
        "POST",
        REPOSITORIES,
        JSON,
        repository("other", secure={"password": {"create": SECRET}}),
    ),
    "secure is a list": ("POST", REPOSITORIES, JSON, repository("b", secure=[SECRET])),
    "secure is a text": ("POST", REPOSITORIES, JSON, repository("b", secure=SECRET)),
    "a token as text": ("POST", REPOSITORIES, JSON, repository("b", secure={"token": SECRET})),
    "create and remove": (
        "POST",
        REPOSITORIES,
        JSON,
        repository("both", secure={"token": {"create": SECRET, "remove": True}}),
    ),
    "broken JSON": ("POST", REPOSITORIES, JSON, json.dumps(repository())[:-2]),
    "broken YAML": ("POST", REPOSITORIES, "application/yaml", f"secure: {{token: {SECRET}"),
    "another kind": ("POST", REPOSITORIES, JSON, repository(kind="Connection")),
    "not acceptable": ("POST", REPOSITORIES, "text/plain", repository()),
    "update": ("PUT", A, JSON, repository(value=f"{SECRET}2")),
    "merge": ("PATCH", A, MERGE, {"secure": {"token": {"create": f"{SECRET}3"}}}),
    "merge of nonsense": ("PATCH", A, MERGE, {"secure": {"token": SECRET}}),
    "JSON patch": ("PATCH", A, PATCH, replacing(f"{SECRET}4")),
    "JSON patch that tests": ("PATCH", A, PATCH, comparing(SECRET)),
    "JSON patch that fails": ("PATCH", A, PATCH, [*replacing(SECRET), {"op": "remove"}]),
    "strategic": ("PATCH", A, "application/strategic-merge-patch+json", repository()),
    "apply": ("PATCH", f"{A}?fieldManager=me&force=true", APPLY, repository(value=f"{SECRET}5")),
    "apply in conflict": ("PATCH", f"{A}?fieldManager=you", APPLY, repository(value=f"{SECRET}6")),
    "status": ("PUT", f"{A}/status", JSON, repository()),
    "a key that is none": ("POST", CONNECTIONS, JSON, connection(SECRET)),
    "a key, dry run": ("POST", f"{CONNECTIONS}?dryRun=All", JSON, connection(SECRET)),
}
LOOKS = [
    *(REPOSITORIES, A, f"{A}/status", CONNECTIONS, "/api/v1/events", "/api/v1/secrets", "/metrics"),
    "/apis/events.k8s.io/v1/events",
]
WATCH = f"{REPOSITORIES}?watch=true&timeoutSeconds=1&resourceVersion=0"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FORMS = (JSON, "application/yaml", TABLE)


class Ear:
    """Every response by its request."""

    def __init__(self, session):
        self.told = {}
        self.kept, self.reference = [], {}
        self._session = session

    async def ask(self, name, method, path, **options):
        async with self._session.request(method, path, **options) as response:
            text = await response.text()
            self.told[name] = f"{response.status} {dict(response.headers)} {text}"
        return response.status


@pytest.fixture
async def heard(tmp_path, caplog):
    """Send the value in every way, and search everywhere. Returns all output, and the data
    folder."""
    caplog.set_level(logging.DEBUG)
    options = {"data": tmp_path / "inkube.db", "durable": False}
    async with (
        APIServer(offline=True, retry_seconds=0.0, **options) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        ear = Ear(session)
        for name, (method, path, media, body) in WAYS.items():
            data = body if isinstance(body, str) else json.dumps(body)
            code = await ear.ask(name, method, path, data=data, headers={"Content-Type": media})
            assert code < 500, name
        await server.settled()
        for path in LOOKS:
            for accept in FORMS:
                await ear.ask(f"{path} as {accept}", "GET", path, headers={"Accept": accept})
        await ear.ask("watch", "GET", WATCH)
        kept = (await server.client.get(REPOSITORY_KIND, "a", "default"))["secure"]["token"]
        vault = server.parts.environment().services["vaults"].repositories
        ear.kept = [entry.value for entry in await vault._store.owned("default", OWNER)]
        ear.reference = kept
    return ear


REPOSITORY_KIND = "provisioning.grafana.app/v0alpha1/repositories"
OWNER = "repositories.provisioning.grafana.app/a"


def forms_of(secret):
    """Return the value, and its encodings in JSON, in a URL, and in base64."""
    return {
        secret,
        json.dumps(secret)[1:-1],
        quote(secret),
        base64.b64encode(secret.encode()).decode()[:-3],
    }


async def test_a_secret_value_is_in_no_response_no_watch_no_log_and_no_file(
    heard, caplog, tmp_path
):
    secrets = forms_of(SECRET)
    assert [name for name, text in heard.told.items() if any(s in text for s in secrets)] == []
    lines = [repr(record.__dict__) for record in caplog.records]
    assert [line for line in lines if any(s in line for s in secrets)] == []
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert tmp_path / "inkube.db" in files
    assert [path for path in files if any(s.encode() in files[path] for s in secrets)] == []
    check_that_values_arrived(heard)


def check_that_values_arrived(heard):
    assert heard.kept
    assert all(value.startswith(SECRET) for value in heard.kept)
    assert list(heard.reference) == ["name"]
    assert heard.told["create"].startswith("201")
    assert heard.told["apply"].startswith("200")
    assert heard.told["merge"].startswith("200")
    assert heard.told["secure is a list"].startswith("422")
    assert '"MODIFIED"' in heard.told["watch"] or '"ADDED"' in heard.told["watch"]
