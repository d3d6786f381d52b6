"""Kills a program that writes files: before accesses to files and just after the last of them, and
at calls of functions.

`python killed.py JOB FOLDER` runs a job once in FOLDER/whole, and then in FOLDER/0, FOLDER/1 … in
processes that end without any cleanup, as after SIGKILL. It prints the number of these processes.
"""

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Any

from inkube.apiserver.access import kubeconfig
from inkube.apiserver.auth import keyfiles
from inkube.apiserver.capture import capture
from inkube.apiserver.capture.cluster import ListPage
from inkube.apiserver.cli import main

EVENTS = frozenset({
    "open", "os.chmod", "os.link", "os.remove", "os.rename", "os.truncate", "sqlite3.connect",
    "shutil.copyfile",
})  # fmt: skip
POINTS = 200 if os.environ.get("INKUBE_EXAMS") == "long" else 6
"""The number of kills at accesses to files, and at calls of functions; both are spread over the
job."""

LAST, AFTER = 3, (1, 2, 4)
"""The number of last accesses, and the calls after each of them that are kills, too: a file that
was just opened is empty."""


def command(*words):
    try:
        main([str(word) for word in words], standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(words) from end


class Namespaces:
    """A cluster with a hundred namespaces and nothing else."""

    async def list(self, address):
        if address.plural != "namespaces":
            return ListPage([], "1")
        named = [{"metadata": {"name": f"n-{number}", "uid": str(number)}} for number in range(100)]
        return ListPage([{"apiVersion": "v1", "kind": "Namespace", **each} for each in named], "1")


def captured(folder):
    cluster: Any = Namespaces()
    file, scope = folder / "made.db", capture.CaptureScope()
    asyncio.run(capture.capture(cluster, file, scope, report=lambda line: None))


SOURCE = Path(os.environ["INKUBE_SOURCE"])
"""The data file from which jobs read."""
JOBS = {
    "save": lambda folder: command("snapshot", "save", folder / "made.db", "--data", SOURCE),
    "restore": lambda folder: command("snapshot", "restore", SOURCE, "--data", folder / "made.db"),
    "page": lambda folder: command("snapshot", "page", SOURCE, folder / "made.html"),
    "capture": captured,
    "definitions": lambda folder: command("definitions", "export", "--docs", folder),
    "assets": lambda folder: command("envtest-assets", folder),
    "example": lambda folder: command("example", "chaos", folder),
    "key": lambda folder: keyfiles.load(folder / "made.db", "tokens.key", b"key" * 100),
    "kubeconfig": lambda folder: kubeconfig.write(folder / "made", kubeconfig.render(
        kubeconfig.Access("https://127.0.0.1:1", "token", b"authority" * 1000))),
}  # fmt: skip


class Counter:
    """Counts events and calls, and ends the process at one of them."""

    def __init__(self, folder, event=-1, call=-1):
        self.folder = str(folder)
        self.events = self.calls = 0
        self.heard: list[int] = []
        """The number of calls before each event."""
        self._event, self._call = event, call
        self.is_on = True

    def hear(self, event, arguments):
        if self.is_on and event in EVENTS and self.folder in str(arguments[:2]):
            if self.events == self._event:
                os._exit(9)
            self.events += 1
            self.heard.append(self.calls)

    def profile(self, frame, event, argument):
        if self.is_on:
            if self.calls == self._call:
                os._exit(9)
            self.calls += 1

    def run(self, job):
        sys.addaudithook(self.hear)
        if self._event < 0:
            threading.setprofile(self.profile)
            sys.setprofile(self.profile)
        try:
            job(Path(self.folder))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self.is_on = False


def _spread(count):
    """At most POINTS numbers below a count, with the last ones, where files get their names."""
    last = range(max(0, count - POINTS // 2), count)
    return sorted({*last, *(count * number // POINTS for number in range(POINTS))})


def run_all(job, folder):
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 # to the end of the process
    folders = iter(range(10_000))

    def place(name):
        made = folder / str(name)
        made.mkdir()
        return made

    job(place("warm"))  # loads every module
    counter = Counter(place("whole"))
    counter.run(job)
    points = [{"event": number} for number in _spread(counter.events)]
    near = {first + later for first in counter.heard[-LAST:] for later in AFTER}
    points += [{"call": number} for number in sorted({*_spread(counter.calls), *near})]
    for point in points:
        where = place(next(folders))
        child = os.fork()
        if not child:
            try:
                Counter(where, **point).run(job)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    print(len(points), file=sys.__stdout__)


if __name__ == "__main__":
    run_all(JOBS[sys.argv[1]], Path(sys.argv[2]))
