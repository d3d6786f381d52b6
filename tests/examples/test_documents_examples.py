"""The examples of the documents on two-phase validation, unchanged except for the URL.

Their TypeScript is in `documents/*.mts`; node runs what it compiles to.
"""

import asyncio
import json
import shutil
from pathlib import Path

import aiohttp
import pytest
import typescript
from patience import SECONDS

from inkube import APIServer

DOCUMENTS = Path(__file__).parent / "documents"
ALL = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
MAIN = {"path": "grafana/grafana", "branches": ["main"], "defaultBranch": "main"}
HOST = {
    "apiVersion": "world.inkube.dev/v1",
    "kind": "GitHost",
    "metadata": {"name": "github.com"},
    "spec": {"repositories": [MAIN]},
}
NOT_FOUND = {
    "type": "FieldValueInvalid",
    "field": "spec.github.branch",
    "detail": "branch not found",
    "origin": "branch_exists",
    "badValue": "gone",
    "supportedValues": ["main"],
}


def repository(name="my-repo", branch="gone", **members):
    github = {"url": "https://github.com/grafana/grafana", "branch": branch}
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"title": "My repository", "type": "github", "github": github},
        **members,
    }


@pytest.fixture
async def server():
    async with APIServer(offline=True, retry_seconds=0.0) as made:
        await made.client.create(HOST)
        yield made


@pytest.fixture
async def ask(server):
    """`await ask(method, path, body)`: returns code and body."""
    async with aiohttp.ClientSession() as http:

        async def request(method, path, body=None, *, kind="application/json"):
            data = None if body is None else json.dumps(body)
            headers = {"Content-Type": kind}
            url = server.url + path
            async with http.request(method, url, data=data, headers=headers) as answer:
                return answer.status, await answer.json()

        yield request


async def run(command, *arguments, stdin=b""):
    """Return the output of a command."""
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"{command} is not installed")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        found, *arguments, stdin=pipe, stdout=pipe, stderr=pipe
    )
    told, complaints = await asyncio.wait_for(process.communicate(stdin), SECONDS)
    assert process.returncode == 0, (told + complaints).decode()
    return told.decode()


async def node(server, name):
    return json.loads(await run("node", typescript.compiled(DOCUMENTS) / name, server.url))


async def test_the_form_shows_errors_of_dry_runs_and_of_the_controller(server):
    shown = await node(server, "form.mjs")
    assert shown["refused"] == [
        {
            "type": "FieldValueInvalid",
            "field": "spec.github.branch",
            "message": 'Invalid value: "nonexistent": branch not found',
        }
    ]
    assert shown["rightAfter"] == {"valid": True, "errors": {}}
    wrong = {"spec.github.branch": "branch not found"}
    assert shown["reconciled"] == {"valid": False, "errors": wrong}
    assert shown["passed"] == []


async def test_the_list_view_needs_one_request(server):
    await server.client.create(repository())
    await server.settled()
    assert await node(server, "list.mjs") == [
        {
            "name": "my-repo",
            "healthy": False,
            "state": "",
            "isPending": False,
            "errors": 1,
            "messages": ["spec.github.branch: branch not found"],
        }
    ]


async def test_the_list_view_shows_what_no_controller_has_looked_at():
    async with APIServer(offline=True, controllers=False) as server:
        await server.client.create(repository())
        [row] = await node(server, "list.mjs")
    assert (row["isPending"], row["healthy"], row["errors"]) == (True, False, 0)


async def test_waiting_by_watch_ends_when_the_controller_has_looked(server):
    await server.client.create(repository())
    assert await node(server, "watch.mjs") == [NOT_FOUND]


async def test_a_controller_patches_field_errors_right_after_creation(ask):
    """The Go controller's patch: one JSON patch of the status subresource."""
    async with APIServer(offline=True, controllers=False) as server:
        made = await server.client.create(repository())
        patch = [
            {"op": "replace", "path": "/status/observedGeneration", "value": 1},
            {"op": "replace", "path": "/status/fieldErrors", "value": [NOT_FOUND]},
        ]
        gvr = "provisioning.grafana.app/v0alpha1/repositories"
        stored = await server.client.patch(
            gvr, "my-repo", "default", patch=patch, type="json", subresource="status"
        )
    assert stored["status"] == {
        **made["status"],
        "observedGeneration": 1,
        "fieldErrors": [NOT_FOUND],
    }


@pytest.mark.parametrize(
    ("item", "stored"),
    [
        ({"type": "InternalError"}, {"type": "InternalError"}),
        (
            {"type": "FieldValueInvalid", "field": "spec.title", "detail": "", "origin": ""},
            {"type": "FieldValueInvalid", "field": "spec.title", "detail": "", "origin": ""},
        ),
        (
            {"type": "FieldValueInvalid", "badValue": {"a": [1]}},
            {"type": "FieldValueInvalid", "badValue": {"a": [1]}},
        ),
        *(
            (
                {"type": "FieldValueInvalid", "badValue": value},
                {"type": "FieldValueInvalid", "badValue": value},
            )
            for value in ("", 0, False)
        ),
        ({"type": "FieldValueInvalid", "badValue": None}, {"type": "FieldValueInvalid"}),
    ],
    ids=lambda item: json.dumps(item),
)
async def test_only_the_type_of_a_field_error_is_required(item, stored):
    async with APIServer(offline=True, controllers=False) as server:
        await server.client.create(repository())
        gvr = "provisioning.grafana.app/v0alpha1/repositories"
        patch = {"status": {"fieldErrors": [item]}}
        found = await server.client.patch(
            gvr, "my-repo", "default", patch=patch, subresource="status"
        )
    assert found["status"]["fieldErrors"] == [stored]


