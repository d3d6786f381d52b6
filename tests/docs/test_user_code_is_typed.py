"""Type checkers of users check user code against the types that inkube publishes."""

import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pages
import pytest
from patience import SECONDS

import inkube

GREENHOUSE = pages.ROOT / "examples" / "greenhouse"
HOME = Path(inkube.__path__[0]).absolute().parent
MISTAKES = """
from inkube import APIServer
from inkube.kinds import KindModule, Model, Resource, Work


class ParcelSpec(Model):
    weight: int


class Parcel(Resource, group="example.com", version="v1"):
    spec: ParcelSpec


KindModule(Parcel, work="nothing")
Work(do=3)
KindModule(Parcel).modle
server: int = APIServer()
APIServer(prot=1)
APIServer(port="abc")
"""
"""Each of the last six lines has a type error."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Annotated user code: a module of kinds, and its tests."""
    for path in GREENHOUSE.glob("*.py"):
        shutil.copy(path, tmp_path)
    return tmp_path


def mypy(folder: Path, *files: str) -> "subprocess.CompletedProcess[str]":
    if util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder / "cache", *files],
        cwd=folder, env={**os.environ, "MYPYPATH": str(HOME)}, capture_output=True, text=True,
        timeout=4 * SECONDS, check=False,
    )  # fmt: skip


@pytest.mark.timeout(600)
def test_mypy_accepts_a_program_and_finds_the_mistakes_of_another(program: Path) -> None:
    done = mypy(program, "greenhouse.py", "test_greenhouse.py")
    assert done.returncode == 0, done.stdout
    (program / "mistakes.py").write_text(MISTAKES)
    done = mypy(program, "mistakes.py")
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert lines == {14, 15, 16, 17, 18, 19}, done.stdout


@pytest.mark.timeout(600)
def test_pyright_accepts_a_program(program: Path) -> None:
    if util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright, which is pyright with its own node, is not installed")
    (program / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, program],
        cwd=program, capture_output=True, text=True, timeout=4 * SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
