"""kubectl with the server of a test, in all installed versions."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import SECONDS


class Kubectl:
    """A kubectl. Calling it returns its output; the test fails if it fails."""

    def __init__(self, path, config, folder):
        self.path = path
        self.environment = {
            "KUBECONFIG": str(config), "HOME": str(folder), "PATH": os.environ["PATH"],
        }  # fmt: skip
        self.folder = folder

    def __call__(self, *arguments, text="", code=0):
        done = self.run(*arguments, text=text)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout + (done.stderr if code else "")

    def run(self, *arguments, text=""):
        return subprocess.run(
            [self.path, *arguments], input=text, capture_output=True, text=True, timeout=SECONDS,
            env=self.environment, cwd=self.folder,
        )  # fmt: skip

    def start(self, *arguments):
        """Start it in the background; it ends with the test."""
        return subprocess.Popen(
            [self.path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment, cwd=self.folder,
        )  # fmt: skip


def _find(version):
    name = f"kubectl.{version}" if version else "kubectl"
    plain = shutil.which("kubectl")
    beside = str(Path(plain).resolve().parent) if plain else None
    known = "/usr/lib/google-cloud-sdk/bin"
    return shutil.which(name) or shutil.which(name, path=f"{beside}:{known}" if beside else known)


@pytest.fixture
def find_kubectl(kubeconfig, tmp_path):
    """Return the kubectl of a version, or skip the test."""

    def find(version=""):
        path = _find(version)
        if path is None:
            pytest.skip(f"no kubectl {version} is installed")
        return Kubectl(path, kubeconfig, tmp_path)

    return find


@pytest.fixture
def kubectl(find_kubectl):
    """The kubectl on PATH."""
    return find_kubectl()
