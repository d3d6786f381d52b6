"""`inkube serve` in its own process, for tests that measure, stop or kill it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import patience

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
LONG = os.environ.get("INKUBE_EXAMS") == "long"
"""Whether the long tests (exams) run in full: `make exams`."""


def cpu(pid: int) -> float:
    """Return the seconds of processor time that a process has used; Linux only."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(text[11]) + int(text[12])) / TICKS


class Answer(NamedTuple):
    """A response with its whole body."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A server process; `with Served(...)` starts it and ends it."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        port: int = 0,
        program: Sequence[str] = (sys.executable, "-m", "inkube.apiserver.cli"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = [
            *program, "serve", "--port", str(port), "-q",
            "--kubeconfig", str(folder / "kubeconfig"), *arguments,
        ]  # fmt: skip
        self._environment = environment
        self._log = folder / "serve.log"
        self.port = port

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, env=self._environment
            )
        assert self.process.stdout is not None
        first = self.process.stdout.readline().decode()
        if "serves on" not in first:
            self.kill()
            self.process.stdout.close()
            raise RuntimeError(f"the server did not start: {self.log}")
        self.port = int(first.rsplit(":", 1)[1])
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(patience.SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        """Its output on stderr."""
        return self._log.read_text(errors="replace")

    @property
    def resident(self) -> float:
        """Its resident memory in MiB."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * PAGE / 2**20

    @property
    def cpu(self) -> float:
        """The seconds of processor time that it has used."""
        return cpu(self.process.pid)

    def connect(self, timeout: float = patience.SECONDS) -> http.client.HTTPConnection:
        """Return a keep-alive connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request over a new connection. A body that is not bytes is sent as JSON."""
        with contextlib.closing(self.connect()) as connection:
            return ask(connection, method, path, body, **headers)


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Any = None,
    **headers: str,
) -> Answer:
    """Send a request; `Content_Type="…"` is a header."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if data is not None:
        named.setdefault("Content-Type", "application/json")
    connection.request(method, path, data, named)
    response = connection.getresponse()
    return Answer(response.status, dict(response.getheaders()), response.read())