async def test_a_field_error_without_a_type_is_refused(ask):
    await ask("POST", ALL, repository())
    patch = {"status": {"fieldErrors": [{"field": "spec.title"}]}}
    code, refused = await ask(
        "PATCH", f"{ALL}/my-repo/status", patch, kind="application/merge-patch+json"
    )
    assert code == 422
    [cause] = refused["details"]["causes"]
    assert (cause["type"], cause["field"]) == ("FieldValueRequired", "status.fieldErrors[0].type")


@pytest.mark.parametrize("branch", [{}, {"branch": ""}], ids=["absent", "empty"])
async def test_github_needs_a_branch_in_admission(ask, branch):
    obj = repository()
    obj["spec"]["github"] = {"url": "https://github.com/grafana/grafana", **branch}
    for query in ("", "?dryRun=All"):
        code, refused = await ask("POST", ALL + query, obj)
        assert code == 422
        assert refused["details"]["causes"] == [
            {
                "reason": "FieldValueRequired",
                "type": "FieldValueRequired",
                "field": "spec.github.branch",
                "message": "Required value: a github branch is required",
                "detail": "a github branch is required",
                "origin": "branch_well_formed",
                **({} if not branch else {"badValue": ""}),
            }
        ]


async def test_the_generated_client_sends_bodies_without_apiversion_and_kind(ask):
    body = {name: repository()[name] for name in ("metadata", "spec")}
    body["secure"] = {"token": {"create": "secret"}}
    named = {**body, "metadata": {"generateName": "r"}}
    code, dry = await ask("POST", f"{ALL}?dryRun=true", {**named, "spec": main(body["spec"])})
    assert (code, dry["metadata"]["name"][0], dry["kind"]) == (201, "r", "Repository")
    code, made = await ask("PUT", f"{ALL}/my-repo", body)
    assert (code, made["spec"]["github"]["branch"]) == (201, "gone")
    del body["secure"]
    code, put = await ask("PUT", f"{ALL}/my-repo", {**body, "spec": main(body["spec"])})
    assert (code, put["secure"]) == (200, made["secure"])
    code, _ = await ask("POST", ALL, {"metadata": {}, "spec": main(body["spec"])})
    assert code == 422


def main(spec):
    return {**spec, "github": {**spec["github"], "branch": "main"}}


@pytest.mark.parametrize(
    ("metadata", "prefix"),
    [({}, "gitlab-"), ({"generateName": "c"}, "c")],
    ids=["no name", "generateName"],
)
async def test_the_server_names_connections(ask, metadata, prefix):
    path = ALL.replace("repositories", "connections")
    body = {
        "metadata": metadata,
        "spec": {"title": "GitLab", "type": "gitlab", "oauth": {"clientID": "app"}},
        "secure": {"clientSecret": {"create": "x"}},
    }
    code, made = await ask("POST", path, body)
    assert (code, made["metadata"]["name"].startswith(prefix)) == (201, True)
    assert made["status"] == {"fieldErrors": [], "health": {"healthy": False}, "token": {}}


async def test_kubectl_and_jq_read_field_errors(server, tmp_path):
    config = tmp_path / "kubeconfig"
    config.write_text(server.kubeconfig())
    manifest = json.dumps(repository()).encode()
    told = await run("kubectl", f"--kubeconfig={config}", "create", "-f", "-", stdin=manifest)
    assert told == "repository.provisioning.grafana.app/my-repo created\n"
    await server.settled()
    table = await run("kubectl", f"--kubeconfig={config}", "get", "repo", "my-repo")
    assert table.split()[:5] == ["NAME", "TITLE", "TYPE", "HEALTHY", "ERRORS"]
    got = await run("kubectl", f"--kubeconfig={config}", "get", "repo/my-repo", "-o", "json")
    errors = await run("jq", "-c", ".status.fieldErrors", stdin=got.encode())
    assert json.loads(errors) == [NOT_FOUND]
    is_done = ".status.observedGeneration == .metadata.generation"
    assert (await run("jq", is_done, stdin=got.encode())).strip() == "true"
    path = "jsonpath={.status.fieldErrors[*].detail}"
    told = await run(
        "kubectl", f"--kubeconfig={config}", "get", "repository", "my-repo", "-o", path
    )
    assert told == "branch not found"


async def test_curl_sends_a_dry_run(server):
    told = await run(
        "curl", "-s", "-X", "POST", f"{server.url}{ALL}?dryRun=All",
        "-H", "Content-Type: application/json", "-d", json.dumps(repository()),
    )  # fmt: skip
    fields = await run("jq", "-r", ".details.causes[].field", stdin=told.encode())
    assert fields == "spec.github.branch\n"
