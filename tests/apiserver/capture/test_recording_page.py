"""The commands on docs/recording.md work as written."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from patience import within

from inkube import APIServer

PAGE = Path(__file__).parents[3] / "docs" / "recording.md"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
async def test_the_page_captures_a_cluster(tmp_path):
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "inkube").write_text(f'#!/bin/sh\nexec {sys.executable} -m inkube "$@"\n')
    (tools / "inkube").chmod(0o755)
    config = tmp_path / "config"
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    async with APIServer() as server, within(100):
        config.write_text(server.kubeconfig())
        process = await asyncio.create_subprocess_exec(
            *("sh", "-e", "-c", script),
            env={**os.environ, "PATH": path, "KUBECONFIG": str(config)},
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )
        text, _ = await process.communicate()
    assert process.returncode == 0
    assert "ADDED Namespace default  by inkube" in text.decode()
