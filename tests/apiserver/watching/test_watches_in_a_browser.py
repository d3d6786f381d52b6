"""A page with more watches than a browser has connections to a server, and requests between them.

A browser has six connections to a host. No test here is a coroutine: see `browsers`.
"""

from statistics import median

import browsers
import pytest
import typescript

from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

PROMPT = 100
"""The allowed milliseconds of a request during the watches."""
SLOWER = 5
"""The allowed factor compared with a request without watches, for slow machines."""
MAPS = "v1/configmaps"
PAGE = """<!doctype html><title>watches</title>"""

FETCH = """async ({ server, count }) => {
  const { WatchStream } = await import("/lib/stream.js");
  const stream = new WatchStream(server);
  window.seen = {};
  for (let number = 0; number < count; number++) {
    (async () => {
      const path = `/api/v1/namespaces/default/configmaps?labelSelector=watch%3D${number}`;
      for await (const { object } of stream.watch(path)) window.seen[number] = object.metadata.name;
    })();
  }
}"""

SOURCE = """async ({ server, count }) => {
  const open = [...Array(count).keys()].map((number) =>
    `${number}=/api/v1/namespaces/default/configmaps?labelSelector=watch%3D${number}`);
  const query = new URLSearchParams(open.map((each) => ["open", each]));
  const source = new EventSource(`${server}/inkube/v1/watch?${query}`);
  window.seen = {};
  source.onmessage = ({ data }) => {
    const { watch, event } = JSON.parse(data);
    if (event) window.seen[watch] = event.object.metadata.name;
  };
  await new Promise((done) => (source.onopen = done));
}"""

ASK = """async (server) => {
  const times = [];
  for (let number = 0; number < 20; number++) {
    const begun = performance.now();
    const answer = await fetch(`${server}/api/v1/namespaces/default/configmaps`);
    await answer.json();
    times.push(performance.now() - begun);
  }
  return times;
}"""


@pytest.fixture
def origin(tmp_path):
    """The page's origin, which is not the server's."""
    with browsers.serving(typescript.frontend(tmp_path), page=PAGE) as found:
        yield found


@pytest.fixture
def kube(origin):
    with LoopThread() as thread, running(thread, Plan(Options(allow_origins=[origin]))) as kube:
        yield kube


@pytest.mark.parametrize("watches", [FETCH, SOURCE], ids=["fetch", "EventSource"])
def test_ten_watches_of_a_page_leave_room_for_its_requests(kube, origin, watches):
    for number in range(10):
        kube.client.create({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"map{number}",
                "namespace": "default",
                "labels": {"watch": str(number)},
            },
        })  # fmt: skip
    with browsers.launched() as browser:
        page = browser.new_page()
        page.set_default_timeout(browsers.PATIENCE)
        page.goto(origin)
        alone = median(page.evaluate(ASK, kube.url))
        page.evaluate(watches, {"server": kube.url, "count": 10})
        page.wait_for_function("() => Object.keys(window.seen).length === 10")
        assert page.evaluate("window.seen") == {str(n): f"map{n}" for n in range(10)}
        assert kube.server.streams.count == 10
        times = page.evaluate(ASK, kube.url)
        # a busy machine delays all requests; a page without free connections would wait forever
        assert median(times) < max(PROMPT, SLOWER * alone), times
        kube.client.create({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "news", "namespace": "default", "labels": {"watch": "7"}},
        })  # fmt: skip
        page.wait_for_function("() => window.seen[7] === 'news'")


def test_an_event_source_reads_one_watch(kube, origin):
    with browsers.launched() as browser:
        page = browser.new_page()
        page.set_default_timeout(browsers.PATIENCE)
        page.goto(origin)
        page.evaluate(
            """(server) => {
              window.seen = [];
              const source = new EventSource(`${server}/api/v1/configmaps?watch=true`);
              source.onmessage = ({ data }) => {
                const { type, object } = JSON.parse(data);
                window.seen.push(`${type} ${object.metadata.name}`);
              };
            }""",
            kube.url,
        )
        kube.client.create({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "one", "namespace": "default"},
        })  # fmt: skip
        page.wait_for_function("() => window.seen.includes('ADDED one')")
        kube.client.delete(MAPS, "one", "default")
        page.wait_for_function("() => window.seen.includes('DELETED one')")
