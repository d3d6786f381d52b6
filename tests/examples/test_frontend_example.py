"""The front-end example runs in node with a server."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest
import typescript
from patience import SECONDS

from inkube import APIServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "frontend"
NODE = shutil.which("node")
CLEAN = {"fields": {}, "form": [], "supported": {}}


@pytest.fixture
def main(tmp_path):
    """The compiled program, in its package."""
    return typescript.frontend(tmp_path) / "lib" / "main.js"


async def output_of(*command):
    """Return the output of a command."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    told, complaints = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, (told + complaints).decode()
    return told.decode()


@pytest.mark.skipif(NODE is None, reason="node is not installed")
async def test_the_front_end_example_can_run_again(main):
    async with APIServer(offline=True, retry_seconds=0.0) as server:
        first = await output_of(NODE, main, server.url)
        assert await output_of(NODE, main, server.url) == first


@pytest.mark.skipif(NODE is None, reason="node is not installed")
async def test_a_form_is_validated_saved_and_kept_current(main):
    async with APIServer(offline=True, retry_seconds=0.0) as server:
        told = await output_of(NODE, main, server.url)
    steps = [json.loads(line) for line in told.splitlines()]
    shown = {each["step"]: each["value"] for each in steps}
    assert list(shown["first try"]["fields"]) == ["title", "branch"]
    assert shown["second try"] == missing_branch("main")
    assert [shown[step] for step in ("third try", "created", "polled")] == [CLEAN] * 3
    assert shown["branch gone"] == missing_branch("trunk")
    assert shown["pulled"]["state"] == "success"
    assert [each["kind"] for each in shown["pulled"]["summary"]] == ["Dashboard", "Folder"]
    names = [name.rpartition("-")[0] or name for name in shown["resources"]]
    assert names == ["folders/dashboards", "folders/team", "dashboards/boats"]
    assert shown["newest job"] == {
        "action": "pull",
        "repository": "dashboards",
        "pull": {"incremental": False},
    }
    badges = [each["value"] for each in steps if each["step"] == "badges"]
    assert badges == [
        [{"name": "dashboards", "text": "healthy"}],
        [{"name": "dashboards", "text": "1 error"}],
    ]


def missing_branch(*others):
    """Return the errors of the form in either phase."""
    supported = {"branch": list(others)}
    return {"fields": {"branch": "branch not found"}, "form": [], "supported": supported}


def test_the_page_is_labelled_and_has_all_that_its_script_looks_for():
    page = (EXAMPLE / "index.html").read_text()
    script = (EXAMPLE / "src" / "page.ts").read_text()
    found = set(re.findall(r'id="([\w-]+)"', page))
    wanted = set(re.findall(r'find(?:<\w+>)?\("#([\w-]+)[ "]', script))
    fields = ("name", "title", "url", "branch")
    wanted |= {*fields, *(f"{field}-error" for field in fields)}
    assert wanted <= found
    for field in fields:
        assert f'<label for="{field}">' in page
        assert f'aria-describedby="{field}-error"' in page
