"""Errors of what a command calls, as the last line that its user reads."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from inkube.storage import StorageError


@contextmanager
def reported(*kinds: type[Exception], about: str = "") -> Iterator[None]:
    """End the command with exit code 1 and the text of an error of storage, of the system, or of
    these kinds. `about` comes before the text."""
    shown: tuple[type[Exception], ...] = (StorageError, OSError, *kinds)
    try:
        yield
    except shown as error:
        raise click.ClickException(f"{about}: {error}" if about else str(error)) from error
