"""Reasons why a server cannot start, each with a remedy. Loaded when a start fails."""

import errno
import os
from collections.abc import Iterator

import click

from inkube.apiserver.access import security
from inkube.apiserver.commands import failures, ports
from inkube.apiserver.configuration import Options
from inkube.apiserver.http import is_loopback
from inkube.storage import errors as storage_errors

TROUBLE = 1
"""The exit code of a failed command or a negative result; click's for a wrong command line is 2."""


class Problem(click.ClickException):
    """An error of a command, followed by remedies."""

    exit_code = TROUBLE

    def __init__(self, message: str, remedies: Iterator[str]) -> None:
        super().__init__(message)
        self.remedies = tuple(remedies)

    def format_message(self) -> str:
        """Return the message and a line for every remedy."""
        return "\n".join([self.message, *(f"  {remedy}" for remedy in self.remedies)])


def of_start(error: Exception, options: Options) -> Problem:
    """Return the reason why a server did not start."""
    if isinstance(error, OSError) and _is_port_in_use(error):
        who = ports.holder(options.port)
        text = f"port {options.port} of {options.host} is taken"
        return Problem(f"{text} by {who}" if who else text, _other_port(options))
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return Problem(failures.text(error), _another_folder(error))
    return Problem(failures.text(error), _remedies(error, options))


def _is_port_in_use(error: OSError) -> bool:
    return error.errno == errno.EADDRINUSE or getattr(error, "winerror", 0) == 10048


def _other_port(options: Options) -> Iterator[str]:
    free = ports.free(options.host, options.port)
    if free:
        yield f"--port {free} is free; --port 0 takes any that is"
    yield "or end what listens there, which may be an inkube of yours"


def _another_folder(error: OSError) -> Iterator[str]:
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        yield "inkube writes a kubeconfig and its data to the current folder:"
        yield "name other places with --kubeconfig FILE and --data FILE, or use --in-memory"


def _remedies(error: Exception, options: Options) -> Iterator[str]:
    match error:
        case storage_errors.NotOurs():
            yield "nothing was changed; name another file with --data, or use --in-memory"
        case storage_errors.NewerSchema():
            yield "update inkube, or name another file with --data"
        case storage_errors.Locked():
            yield "end the process that writes to it, or name another file with --data"
        case storage_errors.Unavailable() if options.data is not None:
            folder = options.data.absolute().parent
            if not folder.is_dir():
                yield f"there is no folder {folder}: make it, or name another file with --data"
            elif not os.access(folder, os.W_OK):
                yield f"you cannot write to {folder}: name another file with --data, or use"
                yield "--in-memory; --kubeconfig FILE names the place of the kubeconfig"
        case ValueError() if not security.has_credentials(options):
            if not is_loopback(options.host):
                yield 'echo "$(openssl rand -hex 16),me,1,system:masters" > tokens.csv'
                yield f"inkube serve --host {options.host} --tls --token-auth-file tokens.csv"
