"""The namespaces that a server in memory begins with: the first of a process, and later ones."""

from datetime import datetime, timedelta

from inkube import APIServer
from inkube.schemas import caches

NAMES = ["default", "kube-node-lease", "kube-public", "kube-system"]


async def begun(**options):
    """Return the namespaces of a new server, and its clock and revision when it was ready."""
    async with APIServer(**options) as server:
        found = await server.client.list("v1/namespaces")
        return found.items, server.clock.now(), found.resource_version


def told(items):
    """Return the objects without what differs between two servers."""
    bare = []
    for each in items:
        meta = {**each["metadata"], "uid": "", "creationTimestamp": ""}
        meta["managedFields"] = [{**entry, "time": ""} for entry in meta["managedFields"]]
        bare.append({**each, "metadata": meta})
    return bare


async def test_later_servers_begin_with_the_same_namespaces_with_uids_and_times_of_their_own():
    caches.empty_all()
    one, two, three = [await begun() for _ in range(3)]
    assert [each["metadata"]["name"] for each in one[0]] == NAMES
    assert told(one[0]) == told(two[0]) == told(three[0])
    assert one[2] == two[2] == three[2]
    uids = [each["metadata"]["uid"] for items, _, _ in (one, two, three) for each in items]
    assert len(set(uids)) == 12


def test_times_are_of_the_start(kube, kube_factory):
    kube.advance(86_400)
    late = kube_factory(clock=kube.clock)
    for server, day in ((kube, -1), (late, 0)):
        for each in server.client.list("v1/namespaces"):
            meta = each["metadata"]
            made = datetime.fromisoformat(meta["creationTimestamp"])
            assert abs(made - kube.clock.now() - timedelta(days=day)) < timedelta(hours=1)
            assert [entry["time"] for entry in meta["managedFields"]] == [meta["creationTimestamp"]]


async def test_the_history_of_the_first_namespaces_can_be_watched():
    for _ in range(2):
        async with APIServer() as server:
            names = []
            async for event in server.client.watch("v1/namespaces", resource_version="100"):
                names.append((event.type, event.object["metadata"]["name"]))
                if len(names) == len(NAMES):
                    break
            assert sorted(names) == [("ADDED", name) for name in NAMES]


async def test_a_minor_begins_with_what_it_makes():
    caches.empty_all()
    for version in ("1.33", "1.36", "1.33"):
        items, _, _ = await begun(kubernetes_version=version)
        assert [each["metadata"]["name"] for each in items] == NAMES


async def test_the_same_seed_gives_the_same_uids_and_times():
    one, _, _ = await begun(seed=7)
    await begun()
    two, _, _ = await begun(seed=7)
    assert one == two
