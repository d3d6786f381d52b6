"""Leader election with a clock that tests control: a model with three candidates."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import within

from inkube import APIServer
from inkube.controllers.client import Selection, get_or_none
from inkube.controllers.clock import FakeClock
from inkube.controllers.election import LEASES, Elector, LeaseName, Term, Timing
from inkube.controllers.informer import Informers
from inkube.schemas import status

PLACE = LeaseName("kube-system", "tested")
NAMES = ("a", "b", "c")
TIMING = Timing()
NUMBERS = st.sampled_from(range(len(NAMES)))


class Breakable:
    """A client that can be disconnected."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.is_cut = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            if self.is_cut:
                raise status.unavailable("cut off")
            return await found(*arguments, **named)

        return found if name == "watch" else call


class World:
    """Electors on one server, and the state of the model."""

    def __init__(self, server: APIServer) -> None:
        self.clock = FakeClock()
        self.clients = [Breakable(server.client) for _ in NAMES]
        self.gone: set[str] = set()
        self.electors = [
            Elector(
                client, self.clock, PLACE, name, timing=TIMING, has_ended=self.gone.__contains__
            )
            for name, client in zip(NAMES, self.clients, strict=True)
        ]
        self.until = dict.fromkeys(NAMES, 0.0)
        """For each leader, the time until which it considers itself the leader."""
        self.server = server
        self.transitions: list[tuple[int, str]] = []

    async def attempt(self, number: int) -> None:
        name, began = NAMES[number], self.clock.monotonic()
        if name in self.gone:
            return
        try:
            term = await self.electors[number].attempt()
        except status.StatusError:
            if not self.clients[number].is_cut:
                raise
            return
        if term is None:
            self.until[name] = 0.0
            return
        assert term.holder == name
        self.until[name] = began + TIMING.deadline
        if not self.transitions or self.transitions[-1][0] != term.transitions:
            self.transitions.append((term.transitions, name))
        assert self.transitions[-1] == (term.transitions, name)

    async def give_back(self, number: int) -> None:
        await self.electors[number].release()
        self.until[NAMES[number]] = 0.0

    def leaders(self) -> list[str]:
        now = self.clock.monotonic()
        return [name for name, end in self.until.items() if now < end and name not in self.gone]


STEPS = st.one_of(
    st.tuples(st.just("attempt"), NUMBERS),
    st.tuples(st.just("attempt"), NUMBERS),
    st.tuples(st.just("pass"), st.floats(0.1, 20.0)),
    st.tuples(st.just("cut"), NUMBERS),
    st.tuples(st.just("mend"), NUMBERS),
    st.tuples(st.just("give back"), NUMBERS),
    st.tuples(st.just("die"), NUMBERS),
)


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=40)
def test_at_most_one_leads_and_somebody_does_in_the_end(steps: list[tuple[str, Any]]):
    asyncio.run(_hold(steps))


async def _hold(steps: list[tuple[str, Any]]) -> None:
    async with APIServer(modules="none", controllers=False) as server:
        world = World(server)
        for step, detail in steps:
            if step == "attempt":
                await world.attempt(detail)
            elif step == "pass":
                world.clock.advance(detail)
            elif step == "give back":
                await world.give_back(detail)
            elif step == "die":
                world.gone.add(NAMES[detail])
            else:
                world.clients[detail].is_cut = step == "cut"
            assert len(world.leaders()) <= 1
        numbers = [number for number, _ in world.transitions]
        assert numbers == sorted(set(numbers)), "each change of the leader counts"
        living = [number for number, name in enumerate(NAMES) if name not in world.gone]
        for _ in range(2):
            for number in living:
                world.clients[number].is_cut = False
                await world.attempt(number)
            world.clock.advance(0 if world.leaders() else TIMING.duration)
        assert len(world.leaders()) == bool(living)


class Candidate:
    """A running elector; `leads` and `rests` are set by its callbacks."""

    def __init__(self, server: APIServer, clock: FakeClock, name: str) -> None:
        self.client = Breakable(server.client)
        self.elector = Elector(self.client, clock, PLACE, name, timing=TIMING)
        self.informers = Informers(self.client, clock)
        self.told: asyncio.Queue[str] = asyncio.Queue()

    @contextlib.asynccontextmanager
    async def running(self) -> Any:
        async def lead(term: Term) -> None:
            self.told.put_nowait("leads")

        async def rest() -> None:
            self.told.put_nowait("rests")

        taken = asyncio.Event()
        self.informers.start()
        job = asyncio.create_task(self.elector.run(lead, rest, self.informers, taken.set))
        try:
            async with within():
                await taken.wait()
                yield self
        finally:
            job.cancel()
            await asyncio.gather(job, return_exceptions=True)
            await self.elector.release()
            await self.informers.stop()


@pytest.fixture
async def server() -> Any:
    async with APIServer(modules="none", controllers=False) as running:
        yield running


async def test_a_waiting_server_takes_over_a_released_lease_at_once(server: APIServer):
    clock = FakeClock()
    second = Candidate(server, clock, "second")
    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(Candidate(server, clock, "first").running())
        assert await first.told.get() == "leads"
        async with second.running():
            assert second.elector.holder == "first"
            await second.informers.of(LEASES, _selection()).wait_synced()
            await stack.aclose()
            assert await second.told.get() == "leads"


async def test_a_leader_that_is_cut_off_rests_before_another_leads(
    server: APIServer, caplog: pytest.LogCaptureFixture
):
    clock = FakeClock()
    async with (
        Candidate(server, clock, "first").running() as first,
        Candidate(server, clock, "second").running() as second,
    ):
        assert await first.told.get() == "leads"
        first.client.is_cut = True
        await _pass(clock, first.told.empty)
        assert TIMING.deadline <= clock.monotonic() <= TIMING.deadline + TIMING.retry
        assert first.told.get_nowait() == "rests"
        assert second.told.empty()
        assert "the lease was not renewed for 10 s: this server rests" in caplog.text
        await _pass(clock, second.told.empty)
        assert TIMING.duration <= clock.monotonic() <= TIMING.duration + 2 * TIMING.retry
        first.client.is_cut = False
        until = 3 * TIMING.duration
        await _pass(clock, lambda: clock.monotonic() < until)
        assert first.told.empty()
        assert [second.told.get_nowait(), second.told.empty()] == ["leads", True]


async def _pass(clock: FakeClock, goes_on: Callable[[], bool]) -> None:
    """Advance time in steps that are long enough for every candidate to finish its work."""
    while goes_on():
        clock.advance(TIMING.retry / 2)
        for _ in range(100):
            await asyncio.sleep(0)


def _selection() -> Selection:
    return Selection(PLACE.namespace, fields=f"metadata.name={PLACE.name}")


async def test_a_server_that_stops_in_any_turn_of_its_start_leaves_the_lease_to_others(
    server: APIServer,
):
    """Also between the write of the lease and the knowledge of it."""
    clock = FakeClock()
    leads = False
    turns = 0
    while not leads:
        candidate = Candidate(server, clock, f"stopped in turn {turns}")
        candidate.informers.start()
        known = asyncio.Event()

        async def change(_: object = None) -> None:
            pass

        job = asyncio.create_task(
            candidate.elector.run(change, change, candidate.informers, known.set)
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        leads = known.is_set()
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
        await candidate.elector.release()
        await candidate.informers.stop()
        lease = await get_or_none(server.client, LEASES, PLACE.name, PLACE.namespace)
        assert lease is None or Term.of(lease).holder == "", turns
        turns += 1
