"""`inkube world`: lists, shows and loads scenarios of the scripted world."""

import os
from pathlib import Path

import click
import yaml

from inkube.apiserver import scenarios
from inkube.apiserver.commands.commonoptions import FILE


@click.group("world")
def world_command() -> None:
    """Use scenarios of the scripted outside world."""


@world_command.command("list")
def list_scenarios() -> None:
    """List the scenarios with a description of each."""
    width = max(map(len, scenarios.SCENARIOS))
    for scenario in scenarios.SCENARIOS.values():
        click.echo(f"{scenario.name:{width}}  {scenario.text}")


@world_command.command()
@click.argument("name")
def example(name: str) -> None:
    """Print an object that shows the effect of a scenario, for kubectl create -f -."""
    click.echo(yaml.safe_dump(scenario_named(name).example, sort_keys=False), nl=False)


@world_command.command()
@click.argument("name")
@click.option("--server", metavar="URL", default="", help="URL of the server.")
@click.option(
    "--kubeconfig",
    type=FILE,
    help="Kubeconfig of the server; default: $KUBECONFIG or inkube.kubeconfig.",
)
def load(name: str, server: str, kubeconfig: Path | None) -> None:
    """Set up the world of a running server. Objects with the same names are replaced."""
    found = scenario_named(name)
    config = kubeconfig or Path(os.environ.get("KUBECONFIG") or "inkube.kubeconfig")
    try:
        remote = scenarios.Remote(server) if server else scenarios.of_kubeconfig(config)
        remote.load(name)
    except scenarios.Unloadable as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{found.name}: {found.text}")
    click.echo(f"try: inkube world example {found.name} | kubectl create -f -")


def scenario_named(name: str, hint: str = "NAME") -> "scenarios.Scenario":
    """Return the scenario with that name. Raises click.BadParameter."""
    try:
        return scenarios.find(name)
    except scenarios.UnknownScenario as error:
        raise click.BadParameter(str(error), param_hint=hint) from error
