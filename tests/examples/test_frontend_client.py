"""The typed client as an npm package: form errors of both phases, objects that follow the
server."""

import asyncio
import json
import shutil
from pathlib import Path

import boats
import pytest
import typescript
from patience import SECONDS, within

from inkube import APIServer

PROGRAM = Path(__file__).parent / "frontend" / "useresource.mjs"
HOST = {
    "apiVersion": "world.inkube.dev/v1",
    "kind": "GitHost",
    "metadata": {"name": "git.example"},
    "spec": {"repositories": [{"path": "team/dashboards", "branches": ["main"]}]},
}
REPOSITORY = {
    "apiVersion": "provisioning.grafana.app/v0alpha1",
    "kind": "Repository",
    "metadata": {"name": "dashboards", "namespace": "default"},
    "spec": {
        "title": "Dashboards",
        "type": "git",
        "git": {"url": "https://git.example/team/dashboards", "branch": "mian"},
    },
}
GVR = "provisioning.grafana.app/v0alpha1/repositories"

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node and npm are not installed"
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with a program and the package, installed from its folder only."""
    folder = tmp_path_factory.mktemp("page")
    typescript.frontend(folder)
    (folder / "package.json").write_text('{"name": "page", "private": true, "type": "module"}')
    shutil.copy(PROGRAM, folder)
    return folder


@pytest.fixture
async def page(installed):
    """`await page(*arguments)`: start the program; `next_line` parses its lines as JSON."""
    if not (installed / "node_modules").exists():
        options = ("--offline", "--ignore-scripts", "--no-audit", "--no-fund")
        await run(installed, "npm", "install", *options, "./frontend")
    started = []

    async def start(*arguments):
        process = await asyncio.create_subprocess_exec(
            "node", PROGRAM.name, *arguments, cwd=installed, stdout=asyncio.subprocess.PIPE
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run(folder, *command):
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    told, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, told.decode()


async def until(process, is_so):
    """Return the first state of the page that meets the condition."""
    async with within():
        while line := await process.stdout.readline():
            state = json.loads(line)
            if is_so(state):
                return state
    raise AssertionError("the page ended")


async def test_both_phases_are_shown_by_one_function(page):
    async with APIServer(offline=True, retry_seconds=0.0) as server:
        await server.client.create(HOST)
        process = await page("validate", server.url, json.dumps(REPOSITORY))
        refused = await until(process, lambda state: True)
        await server.client.create(REPOSITORY)
        await server.settled()
        process = await page("follow", server.url, "dashboards")
        state = await until(process, lambda state: state["errors"]["fields"])
        process = await page("validate", server.url, json.dumps(REPOSITORY))
        taken = await until(process, lambda state: True)
    wrong = {"branch": "branch not found"}
    assert refused == {"fields": wrong, "form": [], "supported": {"branch": ["main"]}}
    assert state["errors"] == refused
    assert (state["isBehind"], state["retries"], state["isKnown"]) == (False, 0, True)
    assert taken["fields"] == {**wrong, "name": "resource with name 'dashboards' already exists"}


async def test_a_taken_name_stands_at_the_name(page):
    good = {**REPOSITORY, "spec": {**REPOSITORY["spec"], "git": {"url": "https://git.example/a/b"}}}
    async with APIServer(offline=True, retry_seconds=0.0) as server:
        spec = {"repositories": [{"path": "a/b", "branches": ["main"]}]}
        await server.client.create({**HOST, "spec": spec})
        await server.client.create(good)
        process = await page("validate", server.url, json.dumps(good))
        shown = await until(process, lambda state: True)
    assert shown["fields"] == {"name": "resource with name 'dashboards' already exists"}


async def test_an_object_is_followed_from_before_its_creation_to_its_deletion(page):
    async with APIServer(offline=True, retry_seconds=0.0) as server:
        await server.client.create(HOST)
        process = await page("follow", server.url, "dashboards")
        state = await until(process, lambda state: state["isKnown"])
        assert state["generation"] is None
        await server.client.create(REPOSITORY)
        await until(process, lambda state: state["generation"] == 1 and not state["isBehind"])
        git = {"url": "https://git.example/team/dashboards", "branch": "main"}
        await server.client.patch(GVR, "dashboards", "default", patch={"spec": {"git": git}})
        state = await until(
            process, lambda state: state["generation"] == 2 and not state["isBehind"]
        )
        assert state["errors"]["fields"] == {}
        await server.client.delete(GVR, "dashboards", "default")
        await until(process, lambda state: state["generation"] is None)


async def test_a_controller_that_has_not_looked_is_behind(page):
    async with APIServer(offline=True, controllers=False) as server:
        await server.client.create(REPOSITORY)
        process = await page("follow", server.url, "dashboards")
        assert (await until(process, lambda state: state["isKnown"]))["isBehind"] is True


async def test_a_request_to_an_unreachable_server_is_repeated(page, tmp_path):
    options = {"offline": True, "retry_seconds": 0.0, "data": tmp_path / "inkube.db"}
    async with APIServer(**options) as server:
        port = server.port
        await server.client.create(HOST)
        await server.client.create(REPOSITORY)
        process = await page("follow", server.url, "dashboards")
        await until(process, lambda state: state["errors"]["fields"])
    state = await until(process, lambda state: state["retries"] >= 2)
    assert state["problem"]
    assert state["errors"]["fields"] == {"branch": "branch not found"}
    async with APIServer(port=port, **options):
        state = await until(process, lambda state: state["retries"] == 0)
    assert state["problem"] is None
    assert state["generation"] == 1


SPEC = {
    "type": "object",
    "required": ["color"],
    "x-kubernetes-validations": [
        {"rule": "self.color != 'odd'", "message": "odd boats sink"},
        {"rule": "self.color != 'red'", "message": "red is taken", "fieldPath": ".color"},
    ],
    "properties": {
        "color": {"type": "string"},
        "crew": {
            "type": "array",
            "items": {
                "type": "object", "properties": {"age": {"type": "integer", "minimum": 16}},
            },
        },
    },
}  # fmt: skip
CRD = boats.definition(
    {
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.spec.color != 'none'", "message": "a boat has a color"}
        ],
        "properties": {"spec": SPEC},
    }
)
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "boats"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["boats"],
                    "operations": ["CREATE"],
                }
            ]
        },
        "validations": [
            {"expression": "object.spec.color != 'blue'", "message": "no blue boats here"},
            {
                "expression": "object.spec.color != 'pink'",
                "message": "no pink boats here",
                "reason": "Forbidden",
            },
        ],
    },
}  # fmt: skip
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "boats"},
    "spec": {"policyName": "boats", "validationActions": ["Deny"]},
}
PLACES = {"metadata.name": "name", "spec.color": "color", "spec.crew": "crew"}


def boat(name="a", **spec):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("obj", "field", "text"),
    [
        (boat(color="none"), "form", "a boat has a color"),
        (boat(color="odd"), "form", "spec: "),
        (boat(color="red"), "color", "red is taken"),
        (boat(), "color", "Required value"),
        (boat(color="x", crew=[{"age": 20}, {"age": 1}]), "crew", "should be greater than"),
        (boat("A b", color="x"), "name", "RFC 1123"),
        (boat(color="blue"), "form", "no blue boats here"),
        (boat(color="pink"), "form", "no pink boats here"),
    ],
)
async def test_the_errors_of_any_kind_are_shown(page, obj, field, text):
    async with APIServer() as server:
        for each in (CRD, POLICY, BINDING):
            await server.client.create(each)
        path = "/apis/example.com/v1/namespaces/default/boats"
        argument = json.dumps({"path": path, "fields": PLACES, "object": obj})
        process = await page("any", server.url, argument)
        shown = json.loads(await process.stdout.readline())
    assert shown["isError"]
    for errors in (shown["validated"], shown["created"]):
        found = errors["form"] if field == "form" else [errors["fields"][field]]
        assert text in found[0]
