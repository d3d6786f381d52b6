"""Remove files from a folder of packages that a server never reads: `slim.py FOLDER`.

Sources and headers of extension modules, tests of libraries, scripts, and symbols of shared
libraries. Stubs (`.pyi`) of inkube stay: it reads them at run time.
"""

import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = {".c", ".cpp", ".h", ".hpp", ".pxd", ".pyx", ".pyc"}


def main(folder: Path) -> None:
    for name in ("bin", "sqlalchemy/testing", "share", "include"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path.name in {"tests", "test", "__pycache__"}:
            shutil.rmtree(path)
        elif path.suffix in SOURCES or (path.suffix == ".pyi" and is_foreign(path, folder)):
            path.unlink()
        elif path.suffix == ".so" and shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 2**20:.0f} MiB")


def is_foreign(path: Path, folder: Path) -> bool:
    return path.relative_to(folder).parts[0] != "inkube"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
