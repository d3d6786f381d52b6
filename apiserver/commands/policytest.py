"""`inkube test`: the tests of admission policies in files."""

import sys

import click

from inkube.apiserver import validate
from inkube.apiserver.validate import InputError


class _InputProblem(click.ClickException):
    exit_code = 2


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option(
    "--require-coverage",
    is_flag=True,
    help="Fail if a condition of a policy was never true, or never false.",
)
def test_command(paths: tuple[str, ...], *, require_coverage: bool) -> None:
    """Run the tests of admission policies in PATH, files or folders.

    A test says which objects a policy must refuse, and why. The last lines show the conditions of
    policies that no case made true, or false. The exit code is 1 if a test fails.
    """
    try:
        results = validate.policytests.run(paths)
    except InputError as error:
        raise _InputProblem(str(error)) from error
    for each in results.failures:
        click.echo(validate.printable.text(f"{each.file}:{each.line}: {each.name}: {each.why}"))
    for line in results.uncovered:
        click.echo(validate.printable.text(f"not covered: {line}"))
    passed = len(results.outcomes) - len(results.failures)
    covered = len(results.seen) - len(results.uncovered)
    click.echo(
        f"{passed} of {len(results.outcomes)} cases are as expected, "
        f"{covered} of {len(results.seen)} conditions are covered",
        err=True,
    )
    if results.failures or (require_coverage and results.uncovered):
        sys.exit(1)
