"""The discovery documents of inkube's own modules before they are loaded."""

import json
import re
import subprocess
import sys
from pathlib import Path

import generate_modules
import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver import console
from inkube.apiserver.modules import built_in, descriptions
from inkube.schemas.status import StatusError

PROGRAM = """
import asyncio, json, sys
import inkube

async def ask(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = f"GET {path} HTTP/1.0", "Host: localhost", "Accept: ACCEPT", "", ""
    writer.write("\\r\\n".join(lines).encode())
    head, _, body = (await reader.read()).decode().partition("\\r\\n\\r\\n")
    writer.close()
    assert head.startswith("HTTP/1.0 200"), head
    return body

async def main():
    paths = json.loads(sys.argv[1])
    async with inkube.APIServer(modules="all") as server:
        before = [await ask(server.port, path) for path in paths]
        loaded = "pydantic" in sys.modules
        server.resources.load()
        after = [await ask(server.port, path) for path in paths]
        print(json.dumps({"before": before, "loaded": loaded, "after": after}))

asyncio.run(main())
"""
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
LATE = {name: each for name, each in built_in().items() if not each.builds_at_start}
PLAIN = [f"/apis/{group}" for each in LATE.values() for group in each.groups]
VERSIONED = ["/apis/provisioning.grafana.app/v0alpha1", "/apis/porch.kpt.dev/v1alpha1"]


def asked(paths, accept):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("ACCEPT", accept), json.dumps(paths)],
        capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_generated_descriptions_of_modules_are_current():
    found = {file: file.read_bytes() for file in descriptions.FOLDER.iterdir()}
    assert found == generate_modules.builtin(), "run python tools/generate_modules.py"


@pytest.mark.parametrize(
    ("paths", "accept"),
    [(["/api", "/apis"], AGGREGATED), (["/", "/apis", *PLAIN, *VERSIONED], "application/json")],
    ids=["aggregated", "plain"],
)
def test_discovery_loads_no_module_and_answers_the_same_afterwards(paths, accept):
    found = asked(paths, accept)
    assert not found["loaded"]
    assert found["before"] == found["after"]


def test_the_index_of_openapi_and_documents_of_other_groups_load_no_module():
    found = asked(["/openapi/v3", "/openapi/v3/apis/apps/v1"], "application/json")
    assert not found["loaded"]
    index, later = (json.loads(found[when][0]) for when in ("before", "after"))
    assert list(index["paths"]) == list(later["paths"])
    assert index["paths"]["apis/apps/v1"] == later["paths"]["apis/apps/v1"]


@pytest.mark.asyncio
async def test_a_document_is_found_by_the_hash_of_an_index_from_before_it_was_loaded(web_of):
    path = "apis/world.inkube.dev/v1"
    async with APIServer() as server, web_of(server) as web:
        index = await web.ask("GET", "/openapi/v3")
        url = index.json["paths"][path]["serverRelativeURL"]
        answer = await web.ask("GET", url)  # it redirects to the URL with the document's hash
        assert f"/{path}/githosts" in answer.json["paths"]
        later = await web.ask("GET", "/openapi/v3")
        assert later.json["paths"][path]["serverRelativeURL"] != url


def test_the_console_describes_each_group_of_modules() -> None:
    script = (Path(console.__file__).parent / "assets" / "kinds.js").read_text()
    described = dict(re.findall(r'^  "([\w.-]+)": "(.*)",$', script, re.MULTILINE))
    assert described == {group: each.about for each in built_in().values() for group in each.groups}


async def test_no_two_kinds_of_modules_have_a_short_name_in_common() -> None:
    async with APIServer(modules="all", workloads=True) as server:
        server.resources.load()
        definitions = [each.definition for each in server.resources]
    kinds = [each for each in definitions if each.group != "events.k8s.io"]  # Events have two
    names = [name for kind in kinds for name in kind.names.short_names]
    assert sorted(names) == sorted(set(names))


async def test_stored_objects_of_a_module_that_is_off_are_kept_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, world = tmp_path / "a.db", "world.inkube.dev/v1"
    host = {"apiVersion": world, "kind": "GitHost", "metadata": {"name": "git.example"}}
    async with APIServer(data=data) as server:
        await server.client.create(host)
    async with APIServer(data=data, modules="none") as server:
        with pytest.raises(StatusError):
            await server.client.get(f"{world}/githosts", "git.example")
    assert "contains 1 objects of the module world, which is not served" in caplog.text
    assert "--modules default,world" in caplog.text
    async with APIServer(data=data) as server:
        assert await server.client.get(f"{world}/githosts", "git.example")
