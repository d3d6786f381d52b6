"""Servers in their own processes: inkube, and a minimal aiohttp handler."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_ADDRESS = re.compile(r"https?://[\w.:]+")
_SCHEDULED = 2
"""Linux's CPUCLOCK_SCHED: with a process id, the clock of the processor time of the process."""


class Server:
    """A process that serves. Memory and processor time are available only on Linux."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self.url = url
        self.port = urlsplit(url).port or 80

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that stays open."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def mib(self) -> float:
        """The resident memory in MiB."""
        return self._memory("VmRSS")

    @property
    def peak_mib(self) -> float:
        """The largest resident memory in MiB since `forget_peak`."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        """Start to measure the peak again."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def _memory(self, name: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"{name}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    @property
    def cpu_seconds(self) -> float:
        """The used processor time in seconds."""
        return cpu_seconds(self._process.pid)


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    return time.clock_gettime((~pid << 3) | _SCHEDULED)


@cache
def _bytecode() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def environment() -> dict[str, str]:
    """Return an environment in which a process compiles modules one time, as after an installation.
    Compiling takes longer than a start, and leaves memory in use."""
    return {
        **os.environ,
        "PYTHONPYCACHEPREFIX": _bytecode().name,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


@contextmanager
def inkube(*options: str, python: str = sys.executable) -> Iterator[Server]:
    """Yield `inkube serve` on a free port, by default in memory. `python` is the interpreter of an
    environment."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["inkube.apiserver.cli", "serve", "--port", "0", "--quiet"]
        command += ["--kubeconfig", f"{folder}/kubeconfig", *(options or ("--in-memory",))]
        with _started(command, python) as server:
            yield server


@contextmanager
def bare(answer: bytes) -> Iterator[Server]:
    """Yield the handler of `benchmarks.bare`, with these bytes as the response to every request."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(answer)
        file.flush()
        with _started(["benchmarks.bare", file.name]) as server:
            yield server


@contextmanager
def _started(command: list[str], python: str = sys.executable) -> Iterator[Server]:
    process = subprocess.Popen(
        [python, "-m", *command], stdout=subprocess.PIPE, text=True, bufsize=1, env=environment()
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            found = _ADDRESS.search(line)
            if found:
                break
        else:
            raise RuntimeError(f"{command[0]} did not start")
        yield Server(process, found[0])
    finally:
        process.terminate()
        process.communicate(timeout=20)


def done(
    *arguments: str,
    python: str = sys.executable,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> tuple[float, float]:
    """Run a Python process in a folder. Returns its processor time and its elapsed time in seconds.
    `variables` replace those of `environment`. Raises RuntimeError if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [python, *arguments],
        env=environment() if variables is None else variables,
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began


FLOOR = "import aiohttp.web"
"""The minimum for a server in Python with aiohttp. Other results are multiples of it."""


def floor() -> float:
    """Return the processor seconds of a process that imports `aiohttp.web` and ends."""
    return done("-c", FLOOR)[0]


def ask(connection: http.client.HTTPConnection, request: "Request") -> bytes:
    """Send one request, and return the body of the response. Raises RuntimeError if it fails."""
    connection.request(request.method, request.path, request.body or None, request.headers)
    response = connection.getresponse()
    body = response.read()
    if response.status >= 300:
        raise RuntimeError(f"{request.method} {request.path}: {response.status} {body[:500]!r}")
    return body


def timed(connection: http.client.HTTPConnection, request: "Request") -> tuple[float, bytes]:
    """Send one request. Returns the seconds until the end of the response, and its body."""
    started = time.perf_counter()
    body = ask(connection, request)
    return time.perf_counter() - started, body


class Request:
    """One request: method, path, body (an object, or None), its media type, and the accepted ones
    if they are not any."""

    def __init__(
        self,
        method: str,
        path: str,
        value: Any = None,
        media: str = "application/json",
        accept: str = "",
    ) -> None:
        self.method = method
        self.path = path
        self.body = b"" if value is None else json.dumps(value).encode()
        self.headers = {"Content-Type": media} if self.body else {}
        if accept:
            self.headers["Accept"] = accept

    @property
    def raw(self) -> bytes:
        """The bytes of the request."""
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: localhost\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        if self.body:
            head += f"Content-Length: {len(self.body)}\r\n"
        return head.encode() + b"\r\n" + self.body
