"""Test runs of a user's project, every warning an error; and whichever kubectl is installed."""

import json
import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import inkube
from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

PRELUDE = """
import pytest
CM = "v1/configmaps"
def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
"""
INI = """
[pytest]
filterwarnings = error
addopts = --strict-markers -p no:schemathesis
asyncio_default_fixture_loop_scope = function
"""
ARGUMENTS = ["-p", "no:cacheprovider"]
if not metadata.entry_points(group="pytest11", name="inkube"):
    ARGUMENTS += ["-p", "inkube.apiserver.pytest_plugin"]


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a test file of a user, in a process of its own; the outcome is returned."""
    home = str(Path(inkube.__path__[0]).absolute().parent)
    monkeypatch.setenv("PYTHONPATH", home, prepend=":")
    pytester.makeini(INI)

    def run(source, *arguments):
        pytester.makepyfile(PRELUDE + source)
        return pytester.runpytest_subprocess(*ARGUMENTS, *arguments)

    return run


class Kubectl:
    """One kubectl with a home of its own; every call is a process."""

    def __init__(self, path, folder, config):
        self._path, self._folder = path, folder
        self._env = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(config)}

    def __call__(self, *arguments, document=None, code=0, **env):
        """Run it and answer stdout, or stderr too when it is to fail; `document` is stdin."""
        done = subprocess.run(
            [self._path, *arguments],
            env=self._env | env,
            cwd=self._folder,
            input=None if document is None else json.dumps(document),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")


def _find_kubectl(version):
    """`kubectl.VERSION`, on PATH or beside the kubectl there; None where there is none."""
    name = f"kubectl.{version}"
    plain = shutil.which("kubectl")
    beside = str(Path(plain).resolve().parent) if plain else None
    return shutil.which(name) or (beside and shutil.which(name, path=beside))


@pytest.fixture(scope="session")
def server_thread():
    with LoopThread() as thread:
        yield thread


@pytest.fixture
def served(server_thread):
    """A server; the plugin's fixtures are there only where inkube is installed."""
    with running(server_thread, Plan()) as kube:
        yield kube


@pytest.fixture
def find_kubectl(served, tmp_path):
    """Gives the first kubectl of these versions that is installed, or skips the test."""
    config = tmp_path / "kubeconfig"
    config.write_text(served.kubeconfig())

    def find(*versions):
        path = next(filter(None, map(_find_kubectl, versions)), None)
        if path is None:
            pytest.skip(f"no kubectl {' or '.join(versions)} is installed")
        return Kubectl(path, tmp_path, config)

    return find
