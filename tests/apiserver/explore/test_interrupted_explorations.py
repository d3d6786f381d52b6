"""A signal ends an exploration, its controllers and its files, and keeps what was found. After
SIGKILL, the controllers end, too."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inkube.apiserver.commands import failures

OBJECT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: colours}
"""
CREATES_ONCE = """
import json, os, re, sys, urllib.request

folder, text = sys.argv[1], open(os.environ["KUBECONFIG"]).read()
server = re.search(r"server: \\W?(http[^'\\"\\s]+)", text).group(1)
core = server + "/api/v1/namespaces/default/"
with open(os.path.join(folder, "pids"), "a") as pids:
    print(os.getpid(), file=pids)
for line in urllib.request.urlopen(core + "configmaps?watch=1"):
    event = json.loads(line)
    if event["type"] == "ADDED" and event["object"]["metadata"]["name"] == "colours":
        body = json.dumps({"metadata": {"name": "copy"}}).encode()
        header = {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(core + "secrets", body, header))
"""
HAS_CHILD = """
import subprocess, sys

sleeping = [sys.executable, "-c", "import time; time.sleep(1000)"]
pipe = open(sys.argv[1] + "/pids", "w")  # both processes hold it open
child = subprocess.Popen(sleeping, stdout=pipe)
print(child.pid, file=pipe, flush=True)
child.wait()
"""
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals of processes")


@pytest.fixture
def started(tmp_path):
    """Return the function that starts an exploration of the program in a folder of its own."""
    (tmp_path / "object.yaml").write_text(OBJECT)
    (tmp_path / "controller.py").write_text(CREATES_ONCE)
    (tmp_path / "temporary").mkdir()
    running = []

    def start(*options):
        options = options or ("--objects", "object.yaml")
        command = [sys.executable, "-m", "inkube", "explore", *options]
        process = subprocess.Popen(
            [*command, "--", sys.executable, "controller.py", str(tmp_path)],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def check_nothing_is_left(folder):
    assert list((folder / "temporary").iterdir()) == []
    for pid in (folder / "pids").read_text().split():
        assert not Path("/proc", pid, "cmdline").exists()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_controllers(started, tmp_path, number):
    os.mkfifo(tmp_path / "pids")  # to open it waits for the controller
    process = started()
    pid = (tmp_path / "pids").read_text()
    (tmp_path / "pids").unlink()
    (tmp_path / "pids").write_text(pid)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == failures.INTERRUPTED, errors
    assert "Traceback" not in errors
    assert "0 findings" in output
    check_nothing_is_left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGKILL", None)])
@pytest.mark.parametrize("options", [("--objects", "object.yaml"), ("--suite",)])
def test_children_of_a_controller_and_of_a_suite_end_with_an_exploration(
    started, tmp_path, number, options
):
    (tmp_path / "controller.py").write_text(HAS_CHILD)
    os.mkfifo(tmp_path / "pids")
    process = started(*options)
    with (tmp_path / "pids").open("rb", buffering=0) as pipe:
        assert int(pipe.readline())
        process.send_signal(number)
        assert select.select([pipe], [], [], 60)[0], "a process holds it open"
        assert pipe.read() == b"", "the end"


def test_what_was_found_before_an_interrupt_is_reported_and_saved(started, tmp_path):
    plans = ("--only", "crash after create *", "--only", "5?? for *")
    process = started("--objects", "object.yaml", *plans, "--output", "found")
    assert process.stderr is not None
    progress = []
    while not any("FAILED" in line for line in progress):
        progress.append(line := process.stderr.readline())
        assert line, (progress, process.stdout and process.stdout.read())
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "FAILED crash after create secrets/copy #1" in output
    assert "left out: interrupted" in output
    assert sorted(each.suffix for each in (tmp_path / "found").iterdir()) == [
        ".db", ".html", ".py", ".yaml",
    ]  # fmt: skip
    check_nothing_is_left(tmp_path)
