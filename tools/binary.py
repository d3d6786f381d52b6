"""Make `dist/inkube`, a single executable for people without Python: `make binary`.

PyInstaller packs what a wheel of this tree installs into an environment of its own, so that
nothing of a developer's environment is looked at or gets in. It runs on systems like the one that
it was made on: the same processor, and on Linux a glibc as new.
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
"""What libraries import somewhere and no command ever loads."""


def main() -> None:
    place = WORK / "environment"
    shutil.rmtree(place, ignore_errors=True)  # no module that is no more
    environment.main(place, "binary", editable=False)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    options = [
        "--onefile",
        "--name=inkube",
        "--noconfirm",
        "--log-level=WARN",
        f"--distpath={ROOT / 'dist'}",
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
        options.append("--strip")  # every start unpacks the file; symbols are half of it
    entry = ROOT / "apiserver" / "_main.py"
    subprocess.run([python, "-m", "PyInstaller", *options, entry], check=True)


def offered() -> set[str]:
    """Modules of libraries that only stubs name: `inkube.schemas.lazy` loads them."""
    stubs = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.pyi")]
    found = [node for path in stubs for node in ast.parse(path.read_text()).body]
    names = {node.module for node in found if isinstance(node, ast.ImportFrom) and node.module}
    return {name for name in names if name.split(".")[0] != "inkube"}


if __name__ == "__main__":
    main()
