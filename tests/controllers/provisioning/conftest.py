"""A real server with provisioning and a clock that tests control, and helpers for tests."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock

VERSIONS = {
    "repositories": "provisioning.grafana.app/v0alpha1",
    "connections": "provisioning.grafana.app/v0alpha1",
    "jobs": "provisioning.grafana.app/v0alpha1",
    "historicjobs": "provisioning.grafana.app/v0alpha1",
    "githosts": "world.inkube.dev/v1",
    "githubapps": "world.inkube.dev/v1",
}
PLURALS = {"Repository": "repositories"}


class Provisioned:
    """A server. Dry runs and `request` use HTTP, everything else runs in process."""

    def __init__(self, api, session):
        self.api = api
        self.client = api.client
        self.clock = api.clock
        self.settled = api.settled
        self._session = session

    async def request(self, method, path, **options):
        """Send a request; return code, headers and parsed body."""
        async with self._session.request(method, self.api.url + path, **options) as response:
            return response.status, response.headers, await response.json(content_type=None)

    async def create(self, obj):
        return await self.client.create(obj)

    async def replace(self, obj):
        """Read the newest version, and update the object."""
        kind, metadata = _plural(obj), obj["metadata"]
        stored = await self.get(kind, metadata["name"])
        version = stored["metadata"]["resourceVersion"]
        return await self.client.update(
            {**obj, "metadata": {**metadata, "resourceVersion": version}}
        )

    async def dry_run(self, obj):
        """Return the causes of a dry-run create; [] if it succeeds."""
        path = f"{_path(_plural(obj))}?dryRun=All"
        code, _, body = await self.request("POST", path, json=obj)
        if code == 201:
            assert "observedGeneration" not in body.get("status", {})
            return []
        return body["details"]["causes"] if code == 422 else [body]

    async def get(self, kind, name="a"):
        return await self.client.get(f"{VERSIONS[kind]}/{kind}", name, "ns")

    async def delete(self, kind, name):
        return await self.client.delete(f"{VERSIONS[kind]}/{kind}", name, "ns")

    async def errors(self, kind, name="a"):
        """`status.fieldErrors` after the server has settled."""
        await self.settled()
        return (await self.get(kind, name)).get("status", {}).get("fieldErrors")

    async def edit(self, kind, name, **spec):
        resource = f"{VERSIONS[kind]}/{kind}"
        return await self.client.patch(resource, name, "ns", patch={"spec": spec})

    async def recheck(self, seconds=60):
        """Advance the clock so that rechecks become due, and wait until they finish."""
        await self.settled()
        self.clock.advance(seconds)
        for _ in range(20):
            await asyncio.sleep(0)
        await self.settled()


@pytest.fixture
def provisioned():
    """`async with provisioned(option=…) as server`: offline and without retries by default. Creates
    the namespace, unless it is None because it already exists."""

    @asynccontextmanager
    async def run(namespace="ns", **options):
        options = {"offline": True, "retry_seconds": 0.0, "max_repositories": 0, **options}
        clock = FakeClock(ticking=True)
        async with (
            APIServer(clock=clock, **options) as api,
            aiohttp.ClientSession() as session,
        ):
            if namespace is not None:
                head = {"apiVersion": "v1", "kind": "Namespace"}
                await api.client.create({**head, "metadata": {"name": namespace}})
            yield Provisioned(api, session)

    return run


@pytest.fixture
async def server(provisioned):
    """A server with the scripted world."""
    async with provisioned() as made:
        yield made


def _plural(obj):
    return PLURALS.get(obj["kind"], f"{obj['kind'].lower()}s")


def _path(plural):
    where = "namespaces/ns/" if plural in ("repositories", "connections") else ""
    return f"/apis/{VERSIONS[plural]}/{where}{plural}"
