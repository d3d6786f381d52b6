"""The proxy of a service reaches an address given by the operator, and endpoints that are not
pods."""

import socket

import aiohttp
import pytest
from aiohttp import web

from inkube import APIServer

SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture
async def backend():
    """The port of a small HTTP server on every address of this machine."""

    async def answer(request):
        return web.json_response({"method": request.method, "path": request.path_qs})

    made = web.Application()
    made.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(made)
    await runner.setup()
    site = web.TCPSite(runner, "0.0.0.0", 0)
    await site.start()
    yield site._server.sockets[0].getsockname()[1]
    await runner.cleanup()


def own_address():
    """Return an address of this machine that others can reach; no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        try:
            found.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return found.getsockname()[0]


async def asked(server, path):
    async with aiohttp.ClientSession(server.url) as http, http.post(path) as answer:
        return answer.status, await answer.json()


def service():
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    }


@pytest.mark.parametrize("port", ["", ":80", ":http"])
async def test_an_address_that_was_given_is_reached(backend, port):
    async with APIServer(service_addresses=[f"default/s=127.0.0.1:{backend}"]) as server:
        await server.client.create(service())
        found = await asked(server, f"{SERVICES}/s{port}/proxy/a/b?c=d")
        assert found == (200, {"method": "POST", "path": "/a/b?c=d"})
        code, refused = await asked(server, f"{SERVICES}/none{port}/proxy/")
        assert (code, refused["reason"]) == (404, "NotFound")


async def test_names_that_begin_with_proxy_are_no_subresource(backend):
    async with APIServer(service_addresses=[f"proxy-n/proxy=127.0.0.1:{backend}"]) as server:
        made = service()
        made["metadata"] = {"name": "proxy", "namespace": "proxy-n"}
        await server.client.create({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "proxy-n"}
        })  # fmt: skip
        await server.client.create(made)
        found = await asked(server, "/api/v1/namespaces/proxy-n/services/proxy/proxy/proxy/a/")
        assert found == (200, {"method": "POST", "path": "/proxy/a/"})


async def test_a_policy_changes_the_path(backend):
    """It sees the path with its slashes (handlers/get.go, getRequestOptions)."""
    expression = "Object{path: object.path.startsWith('/a/') ? '/b' + object.path : 'c'}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services/proxy"]}
    name, group = {"name": "path"}, "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicy",
        "metadata": name,
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "operations": ["CONNECT"]}]},
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": expression},
                }
            ],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": name,
        "spec": {"policyName": "path"},
    }
    async with APIServer(service_addresses=[f"default/s=127.0.0.1:{backend}"]) as server:
        for obj in (service(), policy, binding):
            await server.client.create(obj)
        for path, changed in (("a/?x=y", "/b/a/?x=y"), ("b", "/c")):
            found = await asked(server, f"{SERVICES}/s/proxy/{path}")
            assert found == (200, {"method": "POST", "path": changed})


async def test_endpoints_that_are_no_pods_are_reached(backend):
    subset = {
        "addresses": [{"ip": own_address()}],
        "ports": [{"name": "http", "port": backend}, {"name": "other", "port": 1}],
    }
    meta = {"name": "s", "namespace": "default"}
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}
    async with APIServer() as server:
        await server.client.create(service())
        await server.client.create(endpoints)
        found = await asked(server, f"{SERVICES}/s:http/proxy/a")
        assert found == (200, {"method": "POST", "path": "/a"})


async def test_an_address_where_nobody_listens_is_unavailable():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        async with APIServer(service_addresses=[f"default/s={address}"]) as server:
            await server.client.create(service())
            code, refused = await asked(server, f"{SERVICES}/s/proxy/")
    assert (code, refused["reason"]) == (503, "ServiceUnavailable")
