"""Recorded conversations with random changes: every request gets a response, none a server error.

They get further than random bodies, because their kinds, policies, webhooks and subresources exist.
`INKUBE_FUZZ=20000 pytest …` runs longer; `INKUBE_FUZZ_SEED` repeats a run.
"""

import copy
import json
import os
import random
from pathlib import Path

import pytest
import yaml
from mutations import ACCEPT, MEDIA, PROTOBUF, QUERIES, encode, is_recorded, mutate, packed
from replay import expand, expand_crd

CONFORMANCE = Path(__file__).parents[3] / "conformance"

ROUNDS = int(os.environ.get("INKUBE_FUZZ", "400"))
SEED = int(os.environ.get("INKUBE_FUZZ_SEED", "1"))
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300 + ROUNDS / 10)]
WARM_UP = 20_000  # requests; by then most conversations were held
LATE = 5.0  # seconds of work until an answer
PATIENCE = 1_000  # times that a definition is looked at until it is served

SEGMENTS = [
    "status", "scale", "log", "exec", "binding", "eviction", "token", "approval", "finalize", "v1",
    "default", "..", "%00", "%2e", "A", "", "x" * 300, "v9", "namespaces", "*", "resize", "proxy",
    "ephemeralcontainers", "portforward",
]  # fmt: skip
RULING = [  # what one conversation leaves would rule the next
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/resourcequotas",
    "/api/v1/namespaces/default/limitranges",
    "/api/v1/namespaces/default/pods",
]  # fmt: skip


def conversations():
    """Yield each case with its requests: definitions and objects first, then the steps."""
    for path in sorted((CONFORMANCE / "cases").glob("*.yaml")):
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            case = yaml.load(path.read_text(), Loader=loader)
        except yaml.YAMLError:  # the parser in C supports more than the one in Python
            continue
        group = f"{path.stem}.fuzz.example.com"
        names = {"group": group, "ns": "default", "run": "fuzz", "rv": "1", "uid": "u"}
        found = [
            ("POST", RULING[4], MEDIA[0], expand_crd(expand(given["crd"], names), group))
            if "crd" in given
            else ("POST", given["at"], MEDIA[0], given["object"])
            for given in case.get("given", ())
        ]
        for step in case["steps"]:
            if step.get("do") and "open" not in step:
                method, _, target = step["do"].partition(" ")
                found.append((method, target, step.get("type", MEDIA[0]), step.get("body")))
        yield [
            (method, expand(target, names), media, expand(body, names))
            for method, target, media, body in found
        ]


def changed_path(rng, target):
    """Return another path or query."""
    path, _, query = target.partition("?")
    parts = path.split("/")
    at, action = rng.randrange(1, len(parts)) if len(parts) > 1 else 0, rng.randrange(4)
    if action == 0:
        parts[at] = rng.choice(SEGMENTS)
    elif action == 1:
        parts.append(rng.choice(SEGMENTS))
    elif action == 2 and at:
        del parts[at]
    else:
        query = "&".join(part for part in (query, rng.choice(QUERIES)) if part)
    return "/".join(parts) + (f"?{query}" if query else "")


def changed(rng, request):
    """Return the request to send: method, target, media type, bytes, Accept."""
    method, target, media, body = request
    if rng.random() < 0.2:
        target = changed_path(rng, target)
    if not isinstance(body, str | None):
        body = copy.deepcopy(body)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            body = mutate(rng, body)
    if rng.random() < 0.05:
        media = rng.choice(MEDIA)
    if rng.random() < 0.05:
        method = rng.choice(["GET", "POST", "PUT", "PATCH", "DELETE"])
    data: bytes | None
    if isinstance(body, str):
        data = body.encode("utf-8", "surrogatepass")
    elif body is not None and method in ("POST", "PUT") and rng.random() < 0.1:
        media, data = PROTOBUF, packed(rng, body)
    else:
        data = None if body is None else encode(rng, body)
    return method, target, media, data, rng.choice(ACCEPT) if rng.random() < 0.2 else "*/*"


async def converse(rng, web, requests):
    """Send the requests of one conversation; return their number."""
    for request in requests:
        sent = request
        if rng.random() < (0.1 if request[1] == RULING[4] else 0.5):
            method, target, media, data, accept = sent = changed(rng, request)
        else:  # unchanged, so that later steps find something
            method, target, media, body = request
            data = body.encode() if isinstance(body, str) else body and json.dumps(body).encode()
            accept = "*/*"
        if "watch" in target:
            if rng.random() < 0.95:
                continue  # it takes a second
            path, _, query = target.partition("?")
            target = f"{path}?timeoutSeconds=1&{query}"  # the first value is used
        before = web.server.work
        try:
            answer = await web.ask(method, target, data, Content_Type=media, Accept=accept)
        except TimeoutError:
            raise AssertionError(f"no answer to {sent}") from None
        work = web.server.work - before
        assert b"see the log" not in answer.body, (sent, answer.body)
        assert answer.code < 505, (sent, answer.body)
        if answer.code == 500 and PROTOBUF not in answer.headers["Content-Type"]:
            status = yaml.safe_load(answer.body)  # without a reason: a plain error of a Go library
            assert "reason" not in status or is_recorded(status), (sent, answer.body)
        assert work < LATE, (sent, work)
        if answer.code == 201 and target == RULING[4]:
            await established(web, answer)
    return len(requests)


async def established(web, created):
    """Wait until a definition is served, or known to be never served."""
    if created.headers["Content-Type"] != "application/json":
        return
    if created.json["kind"] != "CustomResourceDefinition":  # a Table of it
        return
    path = f"{RULING[4]}/{created.json['metadata']['name']}"
    for _ in range(PATIENCE):
        found = await web.ask("GET", path)
        conditions = found.code == 200 and found.json["status"].get("conditions")
        if any(condition["type"] == "Established" for condition in conditions or ()):
            return
    raise AssertionError(f"{path} has no condition Established")


async def clear(web, path):
    """Delete a collection, ignoring its authorization."""
    found = await web.ask("GET", path)
    for item in found.json["items"] if found.code == 200 else ():
        one = f"{path}/{item['metadata']['name']}"
        await web.patch(one, {"metadata": {"finalizers": None}})
        await web.ask("DELETE", one, {"gracePeriodSeconds": 0})


async def test_no_change_of_a_recorded_request_is_an_error(web, memory):
    rng = random.Random(SEED)
    cases = list(conversations())
    number = 0
    while number < ROUNDS:
        if memory.due(number):
            memory.begin()
        number += await converse(rng, web, rng.choice(cases))
        for path in RULING:
            await clear(web, path)
    assert (await web.ask("GET", "/readyz")).body == b"ok"
    memory.check()


@pytest.fixture(scope="module")
def server(apart):
    return apart
