"""README's blocks run, and its consoles print what it says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SCRIPT = [sys.executable, "-m", "inkube.apiserver.cli"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *output = part.splitlines()
        yield command, output


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a reader: a server runs, `inkube` is on PATH, KUBECONFIG is set."""
    folder = tmp_path_factory.mktemp("reader")
    link = folder / "inkube"
    link.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m inkube.apiserver.cli "$@"\n')
    link.chmod(0o755)
    config = folder / "kubeconfig"
    command = [*SCRIPT, "serve", "--in-memory", "--port", "0", "--kubeconfig", str(config), "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        process.stdout.readline()
        path = os.pathsep.join([str(folder), os.environ["PATH"]])
        home = str(folder)
        yield {**os.environ, "PATH": path, "KUBECONFIG": str(config), "URL": url, "HOME": home}
        process.terminate()


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.split()[1])
def test_a_console_prints_what_the_readme_says(block: str, shell: dict[str, str]) -> None:
    for tool in ("kubectl", "curl"):
        if f"$ {tool} " in block and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    for command, expected in commands(block):
        done = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=shell, text=True, timeout=60, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.stdout.splitlines() == expected, command


@pytest.mark.parametrize("block", [b for b in blocks("python") if "greeting" in b])
def test_a_program_runs(block: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "greeting" in done.stdout
