"""Every code block of the documents, adapted and run: curl, kubectl, node; JSON is compared.

The contents of the blocks are in `documents/`; hosts and credentials are those of the tests.
"""

import asyncio
import base64
import json
import shutil
from pathlib import Path

import pytest
import typescript
from patience import SECONDS
from worlds import KEY, pem

from inkube import APIServer
from inkube.apiserver import scenarios

DOCUMENTS = Path(__file__).parent / "documents"
ALL = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
INVALID = "FieldValueInvalid"
MISSING = {
    "type": INVALID,
    "field": "spec.github.branch",
    "detail": "branch not found",
    "origin": "branch_exists",
    "badValue": "non-existent-branch",
    "supportedValues": ["main"],
}
CONNECTION = """\
apiVersion: provisioning.grafana.app/v0alpha1
kind: Connection
metadata:
  name: my-connection
spec:
  type: github
  github:
    appID: "123456"
    installationID: "999999999"
status:
  observedGeneration: 1
  state: Disconnected
  health:
    healthy: false
    checked: 1699123456
  fieldErrors:
    - type: FieldValueInvalid
      field: spec.installationID
      detail: "invalid installation ID: 999999999"
"""
REPOSITORY = """\
apiVersion: provisioning.grafana.app/v0alpha1
kind: Repository
metadata:
  name: my-repo
spec:
  type: github
  github:
    url: "https://github.com/grafana/grafana"
    branch: "non-existent-branch"
status:
  observedGeneration: 1
  health:
    healthy: false
    checked: 1699123456
  fieldErrors:
    - type: FieldValueInvalid
      field: spec.github.branch
      detail: "branch not found"
"""
BRANCH = {
    "apiVersion": "provisioning.grafana.app/v0alpha1",
    "kind": "Repository",
    "metadata": {"name": "my-repo"},
    "spec": {
        "type": "github",
        "github": {
            "url": "https://github.com/grafana/grafana",
            "branch": "non-existent-branch",
        },
    },
}
MAIN = {**BRANCH, "spec": {**BRANCH["spec"], "github": {**BRANCH["spec"]["github"]}}}
MAIN["spec"]["github"]["branch"] = "main"
PRIVATE_KEY = f"secure: {{privateKey: {{create: {base64.b64encode(pem(KEY)).decode()}}}}}\n"


@pytest.fixture
async def server():
    async with APIServer(offline=True, retry_seconds=0.0) as made:
        yield made


@pytest.fixture
def kubectl(server, tmp_path):
    """`await kubectl(arguments…, stdin=text)`: returns exit code and output."""
    config = tmp_path / "kubeconfig"
    config.write_text(server.kubeconfig())

    async def command(*arguments, stdin=""):
        return await run("kubectl", f"--kubeconfig={config}", *arguments, stdin=stdin)

    return command


async def run(command, *arguments, stdin=""):
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"{command} is not installed")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        found, *map(str, arguments), stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    told, _ = await asyncio.wait_for(process.communicate(stdin.encode()), SECONDS)
    return process.returncode, told.decode()


async def block(server, name, draft=None):
    """Return the output of a TypeScript block."""
    extra = [] if draft is None else [json.dumps(draft)]
    program = typescript.compiled(DOCUMENTS) / "blocks.mjs"
    code, told = await run("node", program, server.url, name, *extra)
    assert code == 0, told
    return json.loads(told)


async def curl(server, path, body, *options, media="application/json"):
    """Return code and body of a POST."""
    code, told = await run(
        "curl", "-s", "-X", "POST", f"{server.url}{path}", "-H", f"Content-Type: {media}",
        "--data-binary", "@-", "-w", "\n%{http_code}", *options, stdin=body,
    )  # fmt: skip
    assert code == 0, told
    answer, _, status = told.rpartition("\n")
    return int(status), json.loads(answer) if answer.startswith("{") else answer


async def status_of(kubectl, name):
    """Return the status as kubectl reads it."""
    code, told = await kubectl("get", name, "-o", "json")
    assert code == 0, told
    obj = json.loads(told)
    assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
    return obj["status"]


async def test_the_first_example_is_a_connection_without_its_installation(server, kubectl):
    await scenarios.load(server.client, "wrong-installation")
    code, told = await kubectl("apply", "-f", "-", stdin=CONNECTION + PRIVATE_KEY)
    assert (code, told) == (0, "connection.provisioning.grafana.app/my-connection created\n")
    assert await block(server, "installation") == {
        "installationID": "invalid installation ID: 999999999"
    }
    status = await status_of(kubectl, "connection/my-connection")
    assert (status["state"], status["health"]["healthy"]) == ("Disconnected", False)
    [error] = status["fieldErrors"]
    wanted = {"type": INVALID, "field": "spec.installationID"}
    assert error.items() >= {**wanted, "detail": "invalid installation ID: 999999999"}.items()


async def test_the_first_example_takes_its_private_key_and_nothing_else(server, kubectl):
    await scenarios.load(server.client, "wrong-installation")
    code, told = await kubectl("apply", "-f", "-", stdin=CONNECTION)
    assert code == 1
    assert told.count("secure.privateKey") == 1
    assert "title" not in told


