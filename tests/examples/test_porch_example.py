"""The commands in the README of examples/porch work with only kubectl and git."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS

EXAMPLE = Path(__file__).parents[2] / "examples" / "porch"
NEEDED = [tool for tool in ("kubectl", "git") if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(bool(NEEDED), reason=f"{NEEDED} is not installed")


def commands(text):
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.splitlines()
            yield command, output


@pytest.fixture
def walk(tmp_path):
    """A copy of the example in its own folder, a repository and a server; returns the
    environment."""
    folder = tmp_path / "porch"
    shutil.copytree(EXAMPLE, folder)
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("/tmp/", f"{tmp_path}/"))
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "KUBECONFIG": str(folder / "inkube.kubeconfig"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    place = tmp_path / "packages.git"
    init = ["git", "init", "--quiet", "--bare", "--initial-branch", "main", str(place)]
    subprocess.run(init, check=True, env=environment, timeout=SECONDS)
    program = [sys.executable, "-m", "inkube.apiserver.cli", "serve", "--in-memory", "--port", "0"]
    options = ["--modules", "porch", "--local-path-prefix", str(tmp_path), "-q"]
    command = [*program, *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
    ) as process:
        assert process.stdout is not None
        assert "serves on" in process.stdout.readline()
        process.stdout.readline()
        yield folder, environment
        process.terminate()


def test_every_command_prints_the_output_of_the_page(walk):
    folder, environment = walk
    for command, expected in commands((folder / "README.md").read_text()):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=SECONDS,
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.stdout.splitlines() == expected, command
    place = folder.parent / "packages.git"
    checked = subprocess.run(
        ["git", "-C", str(place), "fsck", "--strict"], check=True, capture_output=True, text=True,
        timeout=SECONDS,
    )  # fmt: skip
    assert "error" not in checked.stderr
