"""A client that lists and then watches reaches the server's state, with any selector and version.

Random creates, updates, deletes, lists, pages and watches run against one server over HTTP. A model
of every revision contains the expected content of each list and the expected events of each watch
in their order, none missing, none twice.
"""

import asyncio
import json
from urllib.parse import quote

import aiohttp
from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from patience import SECONDS, within

from inkube import APIServer

NAMES = strategies.sampled_from(["a", "b", "c", "d", "e"])
COLORS = strategies.sampled_from(["red", "blue", ""])
SELECTORS = {
    "": lambda obj: True,
    "labelSelector=color%3Dred": lambda obj: obj[0] == "red",
    "labelSelector=color!%3Dred": lambda obj: obj[0] != "red",
    "labelSelector=!color": lambda obj: obj[0] == "",
    f"labelSelector={quote('color in (red,blue)')}": lambda obj: obj[0] in ("red", "blue"),
}
SELECTOR = strategies.sampled_from(sorted(SELECTORS))


class Backend:
    """One server and one client for all examples, in an event loop that runs on request."""

    def __enter__(self):
        self._runner = asyncio.Runner()
        self.run = self._runner.run
        self.run(self._start())
        self.examples = 0
        return self

    async def _start(self):
        self.server = await APIServer().__aenter__()
        timeout = aiohttp.ClientTimeout(SECONDS)
        connector = aiohttp.TCPConnector(limit=0)
        self.session = aiohttp.ClientSession(self.server.url, timeout=timeout, connector=connector)

    def __exit__(self, *error):
        self.run(self.session.close())
        self.run(self.server.stop())
        self._runner.close()

    def ask(self, method, path, body=None, media="application/json"):
        return self.run(self._ask(method, path, body, media))

    async def _ask(self, method, path, body, media):
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": media}
        async with self.session.request(method, path, data=data, headers=headers) as answer:
            found = await answer.json()
            assert answer.status < 300, found
            return found


def plain(obj):
    """Return the part of an object in the model: its colour and its value."""
    return obj["metadata"].get("labels", {}).get("color", ""), obj["data"]["n"]


class Watch:
    """An open watch: the client's copy, and the number of expected events it has read."""

    def __init__(self, response, selector, version, copy):
        self.response = response
        self.selector = selector
        self.version = version
        self.copy = copy
        self.seen = 0


