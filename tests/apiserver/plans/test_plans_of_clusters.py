"""`inkube plan --from-cluster`: a live cluster is read, and nothing in it changes."""

import asyncio
import json
import shutil

import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.capture import CaptureScope, Cluster, capture
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


@pytest.fixture
async def live(tmp_path, config_map):
    """A server in the role of a cluster, `await inkube(COMMAND, …)` with its kubeconfig, and `await
    captured(…)`, which writes its state to a file."""
    config = tmp_path / "config"
    async with APIServer(controllers=False) as server:
        await server.client.create(config_map("sky", colour="blue"))
        config.write_text(server.kubeconfig())
        (tmp_path / "set.json").write_text(json.dumps(config_map("sky", colour="grey")))

        async def inkube(*arguments):
            command = [*map(str, arguments), "--kubeconfig", str(config)]
            return await asyncio.to_thread(CliRunner().invoke, main, command)

        async def captured(**scope):
            async with Cluster(config) as cluster:
                wanted = CaptureScope(**scope)
                await capture.capture(cluster, tmp_path / "a.db", wanted, report=lambda line: None)

        yield server, inkube, captured


def of_file(tmp_path):
    """Return the arguments of a plan of a captured file, which is saved."""
    files = ("--data", tmp_path / "a.db", "--out", tmp_path / "plan.json")
    return ("plan", "-f", tmp_path / "set.json", *files, "--force-conflicts")


async def test_the_plan_of_a_captured_file_is_applied(live, tmp_path):
    server, inkube, captured = live
    await captured()
    assert (await inkube(*of_file(tmp_path))).exit_code == 2
    apply = ("plan", "--apply", tmp_path / "plan.json", "--context", "")
    done = await inkube(*apply)
    assert done.stdout.endswith("1 of 1 objects applied.\n"), done.output
    assert (await server.client.get("v1/configmaps", "sky", "default"))["data"]["colour"] == "grey"
    done = await inkube(*apply)
    assert "ConfigMap default/sky: resource version" in done.stderr


async def test_a_capture_of_a_part_compares_this_part(live, tmp_path):
    """Kinds that the capture leaves out, such as webhooks, are not known to be absent."""
    server, inkube, captured = live
    hooks = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "none"}, "webhooks": [],
    }  # fmt: skip
    await server.client.create(hooks)
    await captured(resources=["configmaps"], namespaces=["default"])
    await inkube(*of_file(tmp_path))
    done = await inkube("plan", "--apply", tmp_path / "plan.json", "--context", "")
    assert done.stdout.endswith("1 of 1 objects applied.\n"), done.output
    set_file, saved = tmp_path / "set.json", tmp_path / "other.json"
    set_file.write_text(set_file.read_text().replace("grey", "green"))
    command = ("plan", "-f", set_file, "--force-conflicts", "--from-cluster", "", "--out", saved)
    assert (await inkube(*command)).exit_code == 2
    await server.client.delete(
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "none"
    )
    done = await inkube("plan", "--apply", saved)
    assert "validatingwebhookconfigurations/none: was deleted" in done.stderr


async def test_the_plan_of_a_changed_capture_is_not_applied(live, tmp_path, config_map):
    _, inkube, captured = live
    await captured()
    async with APIServer(data=tmp_path / "a.db", controllers=False) as copy:
        await copy.client.create(config_map("new"))
    await inkube(*of_file(tmp_path))
    done = await inkube("plan", "--apply", tmp_path / "plan.json", "--context", "")
    assert done.exit_code == 1
    assert "it was made with a capture that was changed later" in done.stderr
