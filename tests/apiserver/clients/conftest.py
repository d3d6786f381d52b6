"""A server in a thread of its own, for clients that block and for processes such as kubectl."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import SECONDS

from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

GROUP = "clients.example.com"


def crd(kind, plural):
    """A namespaced kind with spec, status and a column."""
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    phase = {"type": "object", "properties": {"phase": {"type": "string"}}}
    preserved = {**phase, "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "description": f"A {kind} of the sea.",
        "properties": {"spec": size, "status": preserved},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


@pytest.fixture(scope="package")
def kube():
    """One server for the tests of all clients, with the kind Crab."""
    with LoopThread() as thread, running(thread, Plan()) as kube:
        kube.install(crd("Crab", "crabs"))
        kube.settled()
        yield kube


@pytest.fixture
def namespace(kube):
    """A namespace for this test alone."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "clients-"}}
    return kube.client.create(body)["metadata"]["name"]


@pytest.fixture
def kubeconfig(kube, tmp_path):
    """A file that names the server."""
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
    """What clients call deprecated or warn of is theirs; what they leave open is closed here."""
    for item in items:
        if "clients" in item.path.parts:
            for what in ("DeprecationWarning", "UserWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))


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
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")

    def start(self, *arguments):
        """Run it beside the test, its stdout a pipe; whoever starts it ends it."""
        return subprocess.Popen(
            [self._path, *arguments], env=self._env, stdout=subprocess.PIPE, text=True
        )


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


@pytest.fixture
def kubectl_on_path(served, tmp_path):
    """The kubectl on PATH, of whatever version."""
    path = shutil.which("kubectl")
    if path is None:
        pytest.skip("no kubectl is installed")
    config = tmp_path / "kubeconfig"
    config.write_text(served.kubeconfig())
    return Kubectl(path, tmp_path, config)
