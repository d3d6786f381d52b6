"""The programs on the page about control, run against a server: TypeScript with node, and Go."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest
import typescript
from patience import SECONDS

from inkube import APIServer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "control.md"
TYPES = typescript.TSC.parents[1] / "@types"
COMPILED = ("--target", "es2022", "--module", "nodenext", "--strict", "--types", "node")


def write(folder, language):
    """Write the page's files in one language."""
    blocks = re.findall(
        rf'^```{language} title="([^"]+)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert blocks, f"the page has no {language}"
    for name, text in blocks:
        (folder / name).write_text(text)


async def run(folder, *command, **environment):
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, told.decode()
    return told.decode()


@typescript.needed
async def test_the_typescript_example_controls_a_server(tmp_path):
    write(tmp_path, "ts")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    sources = sorted(path.name for path in tmp_path.glob("*.ts"))
    await run(tmp_path, str(typescript.TSC), *COMPILED, "--typeRoots", str(TYPES), *sources)
    async with APIServer() as server:
        told = await run(tmp_path, "node", "--test", SERVER=server.url)
    assert re.search(r"^# pass 4$", told, re.MULTILINE), told


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
async def test_the_go_example_controls_a_server(tmp_path):
    write(tmp_path, "go")
    (tmp_path / "go.mod").write_text("module control\n\ngo 1.21\n")
    async with APIServer() as server:
        assert "ok" in await run(tmp_path, "go", "test", "./...", SERVER=server.url)
