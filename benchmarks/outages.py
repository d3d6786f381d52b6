"""The time until a status reports the failure of an outside system: 503, no response, a closed
port.

Real requests are sent to a host in this process. The clock is moved in steps of one second. The
result is the number of seconds of this clock from the end of a healthy check, which is the longest
possible wait.
"""

import asyncio
from collections.abc import Iterable
from typing import Self

from aiohttp import web

from benchmarks import figures, objects
from benchmarks.figures import Figure
from benchmarks.objects import Object
from inkube import APIServer
from inkube.controllers.clock import FakeClock

GVR = "provisioning.grafana.app/v0alpha1/repositories"
INTERVAL = 300.0
PATIENCE = 0.2
"""Time limit of a request in real seconds. The clock does not move meanwhile."""
OUTAGES = ("answers 503", "does not answer", "refuses connections")
HOST = objects.new(
    "world.inkube.dev/v1",
    "GitHost",
    "git.example",
    spec={"repositories": [{"path": "team/dash", "branches": ["main"]}]},
)


def measure() -> Iterable[Figure]:
    limit = INTERVAL + 1
    for outage in OUTAGES:
        told = asyncio.run(_of_a_host(outage))
        yield Figure(f"a host {outage}: until the status tells", told, "s", at_most=limit)
    told = asyncio.run(_of_a_new_object())
    yield Figure("a host answers 503: until a new object tells", told, "s", at_most=1)
    told = asyncio.run(_of_the_world())
    yield Figure("a scripted host answers 503: until the status tells", told, "s", at_most=1)


class _GitLab:
    """The three endpoints that checks use, and their failures."""

    def __init__(self) -> None:
        self.outage = ""
        self.url = ""
        self._runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
        self._over = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._over.set()
        await self._runner.cleanup()

    async def fail(self, outage: str) -> None:
        """Fail in this way from now on."""
        self.outage = outage
        if outage == "refuses connections":
            await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.outage == "answers 503":
            return web.json_response({}, status=503)
        if self.outage == "does not answer":
            await self._over.wait()
        branch = {"name": "main", "commit": {"id": "0" * 40}, "can_push": True}
        if "/branches/" in request.path:
            return web.json_response(branch)
        if request.path.endswith("/branches"):
            return web.json_response([branch])
        access = {"access_level": 40}
        project = {"default_branch": "main", "permissions": {"project_access": access}}
        return web.json_response(project)


async def _of_a_host(outage: str) -> float:
    """Return the seconds from a healthy check to a status that reports the failure."""
    clock = FakeClock()
    async with _GitLab() as host, _server(clock) as server:
        await server.client.create(_repository("gitlab", f"{host.url}/team/dash"))
        await server.settled()
        status = await _status(server)
        assert status["health"]["healthy"], status["fieldErrors"]
        await host.fail(outage)
        return await _until_told(server, clock)


async def _of_a_new_object() -> float:
    clock = FakeClock()
    async with _GitLab() as host, _server(clock) as server:
        await host.fail("answers 503")
        await server.client.create(_repository("gitlab", f"{host.url}/team/dash"))
        return await _until_told(server, clock)


async def _of_the_world() -> float:
    clock = FakeClock()
    async with _server(clock) as server:
        await server.client.create(HOST)
        await server.client.create(_repository("git", "https://git.example/team/dash"))
        await server.settled()
        patch = {"spec": {"outage": {"code": 503}}}
        await server.client.patch("world.inkube.dev/v1/githosts", "git.example", patch=patch)
        return await _until_told(server, clock)


def _server(clock: FakeClock) -> APIServer:
    return APIServer(
        clock=clock, allow_private_hosts=True, outside_timeout=PATIENCE, recheck_healthy=INTERVAL
    )


async def _until_told(server: APIServer, clock: FakeClock) -> float:
    for second in range(int(2 * INTERVAL)):
        await server.settled()
        status = await _status(server)
        if status.get("fieldErrors"):
            [error] = status["fieldErrors"]
            assert error["detail"].startswith("failed to check if repository exists: "), error
            assert status["observedGeneration"] == 1, "what was found is of the newest spec"
            assert not status["health"]["healthy"], "an outage is no health"
            return second
        clock.advance(1)
        for _ in range(20):
            await asyncio.sleep(0)
    raise AssertionError("the status never tells")


async def _status(server: APIServer) -> Object:
    found: Object = (await server.client.get(GVR, "dash", "default"))["status"]
    return found


def _repository(kind: str, url: str) -> Object:
    spec = {"type": kind, kind: {"url": url, "branch": "main"}}
    return objects.new(
        "provisioning.grafana.app/v0alpha1", "Repository", "dash", "default", spec=spec
    )


if __name__ == "__main__":
    figures.main(measure)
