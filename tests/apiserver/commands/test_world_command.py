"""`inkube world`: lists, shows and loads scenarios into a running server."""

import asyncio

import pytest
import yaml
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver import scenarios
from inkube.apiserver.cli import main
from inkube.apiserver.configuration import BadOption

HOSTS = "world.inkube.dev/v1/githosts"


def run(*arguments, **environment):
    """Run the command; return its exit code and output."""
    result = CliRunner().invoke(main, ["world", *arguments], env=environment)
    return result.exit_code, result.output


def test_the_scenarios_are_listed_with_what_happens():
    code, text = run("list")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == list(scenarios.SCENARIOS)
    for scenario in scenarios.SCENARIOS.values():
        assert scenario.text in text


def test_an_example_is_a_manifest():
    code, text = run("example", "vanished-branch")
    assert code == 0
    assert yaml.safe_load(text) == scenarios.find("vanished-branch").example


@pytest.fixture
async def server():
    async with APIServer(offline=True) as made:
        yield made


async def test_a_scenario_is_loaded_by_url(server):
    code, text = await asyncio.to_thread(run, "load", "rate-limit", "--server", server.url)
    assert (code, text.splitlines()[0].partition(":")[0]) == (0, "rate-limit")
    assert (await server.client.get(HOSTS, "github.com"))["spec"]["outage"] == {"code": 429}


async def test_a_scenario_is_loaded_by_kubeconfig_over_another(server, tmp_path):
    config = tmp_path / "kubeconfig"
    config.write_text(server.kubeconfig())
    for name in ("rate-limit", "vanished-branch"):
        code, _ = await asyncio.to_thread(run, "load", name, KUBECONFIG=str(config))
        assert code == 0
    assert "outage" not in (await server.client.get(HOSTS, "github.com"))["spec"]


async def test_a_server_with_tls_and_tokens_is_called_by_its_kubeconfig(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("secret,admin,1,system:masters\n")
    tokens.chmod(0o600)
    async with APIServer(tls=True, token_auth_file=tokens) as server:
        config = tmp_path / "kubeconfig"
        config.write_text(server.kubeconfig())
        arguments = "load", "vanished-branch", "--kubeconfig", str(config)
        code, text = await asyncio.to_thread(run, *arguments)
        assert code == 0, text
        assert (await server.client.get(HOSTS, "github.com"))["kind"] == "GitHost"


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("load", "flood"), 2, "there is no scenario 'flood'; there are vanished-branch,"),
        (("load", "outage", "--server", "http://127.0.0.1:1"), 1, "cannot be reached"),
        (("load", "outage", "--server", "ftp://x"), 1, "is not the address of a server"),
        (("load", "outage", "--kubeconfig", "/nowhere"), 1, "No such file or directory"),
    ],
    ids=["unknown", "nobody there", "no address", "no kubeconfig"],
)
def test_scenarios_that_cannot_be_loaded_are_named(arguments, code, why):
    found, text = run(*arguments)
    assert (found, why in text) == (code, True), text


async def test_a_server_without_the_worlds_kinds_refuses(tmp_path):
    async with APIServer(modules="none") as server:
        arguments = "load", "outage", "--server", server.url
        code, text = await asyncio.to_thread(run, *arguments)
    assert code == 1
    assert "refuses GitHost github.com: 404 page not found" in text


async def test_a_server_begins_with_a_scenario():
    async with APIServer(offline=True, scenario="rate-limit") as server:
        assert (await server.client.get(HOSTS, "github.com"))["spec"]["outage"] == {"code": 429}


def test_a_scenario_takes_the_worlds_kinds():
    with pytest.raises(BadOption, match="module world"):
        APIServer(modules="none", scenario="outage")


def test_inkube_serve_refuses_an_unknown_scenario():
    result = CliRunner().invoke(main, ["serve", "--scenario", "flood"])
    assert (result.exit_code, "there is no scenario 'flood'" in result.output) == (2, True)
