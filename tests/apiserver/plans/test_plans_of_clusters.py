"""`inkube plan --from-cluster`: a live cluster is read, and nothing in it changes."""

import asyncio
import json
import shutil

import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


async def test_a_live_cluster_is_read_and_not_changed(tmp_path, config_map):
    file, config = tmp_path / "set.json", tmp_path / "config"
    file.write_text(json.dumps(config_map("sky", colour="grey")))
    async with APIServer() as server:
        made = await server.client.create(config_map("sky", colour="blue"))
        config.write_text(server.kubeconfig())
        command = ["plan", "-f", str(file), "--from-cluster", "", "--kubeconfig", str(config)]
        done = await asyncio.to_thread(CliRunner().invoke, main, [*command, "--force-conflicts"])
        assert done.exit_code == 2, done.output
        assert '~ data.colour: "blue" -> "grey"' in done.output
        assert await server.client.get("v1/configmaps", "sky", "default") == made
