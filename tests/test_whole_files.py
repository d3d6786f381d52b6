"""Files for users are written by `storage.wholefiles`: no other code writes files."""

import ast
import errno
import os
from pathlib import Path

import pytest
import writers

from inkube.storage import wholefiles
from inkube.storage.errors import Unavailable

ROOT = Path(__file__).parents[1]
OTHERS = {
    "storage/wholefiles.py": "writes the drafts",
    "storage/files.py": "creates an empty data file, which SQLite then fills in transactions",
    "apiserver/dumps/inputs.py": "copies streams to temporary files without names",
    "storage/reading.py": "copies a data file to a temporary folder of the owner",
    "storage/repair.py": "locks a data file, and links the old one before a whole one replaces it",
    "apiserver/auth/tls.py": "a key for OpenSSL, in a temporary folder of the owner",
    "apiserver/auth/frontproxy.py": "as above",
    "apiserver/http/auditfiles.py": "appends lines to a log, and rotates it",
    "apiserver/commands/terminal.py": "opens /dev/null instead of an output without room",
    "apiserver/explore/controllers.py": "appends the output of a controller to a log",
    "controllers/workloads/kubelet/files.py": "packs an archive in memory",
    "controllers/provisioning/outside/contents.py": "replaces a file in one step, without storage",
}
"""Modules with other writers, and the reasons."""


def test_only_these_modules_write_files() -> None:
    found = {}
    for folder in ("apiserver", "controllers", "schemas", "storage"):
        found |= writers.of_folder(ROOT / folder)
    told = {name: calls for name, calls in found.items() if name not in OTHERS}
    assert not told, "write files with storage.wholefiles"
    assert not OTHERS.keys() - found.keys(), "these modules write no files any more"


@pytest.mark.parametrize(
    "code",
    [
        "open(a, 'w')", "open(a, mode='ab')", "a.open('x')", "a.write_text(b)",
        "a.parent.write_bytes(b)", "os.open(a, os.O_WRONLY)", "os.replace(a, b)",
        "shutil.move(a, b)",
        "tempfile.mkstemp()", "gzip.open(a, 'wt')", "os.link(a, b)", "shutil.copytree(a, b)",
    ],
)  # fmt: skip
def test_code_that_writes_files_is_found(code: str) -> None:
    assert list(writers.writers(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    ["open(a)", "open(a, 'rb')", "a.open('r')", "a.open()", "text.replace(a, b)",
     "urllib.request.urlopen(a)", "copy.copy(a)", "a.read_text()"],
)  # fmt: skip
def test_modules_that_only_read_are_not_reported(code: str) -> None:
    assert not list(writers.writers(ast.parse(code)))


def test_an_error_names_the_file_and_not_its_draft(tmp_path) -> None:
    file = tmp_path / "missing" / "config"
    with pytest.raises(FileNotFoundError) as caught:
        wholefiles.write(file, "text")
    assert caught.value.filename == str(file)


def write_database(path: Path, content: bytes, error: Exception | None = None) -> None:
    with wholefiles.new_database(path) as draft:
        draft.write_bytes(content)
        if error is not None:
            error.args = (f"{draft.absolute()}: database or disk is full",)
            raise error


@pytest.mark.parametrize(
    ("write", "step"),
    [
        (write, step)
        for write, last in (
            (wholefiles.write, "replace"), (wholefiles.create, "link"), (write_database, "link"),
        )
        for step in ("open", "fsync", last)
    ],
)  # fmt: skip
def test_an_error_at_each_step_names_the_file_and_leaves_nothing(
    tmp_path, monkeypatch, write, step
) -> None:
    def fail(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space") as caught:
        write(tmp_path / "file", b"content")
    monkeypatch.undo()
    assert caught.value.filename == str(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_a_device_without_room_is_named() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with pytest.raises(OSError, match="No space") as caught:
        wholefiles.write("/dev/full", "text")
    assert caught.value.filename == "/dev/full"


def test_an_error_of_a_new_database_names_it_and_leaves_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unavailable) as caught:
        write_database(Path("a.db"), b"content", Unavailable())
    assert str(caught.value) == f"{tmp_path / 'a.db'}: database or disk is full"
    assert not list(tmp_path.iterdir())
