"""The examples in docs/pytest.md work as written."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import yaml
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.pytest_plugin import MARKERS

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[3] / "docs" / "pytest.md"


def test_the_examples_of_the_page_pass(run):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    result = run("\n".join(blocks))
    result.assert_outcomes(passed=15)


def test_every_marker_is_on_the_page():
    page = PAGE.read_text()
    for marker in MARKERS:
        assert f"| `{re.split('[(:]', marker)[0]}" in page


def test_the_console_of_the_page_runs(tmp_path):
    [console] = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    commands = [line.removeprefix("$ inkube ").split() for line in console.splitlines()]
    assert [command[0] for command in commands] == ["snapshot", "serve", "snapshot"]
    run = partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True, timeout=SECONDS)
    run([sys.executable, "-c", MAKE])
    for command in commands:
        if command[0] == "snapshot":
            run([sys.executable, "-m", "inkube.apiserver.cli", *command])
    run([sys.executable, "-c", MAKE.replace("inkube.db", "other.db").replace("create", "update")])


MAKE = """
import asyncio, pathlib
from inkube import APIServer
CM = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
async def main():
    async with APIServer(data=pathlib.Path("inkube.db")) as server:
        await server.client.create(CM)
asyncio.run(main())
"""


async def test_the_fault_of_the_page_is_one():
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with APIServer() as server:
        made = await server.client.create(yaml.safe_load(text))
    assert made["spec"]["when"] == {"probability": 0.2, "seed": 7, "every": 1}
