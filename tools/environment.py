"""Make a virtual environment with this package and some of its extras: `environment.py .venv dev`.

uv does it in a third of pip's time, so uv is taken where it is there and installed where it is not;
where uv cannot be had, or does not find what pip finds, pip does the work. Needs Python 3.11 only.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

OLDEST = (3, 11)


def main(place: Path, *extras: str) -> None:
    if sys.version_info < OLDEST:
        this = sys.version.split()[0]
        sys.exit(f"inkube takes Python 3.11 or newer, this is {this}: make PYTHON=python3.12 …")
    bin_folder = place / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(bin_folder / "python")
    if not (place / "pyvenv.cfg").exists():
        venv.create(place, symlinks=sys.platform != "win32", with_pip=False)
    wanted = ["-e", f".[{','.join(extras)}]" if extras else "."]
    uv = shutil.which("uv") or shutil.which("uv", path=bin_folder) or bootstrap(python, bin_folder)
    if uv and run(uv, "pip", "install", "--quiet", "--python", python, *wanted):
        return
    venv.create(place, symlinks=sys.platform != "win32", with_pip=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not run(*pip, *wanted):
        sys.exit("could not install; see above")


def bootstrap(python: str, folder: Path) -> str | None:
    """uv, installed by the pip of the Python that runs this, if it has one that can (22.3)."""
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "install", "--quiet", "--no-compile", "uv"], capture_output=True, check=False
    )
    return shutil.which("uv", path=folder) if done.returncode == 0 else None


def run(*command: str) -> bool:
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
