"""The output of a starting server on a terminal: its progress, and the next commands.

Only terminals get colours and progress bars, and none gets colours if NO_COLOR is set. Output to
pipes is plain text.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO

import click

from inkube.apiserver.commands import failures
from inkube.apiserver.discovery import Stage

logger = logging.getLogger(__name__)

PATIENCE = 1.0
"""The time in seconds after which a start shows its progress."""
OFTEN, SELDOM = 0.1, 5.0
"""Seconds between two updates of a progress bar, and between two lines of a log."""
WIDTH = 30


def has_colours(stream: TextIO) -> bool:
    """Return whether to print colours: on a terminal, unless NO_COLOR is set (no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def print_line(line: str) -> None:
    """Print a line of a server. If standard output takes none, because its reader has ended or its
    disk is full, the server goes on, and prints nothing more."""
    try:
        click.echo(line)
    except OSError as error:
        logger.warning("nothing more is printed to standard output: %s", failures.text(error))
        with contextlib.suppress(OSError):  # one of a test has no file
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


@contextlib.asynccontextmanager
async def print_progress(stage: Callable[[], Stage | None]) -> AsyncIterator[None]:
    """During the block, show the progress if it takes long."""
    shown = asyncio.create_task(_bar(stage) if sys.stderr.isatty() else _lines(stage))
    try:
        yield
    finally:
        shown.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await shown


async def _bar(stage: Callable[[], Stage | None]) -> None:
    await asyncio.sleep(PATIENCE)
    try:
        while True:
            now = stage()
            if now is not None:
                click.echo(f"\r\x1b[K{picture(now)}", nl=False, err=True)
            await asyncio.sleep(OFTEN)
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def picture(stage: Stage) -> str:
    """Return one line of a progress bar, for terminals of at least 80 columns."""
    fraction = stage.fraction
    if fraction is None:
        return str(stage)
    done = round(fraction * WIDTH)
    bar = "█" * done + "░" * (WIDTH - done)
    return f"{stage.description} {bar} {fraction:4.0%}  {stage.detail}"


async def _lines(stage: Callable[[], Stage | None]) -> None:
    await asyncio.sleep(PATIENCE)
    while True:
        now = stage()
        if now is not None and now.fraction is not None:
            logger.info("%s", now)
        await asyncio.sleep(SELDOM)


def welcome(
    url: str,
    kubeconfig: Path,
    *,
    storage_text: str,
    authority: Path | None,
    has_token: bool,
    about: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the URL of the server and the commands to try next, ready to paste. `about` are
    sentences about what is served."""
    bold = {"bold": True} if has_colours(sys.stdout) else {}
    yield f"inkube serves on {click.style(url, fg='green', **bold) if bold else url}"
    yield f"kubeconfig: {kubeconfig}"
    yield storage_text
    yield f"console: {url}/console/"
    yield from about
    yield "try next, in another terminal:"
    for line in _next(url, kubeconfig.absolute(), authority, has_token=has_token):
        yield f"  {click.style(line, fg='cyan') if bold else line}"
    yield "Ctrl+C stops it."


def _next(url: str, kubeconfig: Path, authority: Path | None, *, has_token: bool) -> Iterator[str]:
    windows = os.name == "nt"
    yield _assign("KUBECONFIG", str(kubeconfig), windows=windows)
    yield _assign("URL", url, windows=windows)
    curl = "curl.exe" if windows else "curl"
    if authority is not None:
        curl += f" --cacert {_quoted(str(authority.absolute()), windows=windows)}"
    if has_token:
        token = r"""$(sed -n 's/^ *token: "\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$KUBECONFIG")"""
        if windows:
            token = "$(kubectl config view --raw -o 'jsonpath={.users[0].user.token}')"
        curl += f' -H "Authorization: Bearer {token}"'
    if not has_token or url.startswith("https:"):  # kubectl sends tokens only over TLS
        yield "kubectl get namespaces"
    yield f'{curl} "$URL/apis"'


def _assign(name: str, value: str, *, windows: bool) -> str:
    """Return an assignment to an environment variable, in PowerShell or in a Unix shell."""
    quoted = _quoted(value, windows=windows)
    return (
        f"$env:{name} = {quoted}; ${name} = $env:{name}" if windows else f"export {name}={quoted}"
    )


def _quoted(value: str, *, windows: bool) -> str:
    """Return a text as one word of PowerShell or of a Unix shell."""
    special = '"$`' if windows else '"$`\\'
    escape = "`" if windows else "\\"
    return '"' + "".join(escape + each if each in special else each for each in value) + '"'
