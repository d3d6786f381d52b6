"""The Lease of an API server: created on the first read, renewed, recreated, collected."""

import json
import socket
from datetime import datetime, timedelta

import aiohttp
import pytest

from inkube import APIServer
from inkube.controllers.client import Selection
from inkube.controllers.clock import FakeClock
from inkube.controllers.core import identity

ALL = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
async def server():
    async with APIServer(clock=FakeClock(ticking=True)) as made:
        await listed(made)
        await made.settled()
        yield made


async def listed(server, query=""):
    """Return the Leases that a client reads over HTTP."""
    async with aiohttp.ClientSession() as http, http.get(server.url + ALL + query) as answer:
        assert answer.status == 200
        return (await answer.json())["items"]


async def until(server, is_so):
    """Wait until a change of the Leases meets the condition."""
    revision = await server.client.revision(identity.LEASES)
    changes = server.client.watch(identity.LEASES, resource_version=revision)
    while not is_so(await leases(server)):
        await anext(changes)
    await changes.aclose()


async def leases(server):
    """Return the Leases of API servers by name."""
    labels = f"{identity.LABEL}={identity.COMPONENT}"
    found = await server.client.list(identity.LEASES, Selection(identity.NAMESPACE, labels=labels))
    return {each["metadata"]["name"]: each for each in found.items}


def own():
    return identity.name_of(socket.gethostname())


def renewed(lease):
    return datetime.fromisoformat(lease["spec"]["renewTime"])


def test_a_name_is_what_upstream_makes_of_a_host():
    name = identity.name_of("host")
    assert name.startswith("apiserver-")
    assert len(name) == len("apiserver-") + 26
    assert name != identity.name_of("other")


async def test_a_first_look_finds_the_lease_of_this_server(server):
    (lease,) = (await leases(server)).values()
    assert lease["metadata"]["name"] == own()
    assert lease["metadata"]["labels"]["kubernetes.io/hostname"] == socket.gethostname()
    assert lease["spec"]["holderIdentity"].startswith(f"{own()}_")
    assert lease["spec"]["leaseDurationSeconds"] == identity.SECONDS


async def test_the_lease_does_not_expire_while_the_server_runs(server):
    for _ in range(4):
        before = renewed((await leases(server))[own()])
        server.clock.advance(identity.SECONDS / 3)
        await until(server, lambda found, before=before: renewed(found[own()]) > before)


async def test_a_deleted_lease_is_created_again(server):
    before = (await leases(server))[own()]
    await server.client.delete(identity.LEASES, own(), identity.NAMESPACE)
    await server.settled()
    assert (await leases(server))[own()]["metadata"]["uid"] != before["metadata"]["uid"]


async def test_leases_of_servers_that_have_gone_are_deleted(server):
    now = server.clock.now()
    for name, age in (("apiserver-gone", 2), ("apiserver-there", 0)):
        lease = identity.lease(now - timedelta(seconds=age * identity.SECONDS), "uid")
        lease["metadata"]["name"] = name
        await server.client.create(lease)
    await until(server, lambda found: set(found) == {own(), "apiserver-there"})
    server.clock.advance(identity.SECONDS)
    await until(server, lambda found: set(found) == {own()})


async def test_servers_without_controllers_of_kube_controller_manager_have_leases_too():
    """kube-apiserver itself creates, renews and deletes them."""
    async with APIServer(
        modules="none", controllers=False, clock=FakeClock(ticking=True)
    ) as server:
        revision = await server.client.revision(identity.LEASES)
        watch = f"{server.url}{ALL}?watch=1&resourceVersion={revision}"
        async with aiohttp.ClientSession() as http, http.get(watch) as answer:
            event = json.loads(await answer.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", own())
        [lease] = await listed(server, f"?labelSelector={identity.LABEL}={identity.COMPONENT}")
        assert lease["metadata"]["name"] == own()
        gone = identity.lease(server.clock.now() - timedelta(seconds=2 * identity.SECONDS), "uid")
        gone["metadata"]["name"] = "apiserver-gone"
        await server.client.create(gone)
        await until(server, lambda found: set(found) == {own()})


@pytest.mark.parametrize("namespace", ["default", identity.NAMESPACE])
async def test_a_server_settles_after_leases_that_are_no_identity(server, namespace):
    await server.parts.defaults.create_all()
    await server.settled()
    await server.client.create({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "other", "namespace": namespace},
        "spec": {},
    })  # fmt: skip
    await server.settled(5)
