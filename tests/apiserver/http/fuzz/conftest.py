"""`inkube serve` in its own process, with access to its log and memory."""

import http.client
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import served
from patience import SECONDS

import inkube

HOME = str(Path(inkube.__path__[0]).absolute().parent)
SERVE = [sys.executable, "-m", "inkube.apiserver.cli", "serve", "--port", "0", "--quiet"]
BOATS = "/apis/example.com/v1/namespaces/default/boats"

# Requests by which is loaded what is loaded when it is first needed. A module with more kinds,
# whose tables of bounded size fill later, has a WARM_UP of its own.
WARM_UP = 2_000
HISTORY = 8_192  # changes that the watch cache keeps; of a KiB each they fill what is kept decoded
GROWTH = 1.10  # the gaps between allocations grow for a while; what clients send must not stay


@dataclass(frozen=True)
class Apart:
    """A running server in its own process."""

    url: str
    pid: int

    @property
    def port(self):
        return int(self.url.rpartition(":")[2])

    @property
    def work(self):
        """The seconds of processor time of the server only; Linux only."""
        return served.cpu(self.pid) if sys.platform == "linux" else 0.0

    @property
    def memory(self):
        """Resident MiB; Linux only."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


class Memory:
    """Compares a server's memory with its value after the warm-up. Short runs prove nothing."""

    def __init__(self, server, rounds, warm_up):
        self._server, self._warm_up = server, warm_up
        self._measures = rounds >= 5 * warm_up and sys.platform == "linux"
        self._before = None
        if self._measures:
            fill(server.port)

    def due(self, number):
        """Return whether the warm-up ends with this round."""
        return self._measures and self._before is None and number >= self._warm_up

    def begin(self):
        """End the warm-up, and delete everything it stored."""
        self._before = self._server.memory

    def check(self):
        """Delete everything stored, and check that memory grew little."""
        if self._before is not None:
            after = self._server.memory
            print(f"\nmemory after the warm-up {self._before:.1f} MiB, at the end {after:.1f} MiB")
            assert after <= self._before * GROWTH


def fill(port):
    """Fill the server's bounded caches of the past."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def ask(method, path, body=None):
        headers = {"Content-Type": f"application/{'merge-patch+' if method == 'PATCH' else ''}json"}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        assert answer.read()
        assert answer.status < 300

    head = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "fill"}}
    nested = {f"deck{number}": [number, {"cabin": "a"}] for number in range(20)}
    ask("POST", BOATS, {**head, "spec": {"any": nested}})
    for number in range(HISTORY):
        ask("PATCH", f"{BOATS}/fill", {"spec": {"size": number % 900}})
    ask("DELETE", f"{BOATS}/fill")
    connection.close()


@pytest.fixture(scope="module")
def apart(boat_crd, tmp_path_factory):
    """A server with the kind Boat that stores on disk; it must log no warnings or errors."""
    folder = tmp_path_factory.mktemp("apart")
    (folder / "boat.json").write_text(json.dumps(boat_crd))
    errors = folder / "errors.log"
    with errors.open("w") as log, _running(folder, log) as process:
        line = process.stdout.readline()
        yield Apart(re.fullmatch(r"inkube serves on (\S+)\n", line)[1], process.pid)
        assert process.poll() is None, "it ended by itself"
    text = errors.read_text()
    assert not text, text


@contextmanager
def _running(folder, log):
    options = ["--data", "data.db", "--no-fsync", "--definitions", "boat.json"]
    with subprocess.Popen(
        [*SERVE, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": HOME},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture
def memory(apart, request):
    warm_up = getattr(request.module, "WARM_UP", WARM_UP)
    return Memory(apart, int(os.environ.get("INKUBE_FUZZ", "0")), warm_up)
