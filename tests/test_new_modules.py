"""The import contracts of pyproject.toml hold for new modules that they do not name."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import SECONDS

pytest.importorskip("importlinter")

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
NEW = "newcomer"
FORBIDDEN = {
    "apiserver": "inkube.apiserver.cli",
    "controllers": "inkube.storage.errors",
    "schemas": "inkube.storage.errors",
    "storage": "inkube.schemas.meta",
}
"""Modules that no room below the folder may import; apiserver's command line is above its rooms."""


def rooms() -> Iterator[Path]:
    """Yield every folder of code, including the four root packages."""
    for name in FOLDERS:
        for init in sorted((ROOT / name).rglob("__init__.py")):
            yield init.parent.relative_to(ROOT)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of import-linter for the package with a new module in every room."""
    home = tmp_path_factory.mktemp("rooms")
    package = home / "inkube"
    for name in FOLDERS:
        only_code = shutil.ignore_patterns("__pycache__", "*.json", "*.gz")
        shutil.copytree(ROOT / name, package / name, ignore=only_code)
    shutil.copy(ROOT / "apiserver" / "_facade.py", package / "__init__.py")
    for room in rooms():
        newcomer = f"import {FORBIDDEN[room.parts[0]]}\n"
        (package / room / f"{NEW}.py").write_text(newcomer)
    program = "import sys; from importlinter import cli; sys.exit(cli.lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(home), "COLUMNS": "200"},  # long names are not wrapped
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=2 * SECONDS,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("room", list(rooms()), ids=str)
def test_a_new_module_falls_under_the_contracts(report: str, room: Path) -> None:
    name = ".".join(("inkube", *room.parts, NEW))
    assert f"{name} -> {FORBIDDEN[room.parts[0]]}" in report or f"- {name}\n" in report


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_new_room_without_a_layer_is_reported(report: str, folder: str) -> None:
    assert f"- inkube.{folder}.{NEW}\n" in report