async def test_the_second_example_is_a_repository_without_its_branch(server, kubectl):
    await scenarios.load(server.client, "vanished-branch")
    code, told = await kubectl("apply", "-f", "-", stdin=REPOSITORY)
    assert (code, told) == (0, "repository.provisioning.grafana.app/my-repo created\n")
    assert await block(server, "byWatch") == [MISSING]
    status = await status_of(kubectl, "repository/my-repo")
    assert (status["fieldErrors"], status["health"]["healthy"]) == ([MISSING], False)
    assert await block(server, "badges") == [["my-repo", "branch not found"]]
    assert await block(server, "byPoll") == await block(server, "current") == [MISSING]


@pytest.mark.parametrize("media", ["application/json", "application/yaml"])
async def test_the_second_example_with_curl(server, media):
    await scenarios.load(server.client, "vanished-branch")
    body = json.dumps(BRANCH) if media.endswith("json") else REPOSITORY
    code, refused = await curl(server, f"{ALL}?dryRun=true", body, media=media)
    assert code == 422
    assert {**refused, "message": "", "details": {**refused["details"], "causes": []}} == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "",
        "reason": "Invalid",
        "code": 422,
        "details": {
            "name": "my-repo",
            "group": "provisioning.grafana.app",
            "kind": "Repository",
            "causes": [],
        },
    }
    [cause] = refused["details"]["causes"]
    assert cause.items() >= {k: v for k, v in MISSING.items() if k != "supportedValues"}.items()
    assert (await curl(server, ALL, body, media=media))[0] == 201
    assert (await curl(server, f"{ALL}?dryRun=true", json.dumps(MAIN)))[0] == 409


async def test_the_third_example_has_two_errors(server, kubectl):
    scenario = await scenarios.load(server.client, "wrong-token")
    code, told = await kubectl("apply", "-f", "-", stdin=json.dumps(scenario.example))
    assert code == 0, told
    assert await block(server, "grouped") == {
        "url": "repository not found",
        "token": "not authorized",
    }
    status = await status_of(kubectl, "repository/my-repo")
    shown = [{k: each[k] for k in ("type", "field", "detail")} for each in status["fieldErrors"]]
    assert shown == [
        {"type": INVALID, "field": "spec.github.url", "detail": "repository not found"},
        {"type": INVALID, "field": "secure.token", "detail": "not authorized"},
    ]


async def test_a_form_validates_then_creates_and_waits(server):
    await scenarios.load(server.client, "vanished-branch")
    assert await block(server, "validate", BRANCH) == [
        {"field": "spec.github.branch", "message": "branch not found", "type": INVALID}
    ]
    assert await block(server, "create", BRANCH) == {"branch": "branch not found"}
    assert (await server.client.list("provisioning.grafana.app/v0alpha1/repositories")).items == []
    assert await block(server, "validate", MAIN) == []
    assert await block(server, "create", MAIN) == {}


async def test_endpoints_for_validation_are_not_there(server, kubectl):
    await scenarios.load(server.client, "vanished-branch")
    await kubectl("apply", "-f", "-", stdin=REPOSITORY)
    assert await block(server, "absent", BRANCH) == [404] * 5
    code, _ = await curl(server, f"{ALL}/my-repo/test", REPOSITORY)
    assert code == 404
    path = "jsonpath={.status.fieldErrors}"
    await server.settled()
    _, told = await kubectl("get", "repository", "my-repo", "-o", path)
    assert json.loads(told) == [MISSING]


async def test_kubectl_watches_field_errors(server, kubectl, tmp_path):
    await scenarios.load(server.client, "vanished-branch")
    await kubectl("apply", "-f", "-", stdin=REPOSITORY)
    await server.settled()
    config = tmp_path / "kubeconfig"
    path = "jsonpath={.status.fieldErrors}"
    process = await asyncio.create_subprocess_exec(
        "kubectl", f"--kubeconfig={config}", "get", "repository", "my-repo", "-w", "-o", path,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        told = await asyncio.wait_for(process.stdout.readuntil(b"]"), SECONDS)
        told += await asyncio.wait_for(process.stdout.readuntil(b"]"), SECONDS)
        assert json.loads(told) == [MISSING]
    finally:
        process.kill()
        await process.wait()


async def test_the_servers_rules_are_the_only_ones(server):
    """The second document: gaps in it are reported; a name with dots and a slash is one path
    segment."""
    draft = {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": "login"},
        "spec": {"github": {"branch": "feature/user.login"}},
    }
    shown = await block(server, "branch", draft)
    assert set(shown) == {"spec.type", "spec.github.url"}
    github = {"url": "https://github.com/grafana/grafana", "branch": "feature/user.login"}
    whole = {**draft, "spec": {"type": "github", "github": github}}
    assert await block(server, "branch", whole) == {}
    wrong = {**whole, "metadata": {"name": "other"}}
    wrong["spec"] = {"type": "github", "github": {**github, "branch": "feature user"}}
    assert await block(server, "branch", wrong) == {"branch": "invalid branch name"}
