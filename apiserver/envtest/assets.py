"""The folder that KUBEBUILDER_ASSETS names: kube-apiserver, etcd and kubectl as short scripts.

A script hands over to the inkube that wrote it (`exec`), so that signals reach the server itself.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from inkube import storage

PROGRAMS = ("kube-apiserver", "etcd", "kubectl")
_SCRIPT = """#!/bin/sh
# written by inkube envtest-assets
if [ -n "$PYTHONDONTWRITEBYTECODE" ]; then
    unset PYTHONDONTWRITEBYTECODE
    PYTHONPYCACHEPREFIX={compiled}
    export PYTHONPYCACHEPREFIX
fi
exec {command}{flags} "$@"
"""
"""A line of the scripts: if Python cannot write bytecode next to the sources, it is stored in the
folder. Compiling the sources again would take half of each start."""
_KUBECTL = """#!/bin/sh
# written by inkube envtest-assets: the first kubectl on PATH beside this one
here=$(cd "$(dirname "$0")" && pwd)
IFS=:
for folder in $PATH; do
    if [ "$folder" != "$here" ] && [ -x "$folder/kubectl" ]; then
        exec "$folder/kubectl" "$@"
    fi
done
echo "there is no kubectl on PATH; install one, or leave calls of it out" >&2
exit 127
"""


class AssetsError(Exception):
    """The folder cannot be written. Existing files are not lost."""


def write(folder: Path, kubernetes_version: str = "") -> None:
    """Write the programs into a folder, which is created if it is missing. Raises AssetsError,
    OSError.

    kube-apiserver serves this version of Kubernetes; "" is the newest.

    A program that inkube did not write is not replaced, but raises AssetsError.
    """
    if os.name == "nt":
        raise AssetsError("the programs are shell scripts: there are none for Windows")
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        path = folder / name
        if path.exists() and b"inkube envtest-assets" not in path.read_bytes()[:200]:
            raise AssetsError(f"{path} is there and was not written by inkube; take another folder")
    flag = f" --kubernetes-version={shlex.quote(kubernetes_version)}" if kubernetes_version else ""
    _put(folder / "kube-apiserver", _script(folder, "kube-apiserver", flag))
    _put(folder / "etcd", _script(folder, "etcd"))
    _put(folder / "kubectl", _KUBECTL)


def default_folder(kubernetes_version: str = "") -> Path:
    """Return the default folder of the programs: a cache of the user, with a folder for each
    version."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(caches) / "inkube" / "envtest"
    return folder.with_name(f"envtest-{kubernetes_version}") if kubernetes_version else folder


def has_kubectl(folder: Path) -> bool:
    """Return whether PATH has a kubectl that the script in the folder can call."""
    others = [each for each in os.get_exec_path() if Path(each).absolute() != folder.absolute()]
    return shutil.which("kubectl", path=os.pathsep.join(others)) is not None


def _script(folder: Path, name: str, flags: str = "") -> str:
    compiled = shlex.quote(str(folder.absolute() / ".compiled"))
    return _SCRIPT.format(command=_package_file(name), compiled=compiled, flags=flags)


def _package_file(name: str) -> str:
    """Return the shell command for a program of this installation of inkube."""
    if getattr(sys, "frozen", False):
        return f"{shlex.quote(sys.executable)} {name}"
    return f"{shlex.quote(sys.executable)} -m inkube {name}"


def _put(path: Path, text: str) -> None:
    """Replace the file in one step, because a test may be starting it at this moment."""
    storage.wholefiles.write(path, text, mode=storage.wholefiles.PROGRAM)
