"""Creates `dist/inkube`, a single executable for users without Python: `make binary`.

PyInstaller packs the files that a wheel of this tree installs into a separate environment, so that
the developer's environment has no effect. The executable runs on systems like the one on which it
was made: with the same processor, and on Linux with the same glibc or a newer one.
"""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import environment

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "binary"
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
NEVER = ("pycparser", "pytest", "setuptools", "sqlalchemy.testing", "tkinter")
"""Modules that libraries import and that no command loads."""


def main() -> None:
    place = WORK / "environment"
    shutil.rmtree(place, ignore_errors=True)  # no modules of earlier builds
    environment.main(place, "binary", editable=False)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    options = [
        "--onefile",
        "--name=inkube",
        "--noconfirm",
        "--log-level=WARN",
        f"--distpath={WORK / 'dist'}",
        f"--workpath={WORK}",
        f"--specpath={WORK}",
        "--collect-submodules=inkube",  # rooms load modules by name: no import statement tells
        *(f"--hidden-import={name}" for name in sorted(offered())),
        "--collect-data=inkube",  # the stubs that say which, and the files of the kinds
        "--copy-metadata=inkube",  # the version
        f"--runtime-hook={ROOT / 'tools' / 'binary_start.py'}",
        *(f"--exclude-module={name}" for name in NEVER),
    ]
    if sys.platform == "linux":
        options.append("--strip")  # every start unpacks the file, and symbols are half of it
    entry = ROOT / "apiserver" / "_main.py"
    subprocess.run([python, "-m", "PyInstaller", *options, entry], check=True)
    (ROOT / "dist").mkdir(exist_ok=True)
    for made in (WORK / "dist").iterdir():  # complete, or not at all
        made.replace(ROOT / "dist" / made.name)


def offered() -> set[str]:
    """Return modules of libraries that only stubs name. `inkube.schemas.lazy` loads them."""
    stubs = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.pyi")]
    found = [node for path in stubs for node in ast.parse(path.read_text()).body]
    names = {node.module for node in found if isinstance(node, ast.ImportFrom) and node.module}
    return {name for name in names if name.split(".")[0] != "inkube"}


if __name__ == "__main__":
    main()
