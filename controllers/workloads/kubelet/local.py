"""Access of KWOK's kinds to this machine: files, programs and addresses. Off unless allowed."""

import asyncio
import os
from pathlib import Path
from typing import Any

from inkube.client import Object
from inkube.controllers.workloads.kubelet.logbook import LARGEST
from inkube.kinds import status

PIECE = 32 * 1024


def tail(path: Path) -> bytes:
    """Return the last MiB (LARGEST) of a file. Raises StatusError 404 if it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - LARGEST, 0))
            return file.read(LARGEST)
    except OSError as error:
        raise status.StatusError(
            404, status.Reason.NOT_FOUND, f"{path}: {error.strerror}"
        ) from error


async def run(how: Object, command: list[str], process: Any) -> int:
    """Run a program with the streams of the process. Returns its exit code.

    Raises StatusError if the program cannot be started.
    """
    who = how.get("securityContext") or {}
    envs = {one["name"]: one.get("value", "") for one in how.get("envs") or ()}
    try:
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=how.get("workDir") or None,
            env={**os.environ, **envs},
            user=who.get("runAsUser"),
            group=who.get("runAsGroup"),
        )
    except (OSError, ValueError) as error:
        raise status.unknown(f"{command[0]} cannot be run: {error}") from error
    streams = asyncio.gather(
        _copy(child.stdout, process, is_error=False), _copy(child.stderr, process, is_error=True)
    )
    feeding = asyncio.ensure_future(_feed(child, process))
    try:
        await streams
        return await child.wait()
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _copy(reader: asyncio.StreamReader | None, process: Any, *, is_error: bool) -> None:
    assert reader is not None, "all streams are pipes"
    while data := await reader.read(PIECE):
        await process.write(data, is_error=is_error)


async def _feed(child: asyncio.subprocess.Process, process: Any) -> None:
    assert child.stdin is not None, "all streams are pipes"
    try:
        while data := await process.read():
            child.stdin.write(data)
            await child.stdin.drain()
    except ConnectionError:
        return
    finally:
        child.stdin.close()


async def forward(group: Object, side: Any) -> None:
    """Connect to the address that PortForward names. Raises StatusError, also for a command."""
    target = group.get("target")
    if target is None:
        raise status.unknown("not supported: forwards by a command; name a target")
    try:
        reader, writer = await asyncio.open_connection(
            target.get("address") or "127.0.0.1", target["port"]
        )
    except OSError as error:
        raise status.unknown(f"connection refused: {error}") from error

    async def send() -> None:
        while data := await side.read():
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    sending = asyncio.ensure_future(send())
    try:
        while data := await reader.read(PIECE):
            await side.write(data)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()
