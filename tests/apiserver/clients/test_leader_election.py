"""Leader election of three clients with leases, as in client-go's leaderelection."""

import asyncio
import random
from datetime import datetime, timedelta

import aiohttp
import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock
from inkube.schemas.meta import format_micro_time

DURATION = 15
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


class Candidate:
    """A client with a clock; `attempt` is tryAcquireOrRenew."""

    def __init__(self, name, server, http, clock):
        self.name = name
        self._url = f"{server.url}{LEASES}"
        self._http = http
        self._clock = clock
        self._seen = None
        self._seen_at = None
        self.leads_until = None

    @property
    def is_leader(self):
        return self.leads_until is not None and self._clock.now() < self.leads_until

    async def attempt(self):
        """Acquire or renew the lease; return whether this client holds it."""
        lease = await self._read()
        if lease is None:
            body = {"metadata": {"name": "leader"}, "spec": self._spec(0, None)}
            return await self._write("POST", self._url, body)
        spec = lease["spec"]
        if (spec, lease["metadata"]["resourceVersion"]) != self._seen:
            self._seen = (spec, lease["metadata"]["resourceVersion"])
            self._seen_at = self._clock.now()
        ours = spec.get("holderIdentity") == self.name
        valid = self._clock.now() < self._seen_at + timedelta(seconds=spec["leaseDurationSeconds"])
        if valid and not ours and spec.get("holderIdentity"):
            return False
        changes = spec.get("leaseTransitions", 0) + (0 if ours else 1)
        since = spec.get("acquireTime") if ours else None
        lease["spec"] = self._spec(changes, since)
        return await self._write("PUT", f"{self._url}/leader", lease)

    async def release(self):
        lease = await self._read()
        lease["spec"] = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        self.leads_until = None
        await self._write("PUT", f"{self._url}/leader", lease, leads=False)

    def _spec(self, transitions, since):
        now = format_micro_time(self._clock.now())
        return {
            "holderIdentity": self.name,
            "leaseDurationSeconds": DURATION,
            "acquireTime": since or now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    async def _read(self):
        async with self._http.get(f"{self._url}/leader") as answer:
            return await answer.json() if answer.status == 200 else None

    async def _write(self, method, url, body, *, leads=True):
        async with self._http.request(method, url, json=body) as answer:
            if answer.status == 409:
                return False
            assert answer.status in (200, 201), await answer.text()
        if leads:
            self.leads_until = self._clock.now() + timedelta(seconds=DURATION)
        return leads


@pytest.fixture
async def race():
    clock = FakeClock(datetime.fromisoformat("2026-01-01T00:00:00Z"))
    async with APIServer() as server, aiohttp.ClientSession() as http:
        yield clock, [Candidate(name, server, http, clock) for name in ("a", "b", "c")]


async def test_of_three_who_try_at_once_one_wins(race):
    _, candidates = race
    for _ in range(5):
        outcomes = await asyncio.gather(*(each.attempt() for each in candidates))
        assert outcomes.count(True) == 1
        assert sum(each.is_leader for each in candidates) == 1
        winner = candidates[outcomes.index(True)]
        await winner.release()


async def test_a_leader_who_renews_stays_and_one_who_does_not_is_followed(race):
    clock, (one, two, three) = race
    assert await one.attempt()
    for _ in range(3):
        clock.advance(10)
        assert await one.attempt()
        assert not await two.attempt()
        assert not await three.attempt()
    clock.advance(DURATION + 1)
    assert not one.is_leader
    assert [await two.attempt(), await three.attempt()] == [True, False]
    assert not await one.attempt()


async def test_transitions_are_counted(race):
    clock, (one, two, _) = race
    await one.attempt()
    await two.attempt()
    clock.advance(DURATION + 1)
    assert await two.attempt()
    lease = await two._read()
    assert lease["spec"]["leaseTransitions"] == 1
    assert lease["spec"]["acquireTime"] == "2026-01-01T00:00:16.000000Z"


async def test_there_are_never_two_leaders_whatever_the_clock_does(race):
    clock, candidates = race
    chance = random.Random(7)
    terms = set()
    for _ in range(60):
        clock.advance(chance.choice([0, 1, 4, 9, 16]))
        trying = chance.sample(candidates, k=chance.randint(1, 3))
        await asyncio.gather(*(each.attempt() for each in trying))
        leaders = [each.name for each in candidates if each.is_leader]
        assert len(leaders) <= 1
        terms.update(leaders)
    assert terms == {"a", "b", "c"}
