"""Imports a module in another process first, because its code can end or stop the process.

`sys.exit()` at the end of a half-written module, `os._exit()`, a crash of an extension, or an
endless loop would take a running server along, and in memory all its data. `reloading` imports a
module only after this process has.
"""

import asyncio
import contextlib
import importlib
import secrets
import subprocess
import sys
import traceback
from pathlib import Path

import click

from inkube.apiserver.watchdogs import Watchdog

SECONDS = 30.0
"""The time limit of an import."""
_COMMAND = "import-module"
_LONGEST = 16 * 1024
"""The number of bytes of the output of a module that are searched for an error."""


@click.command(_COMMAND)
@click.argument("name")
@click.argument("folder")
@click.argument("mark")
def import_module_command(name: str, folder: str, mark: str) -> None:
    """Import a module from a folder, and print MARK if it was imported, or an error."""
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 # also SystemExit
        text = " ".join(describe(error).split("\n"))
        print(f"\n{mark} {text}", file=sys.stderr, flush=True)  # noqa: T201 # the answer
    else:
        print(f"\n{mark}", file=sys.stderr, flush=True)  # noqa: T201 # as above


def describe(error: BaseException) -> str:
    """Return the position in the code of a user, and the error."""
    frames = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if not each.filename.startswith(str(Path(__file__).parent))
        and "importlib" not in each.filename
    ]
    place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"


async def problem(name: str, folder: str) -> str:
    """Import a module in another process, and return why it cannot be imported, or "". That process
    ends if this is cancelled, and with this process."""
    mark = secrets.token_hex(16)
    process = await asyncio.create_subprocess_exec(
        *_program(name, folder, mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        with contextlib.closing(Watchdog(process.pid)):
            async with asyncio.timeout(SECONDS):
                output = await _end_of(process.stderr)
                code = await process.wait()
    except TimeoutError:
        return f"it was not imported within {SECONDS:g} s: is there an endless loop?"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    _, found, text = output.rpartition(mark)
    if not found:
        return f"it ended the process in which it was imported, with code {code}"
    return text.strip()


async def _end_of(stream: asyncio.StreamReader | None) -> str:
    """Return the end of a stream, without keeping all of it."""
    assert stream is not None
    kept = b""
    while part := await stream.read(_LONGEST):
        kept = (kept + part)[-_LONGEST:]
    return kept.decode(errors="replace")


def _program(name: str, folder: str, mark: str) -> list[str]:
    start = [] if getattr(sys, "frozen", False) else ["-m", "inkube"]
    return [sys.executable, *start, _COMMAND, name, folder, mark]
