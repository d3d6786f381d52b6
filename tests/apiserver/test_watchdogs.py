"""Programs end with the process that started them, also after SIGKILL."""

import contextlib
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

import inkube
from inkube.apiserver.watchdogs import Watchdog

APISERVER = Path(inkube.__path__[0]) / "apiserver"
SLEEPS = [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"]
STARTS = """
import subprocess, sys
from inkube.apiserver.watchdogs import Watchdog

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
watchdog = Watchdog(child.pid)
print(flush=True)
child.wait()
"""
IMPORTS = """
import asyncio, sys
from inkube.apiserver.commands import importing

asyncio.run(importing.problem("endless", sys.argv[1]))
"""
ENDLESS = """
import sys

with open(sys.argv[-2] + "/started", "w") as pipe:
    print("started", file=pipe, flush=True)
    while True:
        pass
"""
pytestmark = pytest.mark.skipif(not Path("/bin/sh").exists(), reason="needs a shell")


def check_ends(pipe):
    assert select.select([pipe], [], [], 60)[0], "a process holds it open"
    assert pipe.read() == b"", "the end"


def test_a_program_ends_with_the_process_that_started_it():
    command = [sys.executable, "-c", STARTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        check_ends(process.stdout)


def test_a_program_continues_after_the_end_of_its_watchdog():
    with subprocess.Popen(SLEEPS, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with contextlib.closing(Watchdog(process.pid)) as watchdog:
            pass
        watchdog.close()
        assert process.poll() is None
        process.kill()


def test_the_import_of_code_ends_with_the_process_that_waits_for_it(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    os.mkfifo(tmp_path / "started")
    command = [sys.executable, "-c", IMPORTS, str(tmp_path)]
    with (
        subprocess.Popen(command) as process,
        (tmp_path / "started").open("rb", buffering=0) as pipe,
    ):
        pipe.readline()
        process.kill()
        check_ends(pipe)


def test_every_room_that_starts_a_program_gives_it_a_watchdog():
    starting = [
        path
        for path in APISERVER.rglob("*.py")
        if "create_subprocess_" in (text := path.read_text()) or "Popen(" in text
    ]
    assert starting
    assert [path for path in starting if "Watchdog" not in path.read_text()] == []
