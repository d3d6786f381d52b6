"""The pytest plugin: fixtures that provide a Kubernetes-style API server.

    def test_it(kube, kube_client):
        kube_client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

Every run of pytest loads it if inkube is installed, so it imports no large module before a test
requests a fixture. The fixtures use `apiserver.testing`. PYTEST_DONT_REWRITE (see `_pytestplugin`)
"""

import contextlib
import inspect
import re
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkube.apiserver import access, explore, testing

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
    "kube_explore(**limits): the test returns a scenario of inkube.explore, which is explored",
)
_SERVERS: "pytest.StashKey[list[testing.Report]]" = pytest.StashKey()
"""The reports of the servers that run for a test, a class, a module or the session."""
_KEPT = pytest.StashKey[int]()
MOST_KEPT = 50
"""The maximum number of saved states of failed tests in a run; with `--kube-keep`,
all are saved."""
_PROPERTY = "inkube_state"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings of the plugin."""
    parser.addini(
        "kube_definitions",
        "CRDs and objects every server begins with: files or folders",
        type="paths",
        default=[],
    )
    parser.getgroup("inkube").addoption(
        "--kube-keep",
        action="store_true",
        help="keep the state of the server of every test, and list the files at the end",
    )
    parser.getgroup("inkube").addoption(
        "--kube-html",
        action="store_true",
        help="also keep each state as a page of HTML with the console, which needs no server",
    )
    parser.addini(
        "kubernetes_version", "the version of Kubernetes that is served, such as 1.33", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test with the marker `kubeconfig` the fixture of that name, before all other fixtures.

    A fixture that starts an operator then finds the server in its environment.
    """
    names = getattr(item, "fixturenames", None)
    if names is not None and item.get_closest_marker("kubeconfig"):
        names[:] = ["kubeconfig", *(name for name in names if name != "kubeconfig")]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Explore the scenario that a test with the marker `kube_explore` returns."""
    markers = list(pyfuncitem.iter_markers("kube_explore"))[::-1]
    if not markers:
        return None
    limits = {name: value for marker in markers for name, value in marker.kwargs.items()}
    function = pyfuncitem.obj
    wanted = inspect.signature(function).parameters
    scenario = function(**{name: pyfuncitem.funcargs[name] for name in wanted})
    if not isinstance(scenario, explore.Scenario):
        raise pytest.UsageError(
            f"{pyfuncitem.name}: a test with kube_explore returns an inkube.explore.Scenario, not"
            f" {type(scenario).__name__}"
        )
    try:
        explore.check(scenario, explore.Limits(**limits))
    except AssertionError as error:
        pytest.fail(str(error), pytrace=False)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the log of the servers to the report of a failed test, and save their states."""
    report = yield
    wanted = report.failed or (report.when == "call" and item.config.getoption("kube_keep"))
    for number, server in enumerate(_servers(item) if wanted else ()):
        if name := _name_of_state(item, number):
            path = server.keep(name, as_page=item.config.getoption("kube_html"))
            report.user_properties.append((_PROPERTY, str(path)))
        if report.failed:
            report.sections.extend(server.sections())
    return report


def pytest_terminal_summary(
    terminalreporter: "pytest.TerminalReporter", config: pytest.Config
) -> None:
    """List the states that `--kube-keep` saved."""
    if not config.getoption("kube_keep"):
        return
    reports = [each for found in terminalreporter.stats.values() for each in found]
    kept = [
        (each.nodeid, path)
        for each in reports
        for name, path in getattr(each, "user_properties", ())
        if name == _PROPERTY and each.when == "call"
    ]
    if kept:
        terminalreporter.section("inkube states: inkube serve --snapshot FILE")
        for test, path in kept:
            terminalreporter.write_line(f"{path}  {test}")


def _servers(item: pytest.Item) -> "list[testing.Report]":
    """Return the reports of the servers that run for a test; that of the session only if the test
    uses it."""
    found: list[testing.Report] = []
    for node in item.listchain():
        if not isinstance(node, pytest.Session) or "kube_api" in getattr(item, "fixturenames", ()):
            running: list[testing.Report] = node.stash.get(_SERVERS, [])
            found += running
    return found


def _name_of_state(item: pytest.Item, number: int) -> str:
    """Return the name of the file for a server's state, or "" if the limit of saved states is
    reached."""
    many = item.config.stash.get(_KEPT, 0)
    if many >= MOST_KEPT and not item.config.getoption("kube_keep"):
        return ""
    item.config.stash[_KEPT] = many + 1
    name = re.sub(r"[^\w.-]+", "-", item.nodeid)[-100:].strip("-")
    return f"{name}-{many}-{number}"


@contextlib.contextmanager
def _reported(request: pytest.FixtureRequest, kube: "testing.Kube") -> Iterator[None]:
    """Let reports of failed tests show the server while it runs.

    States are saved in the temporary folder of the run. pytest removes the folders of older runs.
    """
    base: Path = request.getfixturevalue("tmp_path_factory").getbasetemp()
    servers = request.node.stash.setdefault(_SERVERS, [])
    report = testing.Report(kube, base / "inkube")
    servers.append(report)
    try:
        yield
    finally:
        servers.remove(report)


