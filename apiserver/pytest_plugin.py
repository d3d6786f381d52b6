"""The pytest plugin: a Kubernetes-style API server as a fixture.

    def test_it(kube, kube_client):
        kube_client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

It is loaded in every run of pytest where inkube is installed, so nothing heavy is imported before
a test requests a fixture. The fixtures use `apiserver.testing`.
"""

import contextlib
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkube.apiserver import testing

MARKERS = (
    "kube_definitions(*sources): CRDs and objects to begin with: files, folders, dicts",
    "kube_controllers(*what, builtin=True): KindModules, Controllers, or functions of Environment",
    "kube_storage(name): where the server keeps its data: memory (the default) or sqlite",
    "kube_options(**options): any option of inkube.Options",
    "kubernetes_version(version): the version of Kubernetes that is served, such as 1.33",
    "kube_workloads(**settings): workloads live, as inkube.Workloads says",
    "kube_seed(fill=function): begin with what function(kube) makes, once for all it marks",
    "kube_fail(verbs, resources, **options): requests that fail, as kube.fail says",
    "kubeconfig: KUBECONFIG names a file for the test's server",
)
_LOG: "pytest.StashKey[testing.TestLog]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of the plugin."""
    parser.addini(
        "kube_definitions",
        "CRDs and objects every server begins with: files or folders",
        type="paths",
        default=[],
    )
    parser.addini(
        "kubernetes_version", "the version of Kubernetes that is served, such as 1.33", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_itemcollected(item: pytest.Item) -> None:
    """The marker `kubeconfig` asks for the fixture of that name, before all others.

    A fixture that starts an operator then finds the server in its environment.
    """
    names = getattr(item, "fixturenames", None)
    if names is not None and item.get_closest_marker("kubeconfig"):
        names[:] = ["kubeconfig", *(name for name in names if name != "kubeconfig")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what happened on the server when a test fails."""
    report = yield
    if report.failed:
        for node in item.listchain():
            log = node.stash.get(_LOG, None)
            if log is not None:
                report.sections.extend(log.sections())
    return report


@pytest.fixture(scope="session")
def kube_thread() -> "Iterator[testing.LoopThread]":
    """The thread, with an event loop, that all servers of the session run in."""
    with testing.LoopThread() as thread:
        yield thread


@pytest.fixture(scope="session")
def kube_api(
    request: pytest.FixtureRequest, kube_thread: "testing.LoopThread"
) -> "Iterator[testing.Kube]":
    """One server for the session, or for each xdist worker. It keeps objects of earlier tests."""
    with testing.running(kube_thread, testing.Plan(testing.plans.default(request.config))) as kube:
        yield kube


@pytest.fixture
def kube(
    request: pytest.FixtureRequest, kube_thread: "testing.LoopThread", tmp_path: Path
) -> "Iterator[testing.Kube]":
    """A new server for this test, as its markers want it."""
    with _running(request.node, kube_thread, tmp_path) as kube:
        yield kube


@pytest.fixture(scope="class")
def kube_class(
    request: pytest.FixtureRequest,
    kube_thread: "testing.LoopThread",
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[testing.Kube]":
    """One server for the tests of a class, as the markers of the class want it."""
    with _running(request.node, kube_thread, tmp_path_factory.mktemp("kube")) as kube:
        yield kube


@pytest.fixture(scope="module")
def kube_module(
    request: pytest.FixtureRequest,
    kube_thread: "testing.LoopThread",
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[testing.Kube]":
    """One server for the tests of a module, as its `pytestmark` wants it."""
    with _running(request.node, kube_thread, tmp_path_factory.mktemp("kube")) as kube:
        yield kube


@pytest.fixture
def kube_factory(
    request: pytest.FixtureRequest, kube_thread: "testing.LoopThread"
) -> "Iterator[Callable[..., testing.Kube]]":
    """`kube_factory(**options)`: a further server, with options of `inkube.Options`."""
    with contextlib.ExitStack() as stack:

        def make(**options: Any) -> "testing.Kube":
            plan = testing.Plan(replace(testing.plans.default(request.config), **options))
            return stack.enter_context(testing.running(kube_thread, plan))

        yield make


@pytest.fixture
def kube_namespace(kube_api: "testing.Kube") -> "Iterator[testing.KubeNamespace]":
    """The server of the session, seen from a namespace that is this test's own."""
    made = kube_api.in_namespace(f"test-{uuid.uuid4().hex[:10]}")
    yield made
    made.delete()


@contextlib.contextmanager
def _running(
    node: "pytest.Item | pytest.Collector", thread: "testing.LoopThread", folder: Path
) -> "Iterator[testing.Kube]":
    """A server as the markers of a test, class or module want it."""

    def seeded(seed: Callable[[Any], Any], plan: "testing.Plan") -> "testing.Snapshot":
        with testing.running(thread, plan) as kube:
            seed(kube)
            return kube.snapshot()

    plan = testing.plans.begun(node, testing.plans.of(node, folder), seeded)
    with testing.running(thread, plan) as kube, contextlib.ExitStack() as failing:
        node.stash[_LOG] = kube.log
        for marker in testing.plans.failures(node):
            failing.enter_context(kube.fail(*marker.args, **marker.kwargs))
        yield kube


@pytest.fixture
def kube_client(kube: "testing.Kube") -> "testing.BlockingClient":
    """The blocking client of `kube`."""
    return kube.client


@pytest.fixture
def kube_aio(kube: "testing.Kube") -> "testing.AsyncKube":
    """The client of `kube` for coroutines."""
    return kube.aio


@pytest.fixture
def kubeconfig(
    request: pytest.FixtureRequest,
    kube: "testing.Kube",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A kubeconfig file for `kube`; under the marker of the same name, KUBECONFIG names it."""
    path = tmp_path / "kubeconfig"
    path.write_text(kube.kubeconfig())
    if request.node.get_closest_marker("kubeconfig"):
        monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture
def world(kube: "testing.Kube") -> "testing.ScriptedWorld":
    """The outside systems of `kube`: git hosts and GitHub Apps that obey the test."""
    return testing.ScriptedWorld(kube)
