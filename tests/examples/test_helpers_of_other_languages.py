"""The tests of examples/go, if its toolchain is installed; `test_walks` runs those of
examples/node."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import patience
import pytest

EXAMPLES = pages.ROOT / "examples"
SECONDS = 5 * patience.SECONDS


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment variables with which the program `inkube` is that of this tree."""
    program = tmp_path / "inkube"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m inkube "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "INKUBE": str(program)}


def run(environment: dict[str, str], folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, timeout=SECONDS,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_helper_for_go_starts_and_stops_a_server(
    environment: dict[str, str], tmp_path: Path
) -> None:
    go = os.environ.get("INKUBE_GO") or shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    given = {**environment, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    text = run(given, EXAMPLES / "go", go, "test", "-v", "./...")
    assert text.count("--- PASS") == 4
    assert "SKIP" not in text


@pytest.mark.parametrize("place", ["go/testdata/definition.yaml", "node/definition.yaml"])
def test_the_helpers_use_the_crd_of_the_boats(place: str) -> None:
    assert (EXAMPLES / place).read_text() == (EXAMPLES / "boats/definition.yaml").read_text()
