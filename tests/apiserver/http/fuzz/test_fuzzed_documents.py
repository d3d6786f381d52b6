"""Requests that schemathesis generates from inkube's OpenAPI documents never cause a server error.

For one path after the other, it sends boundary values of the schemas and random ones. Half of the
requests are sent unchanged, half name an existing object, so that they get further than a 404.
`INKUBE_FUZZ=20000 pytest …` runs longer; `INKUBE_FUZZ_SEED` repeats a run.
"""

import os
import random

import patience
import pytest
import requests
from hypothesis import configuration
from mutations import is_recorded

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
engine = pytest.importorskip("schemathesis.engine")

ROUNDS = int(os.environ.get("INKUBE_FUZZ", "250"))
SEED = int(os.environ.get("INKUBE_FUZZ_SEED", "1"))
SAMPLE = 0.2  # of the boundary values, which are hundreds for each operation
EXAMPLES = 5  # random requests for each operation
PATIENCE = 30 * patience.PATIENCE


class Probe:
    """Sends requests to one path of a document, and stores the errors."""

    def __init__(self, url):
        self._url = url
        self._rng = random.Random(SEED)
        self.sent = 0
        self.wrong = []

    def run(self, document, path):
        """Test every operation of the path."""
        part = {**document, "paths": {path: document["paths"][path]}}
        schema = schemathesis.openapi.from_dict(part, config=self._config())
        self._hook(schema)
        for event in engine.from_schema(schema).execute():
            if isinstance(event, engine.events.NonFatalError):
                self.wrong.append((path, str(event.info)))
            elif isinstance(event, engine.events.ScenarioFinished):
                self.wrong += [
                    (path, str(check.failure_info.failure), check.failure_info.code_sample)
                    for checks in event.recorder.checks.values()
                    for check in checks
                    if check.failure_info
                ]

    def _config(self):
        return schemathesis.Config.from_dict({
            "base-url": self._url,
            "seed": self._rng.getrandbits(32),
            "request-timeout": PATIENCE,
            "continue-on-failure": True,
            "checks": {"enabled": False, "not_a_server_error": {"enabled": True}},
            "generation": {"max-examples": EXAMPLES, "no-shrink": True, "database": "none"},
            "phases": {"examples": {"enabled": False}, "stateful": {"enabled": False}},
        })  # fmt: skip

    def _hook(self, schema):
        """Hooks that change generated requests; schemathesis finds hooks by name."""

        @schema.hook
        def filter_case(context, case):
            # a part of the boundary values suffices; every random one is sent
            return case.meta.phase.name.value != "coverage" or self._rng.random() < SAMPLE

        @schema.hook
        def map_case(context, case):
            if "watch" in (case.query or {}) or "/watch/" in case.path:
                case.query = {**(case.query or {}), "timeoutSeconds": "1"}  # no watch is endless
            elif self._rng.random() < 0.5:
                aim(case)
            return case

        @schema.hook
        def after_call(context, case, response):
            self.sent += 1

        @schema.hook
        def filter_failure(context, failure, case, response):
            return response.status_code != 500 or not is_recorded(response.json())


def aim(case):
    """Let a request name an object that may exist, with a body of the right kind."""
    names = {"namespace": "default", "name": "aimed"}
    case.path_parameters = {name: names.get(name, "x") for name in case.path_parameters or {}}
    case.query = {"fieldManager": "f", "force": "true"} if case.method == "PATCH" else {}
    kind = case.operation.definition.raw.get("x-kubernetes-group-version-kind")
    if kind and isinstance(case.body, dict):
        api_version = f"{kind['group']}/{kind['version']}".lstrip("/")
        case.body = {
            **case.body,
            "apiVersion": api_version,
            "kind": kind["kind"],
            "metadata": {"name": "aimed"},
        }


def targets(url):
    """Yield documents with one of their paths, as many as needed; each group equally often."""
    rng = random.Random(SEED)
    links = requests.get(f"{url}/openapi/v3", timeout=PATIENCE).json()["paths"]
    documents = {}
    while True:
        group = rng.choice(sorted(links))
        if group not in documents:
            answer = requests.get(url + links[group]["serverRelativeURL"], timeout=PATIENCE)
            if answer.status_code == 404:  # a request has deleted the definition
                del links[group]
                continue
            documents[group] = answer.json()
        yield documents[group], rng.choice(sorted(documents[group]["paths"]))


def clear(url, path):
    """Delete everything that requests to a path stored, because a webhook or policy would affect
    later ones."""
    place = path.replace("{namespace}", "default").partition("/{name}")[0]
    if "{" not in place:
        requests.delete(url + place, json={"gracePeriodSeconds": 0}, timeout=PATIENCE)


@pytest.fixture(autouse=True)
def _home(tmp_path):
    """Use a temporary folder for Hypothesis' database."""
    configuration.set_hypothesis_home_dir(tmp_path)
    yield
    configuration.set_hypothesis_home_dir(None)


@pytest.mark.timeout(400 + ROUNDS / 10)  # a request without a response is given up after PATIENCE
def test_no_request_that_the_documents_suggest_is_an_error(apart, memory):
    probe = Probe(apart.url)
    for document, path in targets(apart.url):
        if memory.due(probe.sent):
            memory.begin()

        probe.run(document, path)
        clear(apart.url, path)
        assert not probe.wrong
        if probe.sent >= ROUNDS:
            break
    assert requests.get(f"{apart.url}/readyz", timeout=PATIENCE).text == "ok"
    memory.check()
