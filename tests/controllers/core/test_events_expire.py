"""Events are deleted an hour after their last write, by the server's clock."""

from datetime import timedelta

import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock

EVENTS = "v1/events"


def event(name):
    meta = {"name": name, "namespace": "default"}
    about = {"kind": "ConfigMap", "name": "a", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about}


async def names(server):
    found = await server.client.list(EVENTS)
    return {obj["metadata"]["name"] for obj in found.items}


async def test_an_event_expires_and_a_newer_one_stays():
    clock = FakeClock(ticking=True)
    async with APIServer(clock=clock, event_ttl=600) as server:
        await server.client.create(event("old"))
        await server.settled()
        clock.advance(400)
        await server.client.create(event("new"))
        await _gone(server, clock, 205, "old")
        assert await names(server) == {"new"}


async def test_an_event_that_is_written_again_lives_on():
    clock = FakeClock(ticking=True)
    async with APIServer(clock=clock, event_ttl=600) as server:
        await server.client.create(event("counted"))
        await server.client.create(event("once"))
        clock.advance(400)
        await server.client.patch(EVENTS, "counted", "default", patch={"count": 2})
        await _gone(server, clock, 205, "once")
        assert await names(server) == {"counted"}


async def test_an_event_of_the_far_future_holds_up_no_other():
    clock = FakeClock(ticking=True)
    far = event("far")
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    owned = {**entry, "fieldsV1": {"f:count": {}}, "time": "9999-12-31T23:59:59Z"}
    far["metadata"]["managedFields"] = [owned]
    async with APIServer(clock=clock, event_ttl=600) as server:
        await server.client.create(far)
        await server.client.create(event("old"))
        await _gone(server, clock, 605, "old")
        assert await names(server) == {"far"}


class SetClock(FakeClock):
    """A clock that can be set: its wall time changes, its monotonic time does not."""

    ahead = timedelta()

    def now(self):
        return super().now() + self.ahead


@pytest.mark.parametrize("jumps", [(86400,), (300, 86400), (86400, 300, 700)])
async def test_events_do_not_expire_when_the_clock_is_set_ahead(jumps):
    """As leases of etcd, which use monotonic time."""
    clock = SetClock(ticking=True)
    async with APIServer(clock=clock, event_ttl=600) as server:
        await server.client.create(event("first"))
        await server.settled()
        clock.advance(200)
        await server.client.create(event("before"))
        for seconds in jumps:
            clock.ahead += timedelta(seconds=seconds)
        await server.client.create(event("after"))
        await _gone(server, clock, 405, "first")
        assert await names(server) == {"before", "after"}
        clock.ahead += timedelta(seconds=5000)
        await server.client.create(event("last"))
        await _gone(server, clock, 205, "before")
        await server.settled()
        assert await names(server) == {"last"}
        await _gone(server, clock, 605, "last")


async def _gone(server, clock, seconds, name):
    """Advance the clock, and wait for the deletion of an event."""
    revision = await server.client.revision(EVENTS)
    clock.advance(seconds)
    async for seen in server.client.watch(EVENTS, resource_version=revision):
        if seen.type == "DELETED" and seen.object["metadata"]["name"] == name:
            return
