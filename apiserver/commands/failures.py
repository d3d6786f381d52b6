"""Errors of what a command calls, as the last line that its user reads."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from inkube.storage import StorageError

INTERRUPTED = 130
"""The exit code of a command that was interrupted, as in shells: others say what was found."""


def text(error: BaseException) -> str:
    """Return what went wrong, as a sentence: for an error of the system, the file and the reason,
    without its number."""
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        return reason if error.filename is None else f"{_name(error.filename)}: {reason}"
    return str(error) or type(error).__name__


def _name(file: object) -> str:
    return file.decode(errors="replace") if isinstance(file, bytes) else str(file)


@contextmanager
def reported(*kinds: type[Exception], about: str = "") -> Iterator[None]:
    """End the command with exit code 1 and the text of an error of storage, of the system, or of
    these kinds. `about` comes before the text. A reader of the output that has ended is no
    error to report: click ends the command."""
    shown: tuple[type[Exception], ...] = (StorageError, OSError, *kinds)
    try:
        yield
    except BrokenPipeError:
        raise
    except shown as error:
        found = text(error)
        raise click.ClickException(f"{about}: {found}" if about else found) from error
