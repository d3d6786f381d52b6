"""A server in its own thread, for clients that block and for processes such as kubectl."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import boats
import pytest
from patience import SECONDS

from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

GROUP = "clients.example.com"


def crd(kind, plural):
    """Return a namespaced kind with spec, status and a column."""
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    phase = {"type": "object", "properties": {"phase": {"type": "string"}}}
    preserved = {**phase, "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "description": f"A {kind} of the sea.",
        "properties": {"spec": size, "status": preserved},
    }
    return boats.definition(
        schema,
        kind,
        group=GROUP,
        names={"plural": plural, "singular": kind.lower()},
        subresources={"status": {}},
        additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    )


@pytest.fixture(scope="package")
def kube():
    """One server with the kind Crab for the tests of all clients."""
    with LoopThread() as thread, running(thread, Plan()) as kube:
        kube.install(crd("Crab", "crabs"))
        kube.settled()
        yield kube


@pytest.fixture
def namespace(kube):
    """A namespace for one test."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "clients-"}}
    return kube.client.create(body)["metadata"]["name"]


@pytest.fixture
def kubeconfig(kube, tmp_path):
    """A kubeconfig file for the server."""
    path = tmp_path / "kubeconfig"
    path.write_text(kube.kubeconfig())
    return path


@pytest.fixture
def crab(namespace):
    """`crab("a", size=3)`: a body."""

    def make(name, **spec):
        meta = {"name": name, "namespace": namespace}
        return {"apiVersion": f"{GROUP}/v1", "kind": "Crab", "metadata": meta, "spec": spec}

    return make


def pytest_collection_modifyitems(items):
    """Ignore warnings that client libraries cause; sockets that they leave open are closed here."""
    for item in items:
        if "clients" in item.path.parts:
            for what in ("DeprecationWarning", "UserWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))


class Kubectl:
    """A kubectl with its own home folder; every call starts a process."""

    def __init__(self, path, folder, config):
        self._path, self._folder = path, folder
        self._env = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(config)}

    def __call__(self, *arguments, document=None, code=0, **env):
        """Run it, and return stdout; if it is expected to fail, stdout and stderr. `document` is
        stdin."""
        done = subprocess.run(
            [self._path, *arguments],
            env=self._env | env,
            cwd=self._folder,
            input=None if document is None else json.dumps(document),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")

    def start(self, *arguments):
        """Start it in the background with a pipe for stdout. The caller ends it."""
        return subprocess.Popen(
            [self._path, *arguments], env=self._env, stdout=subprocess.PIPE, text=True
        )


def _find_kubectl(version):
    """`kubectl.VERSION`, from PATH or the folder of the kubectl there; None if missing."""
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
    """A server; the plugin's fixtures exist only if inkube is installed."""
    with running(server_thread, Plan()) as kube:
        yield kube


@pytest.fixture
def find_kubectl(served, tmp_path):
    """Return the first installed kubectl of these versions, or skip the test."""
    config = tmp_path / "kubeconfig"
    config.write_text(served.kubeconfig())

    def find(*versions):
        path = next(filter(None, map(_find_kubectl, versions)), None)
        if path is None:
            pytest.skip(f"no kubectl {' or '.join(versions)} is installed")
        return Kubectl(path, tmp_path, config)

    return find


@pytest.fixture
def kubectl_on_path(served, tmp_path):
    """The kubectl on PATH, of any version."""
    path = shutil.which("kubectl")
    if path is None:
        pytest.skip("no kubectl is installed")
    config = tmp_path / "kubeconfig"
    config.write_text(served.kubeconfig())
    return Kubectl(path, tmp_path, config)
