"""Concurrent clients find in each response what they wrote before."""

import asyncio

from aiohttp import ClientSession

from inkube import APIServer

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}


async def test_each_client_writes_after_its_own_last_write():
    """Each client patches one shared object and its own one, and finds in each response what it
    has written before."""
    async with APIServer() as server, ClientSession(server.url) as session:
        await _create(session, "shared")
        revisions = await asyncio.gather(*(_client(session, str(each)) for each in range(16)))
        async with session.get(f"{MAPS}/shared") as answer:
            shared = await answer.json()
    assert shared["data"] == {f"{client}.{step}": "x" for client in range(16) for step in range(5)}
    seen = [revision for each in revisions for revision in each]
    assert len(seen) == len(set(seen))


async def _create(session: ClientSession, name: str) -> None:
    async with session.post(MAPS, json={"metadata": {"name": name}}) as answer:
        assert answer.status == 201


async def _client(session: ClientSession, name: str) -> list[str]:
    await _create(session, f"own-{name}")
    revisions, written = [], {}
    for step in range(5):
        added = {f"{name}.{step}": "x"}
        written |= added
        for target in (f"own-{name}", "shared"):
            patch = session.patch(f"{MAPS}/{target}", json={"data": added}, headers=MERGE)
            async with patch as answer:
                found = await answer.json()
            assert answer.status == 200
            assert written.items() <= found["data"].items()
            revisions.append(found["metadata"]["resourceVersion"])
    return revisions