@pytest.fixture(scope="session")
def kube_thread() -> "Iterator[testing.LoopThread]":
    """The thread with the event loop in which all servers of the session run."""
    with testing.LoopThread() as thread:
        yield thread


@pytest.fixture(scope="session")
def kube_api(
    request: pytest.FixtureRequest, kube_thread: "testing.LoopThread"
) -> "Iterator[testing.Kube]":
    """One server for the session, or for each xdist worker. It keeps objects of earlier tests."""
    plan = testing.Plan(testing.plans.default(request.config))
    with testing.running(kube_thread, plan) as kube, _reported(request, kube):
        yield kube


@pytest.fixture
def kube(
    request: pytest.FixtureRequest, kube_thread: "testing.LoopThread"
) -> "Iterator[testing.Kube]":
    """A new server for this test, with the options of the test's markers."""
    with _running(request, kube_thread, lambda: request.getfixturevalue("tmp_path")) as kube:
        yield kube


@pytest.fixture(scope="class")
def kube_class(
    request: pytest.FixtureRequest,
    kube_thread: "testing.LoopThread",
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[testing.Kube]":
    """One server for all tests of a class, with the options of the class's markers."""
    with _running(request, kube_thread, lambda: tmp_path_factory.mktemp("kube")) as kube:
        yield kube


@pytest.fixture(scope="module")
def kube_module(
    request: pytest.FixtureRequest,
    kube_thread: "testing.LoopThread",
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[testing.Kube]":
    """One server for all tests of a module, with the options of its `pytestmark`."""
    with _running(request, kube_thread, lambda: tmp_path_factory.mktemp("kube")) as kube:
        yield kube


@pytest.fixture
def kube_factory(
    request: pytest.FixtureRequest, kube_thread: "testing.LoopThread"
) -> "Iterator[Callable[..., testing.Kube]]":
    """`kube_factory(**options)` starts a further server, with options of `inkube.Options`."""
    with contextlib.ExitStack() as stack:

        def make(**options: Any) -> "testing.Kube":
            __tracebackhide__ = True
            try:
                chosen = replace(testing.plans.default(request.config), **options)
            except (TypeError, ValueError) as error:
                raise error.with_traceback(None) from None
            try:
                kube = stack.enter_context(testing.running(kube_thread, testing.Plan(chosen)))
            except (ValueError, OSError) as error:
                raise error.with_traceback(testing.frames_of_users(error)) from None
            stack.enter_context(_reported(request, kube))
            return kube

        yield make


@pytest.fixture
def kube_namespace(kube_api: "testing.Kube") -> "Iterator[testing.KubeNamespace]":
    """The server of the session, in a new namespace that only this test uses."""
    made = kube_api.in_namespace(f"test-{uuid.uuid4().hex[:10]}")
    yield made
    made.delete()


@contextlib.contextmanager
def _running(
    request: pytest.FixtureRequest, thread: "testing.LoopThread", folder: Callable[[], Path]
) -> "Iterator[testing.Kube]":
    """Start a server with the options of the markers of a test, class or module.

    `folder` creates the folder for servers that store their data in files.
    """
    node = request.node

    def seeded(seed: Callable[[Any], Any], plan: "testing.Plan") -> "testing.Snapshot":
        with contextlib.ExitStack() as stack:
            kube = _started(node, stack, thread, plan)
            seed(kube)
            return kube.snapshot()

    with contextlib.ExitStack() as stack:
        with _one_message():
            plan = testing.plans.plan_with_seed(node, testing.plans.of(node, folder), seeded)
            failures = list(testing.plans.failures(node))
        kube = _started(node, stack, thread, plan)
        stack.enter_context(_reported(request, kube))
        for marker in failures:
            stack.enter_context(kube.fail(*marker.args, **marker.kwargs))
        yield kube


def _started(
    node: Any, stack: contextlib.ExitStack, thread: "testing.LoopThread", plan: "testing.Plan"
) -> "testing.Kube":
    """Start a server, which the stack stops. An error about the input names the markers."""
    try:
        return stack.enter_context(testing.running(thread, plan))
    except (ValueError, OSError) as error:
        text = f"no server starts with {testing.plans.described(node)}: {error}"
        raise pytest.fail.Exception(text, pytrace=False) from None


@contextlib.contextmanager
def _one_message() -> Iterator[None]:
    """Let an error about markers fail the test with its message alone, without frames."""
    try:
        yield
    except pytest.UsageError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


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
    """A kubeconfig file for `kube`. With the marker `kubeconfig`, the variable KUBECONFIG contains
    its path."""
    path = tmp_path / "kubeconfig"
    access.kubeconfig.write(path, kube.kubeconfig())
    if request.node.get_closest_marker("kubeconfig"):
        monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture
def world(kube: "testing.Kube") -> "testing.ScriptedWorld":
    """The simulated external systems of `kube`: git hosts and GitHub Apps that the
    test controls."""
    return testing.ScriptedWorld(kube)
