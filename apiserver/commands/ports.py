"""The process that listens on a port of this machine, and free ports.

Read from `/proc` on Linux and from `lsof` elsewhere; without either, the process is unknown.
"""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from inkube.apiserver.http import is_loopback

PROC = Path("/proc")
_LISTENS = "0A"
SECONDS = 0.5
"""Time limit in seconds for a server of this machine to accept a connection."""
_NEXT = 100
"""The number of ports after one in use that are tried."""


def holder(port: int) -> str:
    """Return the process that listens on a port, as text: `python (process 42)`; "" if unknown.

    Processes of other users are unknown.
    """
    pid = _of_proc(port) if PROC.joinpath("net", "tcp").exists() else _of_lsof(port)
    return f"{_name(pid)} (process {pid})" if pid else ""


def is_serving(url: str) -> bool:
    """Return whether a process of this machine accepts connections at the address of a URL."""
    parts = urlsplit(url)
    if parts.hostname is None or not is_loopback(parts.hostname):
        return False
    try:
        socket.create_connection((parts.hostname, parts.port or 80), timeout=SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def free(host: str, first: int) -> int:
    """Return the next free port, or 0 if the ports near it are in use."""
    for port in range(first + 1, min(first + _NEXT, 65536)):
        with contextlib.suppress(OSError):
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            with socket.socket(family) as one:
                if os.name != "nt":  # on Windows, this would steal a port in use
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind((host, port))
                return port
    return 0


def _of_proc(port: int) -> int:
    inodes = set(_inodes(port))
    for folder in PROC.iterdir() if inodes else ():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # a process of another user, or one that has ended
            for handle in (folder / "fd").iterdir():
                if os.readlink(handle) in inodes:
                    return int(folder.name)
    return 0


def _inodes(port: int) -> Iterator[str]:
    """Yield the sockets that listen on a port, in the form of links in /proc."""
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in PROC.joinpath("net", name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def _of_lsof(port: int) -> int:
    tool = shutil.which("lsof")
    if tool is None:
        return 0
    command = [tool, "-nP", "-t", f"-iTCP:{port}", "-sTCP:LISTEN"]
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
        done = subprocess.run(  # noqa: S603 # a number and a tool of the system
            command, capture_output=True, text=True, timeout=5, check=False
        )
        return int(done.stdout.split()[0]) if done.stdout.split() else 0
    return 0


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = PROC.joinpath(str(pid), "cmdline").read_bytes().decode(errors="replace")
        names = [Path(word).name for word in words.split("\0") if word]
        # for `python /…/bin/inkube serve`, the second word is the known name
        for name in names[:2]:
            if not name.startswith(("python", "-")):
                return name
        return names[0] if names else "a process"
    return "a process"
