"""Creates a virtual environment with this package and some extras: `environment.py .venv dev`.

uv takes a third of pip's time, so it is used if it is installed, and downloaded otherwise. If uv
cannot be downloaded, or does not find a package that pip finds, pip is used. Needs only Python
3.11.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

OLDEST = (3, 11)


def main(place: Path, *extras: str, editable: bool = True) -> None:
    if sys.version_info < OLDEST:
        this = sys.version.split()[0]
        sys.exit(f"inkube takes Python 3.11 or newer, this is {this}: make PYTHON=python3.12 …")
    bin_folder = place / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(bin_folder / "python")
    if not (place / "pyvenv.cfg").exists():
        venv.create(place, symlinks=sys.platform != "win32", with_pip=False)
    wanted = [f".[{','.join(extras)}]" if extras else "."]
    if editable:
        wanted.insert(0, "-e")
    print(f"installing into {place}: {wanted[-1]}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        uv = shutil.which("uv") or download(folder)
        if uv and run(uv, "pip", "install", "--quiet", "--python", python, *wanted):
            return
    print("uv is not available or failed, pip continues", flush=True)
    try:
        venv.create(place, symlinks=sys.platform != "win32", with_pip=True)
    except subprocess.CalledProcessError:  # Debian has ensurepip in a package of its own
        sys.exit(
            "could not install: this needs uv, or pip (Debian, Ubuntu: apt install python3-venv)"
        )
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not run(*pip, *wanted):
        sys.exit("could not install; see above")


def download(folder: str) -> str | None:
    """Return uv in a folder, if the pip of the running Python can install it there."""
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(
        [*pip, "--no-compile", "--target", folder, "uv"], capture_output=True, check=False
    )
    return shutil.which("uv", path=Path(folder) / "bin") if done.returncode == 0 else None


def run(*command: str) -> bool:
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
