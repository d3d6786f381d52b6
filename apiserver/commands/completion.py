"""`inkube completion`: a script with which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class

_SHELLS = {
    "bash": 'eval "$(inkube completion bash)" in ~/.bashrc',
    "fish": "inkube completion fish > ~/.config/fish/completions/inkube.fish",
    "zsh": 'eval "$(inkube completion zsh)" in ~/.zshrc',
}


@click.command("completion", epilog=" ".join(f"{shell}: {how}." for shell, how in _SHELLS.items()))
@click.argument("shell", type=click.Choice(tuple(_SHELLS)))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print a script for SHELL that completes commands and options after `inkube`."""
    kind = get_completion_class(shell)
    assert kind is not None, "one of click's"
    click.echo(kind(context.find_root().command, {}, "inkube", "_INKUBE_COMPLETE").source())
