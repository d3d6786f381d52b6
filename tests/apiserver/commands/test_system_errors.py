"""Errors of the system are one sentence, with the file and the reason: no traceback, no number."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from inkube.apiserver.cli import main
from inkube.apiserver.commands import failures

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
COMMANDS = {
    "capture new.db --kubeconfig missing": "File 'missing' does not exist.",
    "plan -f map.yaml --from-cluster a --kubeconfig missing": "File 'missing' does not exist.",
    "world load outage --kubeconfig missing": "missing: No such file or directory",
    "world load outage --kubeconfig binary": "binary is not a kubeconfig",
    "world load outage --kubeconfig map.yaml": "map.yaml is not a kubeconfig",
    "import map.yaml --data missing/new.db": "missing/new.db: no such file or directory",
    "import map.yaml --data map.yaml/new.db": "map.yaml/new.db: not a directory",
    "example boats map.yaml/boats": "map.yaml/boats: not a directory",
    "diff map.yaml missing.yaml": "'missing.yaml' does not exist, and is neither a revision nor",
    "log --data missing.db": "missing.db does not exist; name the data",
    "snapshot save missing/new.db --data missing.db": "missing.db does not exist; name the data",
    "plan -f missing.yaml": "inkube.db: no such file",
    "validate missing.yaml": "missing.yaml: no such file or folder",
    "explore missing.yaml": "File 'missing.yaml' does not exist.",
    "envtest-assets map.yaml/assets": "map.yaml/assets: not a directory",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with an object, and a file that is no text."""
    (tmp_path / "map.yaml").write_text(CONFIG_MAP)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_read_or_written_is_named_with_the_reason(folder, command):
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit), done.exception
    assert COMMANDS[command] in done.stderr
    assert "Errno" not in done.stderr
    assert sorted(each.name for each in folder.iterdir()) == ["binary", "map.yaml"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a.db"), "a.db: permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on device"),
        (FileNotFoundError(errno.ENOENT, "No such file", b"a\xff"), "a\ufffd: no such file"),
        (FileNotFoundError("a.db: no such file"), "a.db: no such file"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_texts_of_errors(error, text):
    assert failures.text(error) == text


def inkube(*words, folder, **options):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "inkube", *words]
    return subprocess.run(command, cwd=folder, text=True, check=False, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("validate", "-o", "json", "map.yaml"), 2, "the report cannot be written: no space left"),
        (("definitions", "export"), 1, "no space left on device"),
    ],
)
def test_output_that_cannot_be_written_is_not_a_finding(folder, words, code, text):
    with open("/dev/full", "w") as full:
        done = inkube(*words, folder=folder, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == code
    assert done.stderr == f"Error: {text}{' on device' if code == 2 else ''}\n"


@pytest.mark.skipif(os.name == "nt", reason="needs pipes of POSIX")
def test_a_reader_that_ends_early_is_no_error(folder):
    read, write = os.pipe()
    os.close(read)
    words = "definitions", "export"
    done = inkube(*words, folder=folder, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="needs descriptors of POSIX")
@pytest.mark.parametrize("words", ["validate -", "import - --data new.db", "diff - -"])
def test_a_closed_standard_input_is_named(folder, words):
    line = f'exec "$0" -m inkube {words} <&-'
    command = ["sh", "-c", line, sys.executable]
    done = subprocess.run(command, cwd=folder, text=True, check=False, capture_output=True)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    if not words.startswith("diff"):
        assert "standard input is closed" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs signals of processes")
@pytest.mark.parametrize(
    ("code", "returned"),
    [
        # in an import of the command line, as long as it is loaded
        ("sys.meta_path.insert(0, Finder()); main()", -signal.SIGINT),
        # in a command
        ("sys.argv = ['inkube', 'validate', '.']; validate.run = interrupt; main()", 130),
    ],
)
def test_an_interrupt_ends_a_command_without_a_traceback(folder, code, returned):
    program = f"""
import os, signal, sys
from inkube.__main__ import main
from inkube.apiserver import validate
def interrupt(*given): os.kill(os.getpid(), signal.SIGINT)
class Finder:
    def find_spec(self, name, *given):
        if name == "click":
            interrupt()
{code}
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, text=True, check=False, capture_output=True)
    assert done.returncode == returned, done.stderr
    assert done.stderr == ("" if returned < 0 else "interrupted\n")
