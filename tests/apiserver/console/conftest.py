"""A real browser with a real server."""

from contextlib import ExitStack

import browsers
import pytest

from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.scripted import ScriptedWorld
from inkube.apiserver.testing.thread import LoopThread

BOAT = {
    "apiVersion": "example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "argo", "namespace": "default"},
    "spec": {"replicas": 3, "name": "argo", "crew": [{"name": "jason", "port": 1}]},
}


@pytest.fixture(scope="module")
def browser():
    with browsers.launched() as found:
        yield found


@pytest.fixture(scope="module")
def server_thread():
    with LoopThread() as thread:
        yield thread


@pytest.fixture
def start(server_thread):
    """`start(offline=True)`: a server with those options until the end of the test."""
    with ExitStack() as stack:

        def make(**options):
            wanted = {"offline": True, "retry_seconds": 0.0, **options}
            return stack.enter_context(running(server_thread, Plan(Options(**wanted))))

        yield make


@pytest.fixture
def kube(start):
    return start()


@pytest.fixture
def boats(kube, boat_crd):
    """The kind Boat with one object."""
    kube.install(boat_crd)
    kube.client.create(BOAT)
    return "example.com/v1/boats"


class Reader:
    """A user of the browser. `errors` are errors of the page that it does not show."""

    def __init__(self, page, url):
        self.page = page
        self.url = url
        self.errors = []
        page.set_default_timeout(browsers.PATIENCE)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message):
        # the browser logs 4xx responses as errors; the page shows those
        if message.type == "error" and "status of 4" not in message.text:
            self.errors.append(message.text)

    def go(self, place=""):
        """Open a page of the console: `kind/core/v1/pods`."""
        self.page.goto(f"{self.url}/console/#/{place}")
        self.page.locator("main:not(.loading) h1").first.wait_for()
        return self.page


@pytest.fixture
def read(browser, request):
    """`read(kube)`: a new user. At the end of the test, no error may have happened."""
    readers = []

    def make(kube, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        request.addfinalizer(context.close)
        reader = Reader(context.new_page(), kube.url)
        readers.append(reader)
        return reader

    yield make
    for reader in readers:
        assert reader.errors == []


@pytest.fixture
def expect(browser):
    """Playwright's assertions, which wait."""
    from playwright.sync_api import expect as found

    return found


@pytest.fixture(scope="session")
def world_of():
    """`world_of(kube)`: a git host, and a healthy Repository that uses it."""

    def make(kube):
        world = ScriptedWorld(kube)
        world.git_host(
            "git.example.com", {"team/dashboards": ["main", "develop"]}, tokens={"s3cret": True}
        )
        kube.client.create({
            "apiVersion": "provisioning.grafana.app/v0alpha1",
            "kind": "Repository",
            "metadata": {"name": "dashboards", "namespace": "default"},
            "spec": {
                "title": "Dashboards",
                "type": "git",
                "workflows": ["write"],
                "sync": {"enabled": False, "target": "folder", "intervalSeconds": 60},
                "git": {"url": "https://git.example.com/team/dashboards", "branch": "main"},
            },
            "secure": {"token": {"create": "s3cret"}},
        })  # fmt: skip
        kube.settled()
        return world

    return make