class ListAndWatch(RuleBasedStateMachine):
    backend: Backend

    @initialize()
    def begin(self):
        self.backend.examples += 1
        namespace = f"model-{self.backend.examples}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        self.backend.ask("POST", "/api/v1/namespaces", body)
        self.path = f"/api/v1/namespaces/{namespace}/configmaps"
        self.now = {}
        self.story = []
        self.versions = {self.list("")[1]: {}}
        self.watches = []
        self.count = 0

    def list(self, query):
        found = self.backend.ask("GET", f"{self.path}?{query}")
        items = {item["metadata"]["name"]: plain(item) for item in found["items"]}
        return items, int(found["metadata"]["resourceVersion"]), found

    def happened(self, name, before, after, version):
        self.story.append((int(version), name, before, after))
        if after is None:
            del self.now[name]
        else:
            self.now[name] = after
        self.versions[int(version)] = dict(self.now)

    @rule(name=NAMES, color=COLORS)
    def write(self, name, color):
        self.count += 1
        labels = {"color": color} if color else {}
        body = {"metadata": {"name": name, "labels": labels}, "data": {"n": str(self.count)}}
        if name in self.now:
            body["metadata"]["labels"] = {"color": color or None}
            path, media = f"{self.path}/{name}", "application/merge-patch+json"
            stored = self.backend.ask("PATCH", path, body, media)
        else:
            body |= {"apiVersion": "v1", "kind": "ConfigMap"}
            stored = self.backend.ask("POST", self.path, body)
        after = (color, str(self.count))
        self.happened(name, self.now.get(name), after, stored["metadata"]["resourceVersion"])

    @precondition(lambda self: self.now)
    @rule(data=strategies.data())
    def delete(self, data):
        name = data.draw(strategies.sampled_from(sorted(self.now)))
        self.backend.ask("DELETE", f"{self.path}/{name}")
        version = self.list("")[1]
        self.happened(name, self.now[name], None, version)

    @rule(selector=SELECTOR)
    def lists_show_what_matches(self, selector):
        items, _, _ = self.list(selector)
        assert items == matching(self.now, selector)

    @rule(selector=SELECTOR, limit=strategies.integers(1, 3), data=strategies.data())
    def pages_are_parts_of_one_list(self, selector, limit, data):
        wanted = matching(self.now, selector)
        items, _, page = self.list(f"{selector}&limit={limit}")
        if data.draw(strategies.booleans()):
            self.write("z", "red")
        while page["metadata"].get("continue"):
            token = page["metadata"]["continue"]
            more, _, page = self.list(f"{selector}&limit={limit}&continue={token}")
            assert not set(more) & set(items)
            items |= more
        assert items == wanted

    @rule(data=strategies.data())
    def lists_of_the_past_are_exact(self, data):
        version = data.draw(strategies.sampled_from(sorted(self.versions)))
        match = "resourceVersionMatch=Exact"
        items, _, _ = self.list(f"resourceVersion={version}&{match}")
        assert items == self.versions[version]

    @rule(selector=SELECTOR, data=strategies.data())
    def watch_from_a_version(self, selector, data):
        version = data.draw(strategies.sampled_from(sorted(self.versions)))
        copy = matching(self.versions[version], selector)
        path = f"{self.path}?watch=1&resourceVersion={version}&{selector}"
        response = self.backend.run(self.backend.session.get(path))
        assert response.status == 200
        self.watches.append(Watch(response, selector, version, copy))

    @precondition(lambda self: self.watches)
    @rule(data=strategies.data())
    def a_watch_has_told_all_that_happened(self, data):
        watch = data.draw(strategies.sampled_from(self.watches))
        self.backend.run(self.read(watch))
        assert watch.copy == matching(self.now, watch.selector)

    async def read(self, watch):
        wanted = [event for event in map(told(watch.selector), self.story) if event]
        wanted = [event for event in wanted if event[0] > watch.version]
        async with within():
            for version, kind, name, after in wanted[watch.seen :]:
                event = json.loads(await watch.response.content.readline())
                obj = event["object"]
                seen = (int(obj["metadata"]["resourceVersion"]), event["type"])
                assert (*seen, obj["metadata"]["name"]) == (version, kind, name)
                if kind == "DELETED":
                    del watch.copy[name]
                else:
                    watch.copy[name] = plain(obj)
                    assert watch.copy[name] == after
        watch.seen = len(wanted)

    def teardown(self):
        if not hasattr(self, "watches"):
            return
        # each selector matches one of these, so that an extra event at the end is noticed
        for name, color in (("y", "red"), ("z", "")):
            self.write(name, color)
        for watch in self.watches:
            self.backend.run(self.read(watch))
            assert watch.copy == matching(self.now, watch.selector)
            watch.response.close()


def matching(objects, selector):
    return {name: obj for name, obj in objects.items() if SELECTORS[selector](obj)}


def told(selector):
    """Return the event for a watch with this selector for one change; None for no event."""
    matches = SELECTORS[selector]

    def event(step):
        version, name, before, after = step
        was = before is not None and matches(before)
        now = after is not None and matches(after)
        if not was and not now:
            return None
        kind = ("MODIFIED" if was else "ADDED") if now else "DELETED"
        return version, kind, name, after

    return event


def test_list_and_watch_always_lead_to_the_servers_state():
    with Backend() as backend:
        machine = type("Bound", (ListAndWatch,), {"backend": backend})
        run_state_machine_as_test(
            machine, settings=settings(max_examples=15, stateful_step_count=25, deadline=None)
        )
