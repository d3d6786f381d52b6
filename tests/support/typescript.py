"""Compiles the TypeScript of examples and documents, with the compiler of `examples/frontend`."""

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from patience import SECONDS

FRONTEND = Path(__file__).parents[2] / "examples" / "frontend"
TSC = FRONTEND / "node_modules" / ".bin" / "tsc"
needed = pytest.mark.skipif(
    not (shutil.which("node") and TSC.exists()), reason="run npm install in examples/frontend"
)
"""For tests that run compiled programs."""


@cache
def compiled(project: Path) -> Path:
    """Return a folder with what the sources of a project compile to, once for all tests of a
    process.

    Skips the test without a compiler.
    """
    if not TSC.exists():
        pytest.skip("run npm install in examples/frontend")
    folder = tempfile.mkdtemp(prefix="inkube-typescript-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    done = subprocess.run(
        [TSC, "--project", project, "--outDir", folder],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(folder)


def frontend(folder: Path) -> Path:
    """Return a copy of the example in a folder: its page and package, compiled, without sources."""
    copy = folder / "frontend"
    shutil.copytree(FRONTEND, copy, ignore=shutil.ignore_patterns("node_modules", "src", "lib"))
    shutil.copytree(compiled(FRONTEND), copy / "lib")
    return copy
