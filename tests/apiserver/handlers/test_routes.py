"""A cached route gives the same responses as an uncached one, also when kinds come and go."""

import itertools
import random

import pytest

from inkube import APIServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOATS = "/apis/example.com/v1"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ODD")
PLACES = ("", "/namespaces/default")
KINDS = (
    ("/api/v1", "namespaces"), ("/api/v1", "nodes"), ("/api/v1", "pods"),
    ("/api/v1", "podtemplates"), ("/api/v1", "unknowns"),
    ("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews"),
    (BOATS, "boats"), ("/apis/example.com/v2", "boats"),
)  # fmt: skip
BELOW = ("", "/a", "/a%2F", "/..", "/a/status", "/a/scale", "/a/log", "/a/none", "/a/status/more")
QUERIES = ("", "?watch=1&resourceVersion=none", "?pretty=1")


async def asked(web, targets):
    """Return the responses without values that identify the request."""
    found = {}
    for method, path in targets:
        answer = await web.ask(method, path, b"{" if method in ("POST", "PUT", "PATCH") else None)
        found[method, path] = answer.code, answer.headers.get("Content-Type"), answer.body
    return found


async def test_a_repeated_request_has_the_same_response(web_of, boat_crd):
    """Invalid bodies change nothing, so no response depends on the order of requests."""
    rng = random.Random(7)
    every = [
        (method, f"{prefix}{place}/{plural}{below}{query}")
        for method, (prefix, plural), place, below, query in itertools.product(
            METHODS, KINDS, PLACES, BELOW, QUERIES
        )
        if not (method == "DELETE" and not below)
    ]
    chosen = rng.sample(every, 600)
    async with APIServer() as server, web_of(server) as web:
        await server.client.create(boat_crd)
        await server.settled()
        first = await asked(web, chosen)
        rng.shuffle(chosen)
        again = await asked(web, chosen)
    assert {key: told[:2] for key, told in again.items()} == {
        key: told[:2] for key, told in first.items()
    }
    refused = [key for key, told in first.items() if told[0] >= 400]
    assert {key: again[key] for key in refused} == {key: first[key] for key in refused}
    assert len({told[0] for told in first.values()}) > 4


async def test_a_kind_that_changes_its_scope_is_found_where_it_is(web_of, boat_crd):
    inside, outside = f"{BOATS}/namespaces/default/boats", f"{BOATS}/boats"
    body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "a"}}
    async with APIServer() as server, web_of(server) as web:
        for scope, place in (("Namespaced", inside), ("Cluster", outside)) * 2:
            crd = {**boat_crd, "spec": {**boat_crd["spec"], "scope": scope}}
            await server.client.create(crd)
            await server.settled()
            other = outside if place == inside else inside
            for _ in range(2):
                assert (await web.ask("GET", f"{place}/a")).code == 404
                assert (await web.ask("POST", place, body)).code == 201
                assert (await web.ask("GET", f"{place}/a")).code == 200
                assert (await web.ask("POST", other, body)).code == 404
                assert (await web.ask("DELETE", f"{place}/a")).code == 200
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com"
            assert (await web.ask("DELETE", path)).code == 200
            await server.settled()
            assert (await web.ask("GET", f"{place}/a")).code == 404
            assert (await web.ask("POST", place, body)).code == 404


async def test_a_version_that_is_no_longer_served_is_gone(web_of, boat_crd):
    async with APIServer() as server, web_of(server) as web:
        [v1] = boat_crd["spec"]["versions"]
        versions = [v1, {**v1, "name": "v2", "storage": False}]
        crd = {**boat_crd, "spec": {**boat_crd["spec"], "versions": versions}}
        await server.client.create(crd)
        await server.settled()
        own = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com"
        path = "/apis/example.com/v2/namespaces/default/boats"
        for served, code in ((True, 200), (False, 404), (True, 200)):
            versions[1]["served"] = served
            assert (await web.patch(own, {"spec": {"versions": versions}})).code == 200
            await server.settled()
            for _ in range(2):
                assert (await web.ask("GET", path)).code == code
