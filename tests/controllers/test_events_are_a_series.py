"""Repetitions of an Event of events.k8s.io/v1 are a series, as with client-go/tools/events."""

import asyncio

import pytest
from patience import within

from inkube.controllers import eventseries
from inkube.controllers.eventnames import EventNames
from inkube.controllers.eventseries import FINISH, REFRESH, SeriesRecorder
from inkube.controllers.manager import Manager
from inkube.schemas.meta import format_micro_time
from inkube.schemas.status import unavailable

EVENTS = "events.k8s.io/v1/events"


def config_map(name="a"):
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
async def obj(client):
    return await client.create(config_map())


@pytest.fixture
async def manager(client, clock):
    async with Manager(client, clock) as made:
        yield made


@pytest.fixture
def recorder(client, clock, manager):
    made = SeriesRecorder(client, clock, EventNames(clock), "three")
    manager.add(made.controller("three-events"))
    return made


async def tell(recorder, obj, text="often", **changed):
    facts = {"kind": "Normal", "reason": "Told", "message": text, "action": "Telling", **changed}
    await recorder.record(obj, **facts)


async def stored(client):
    """Return the Events of the namespace, in the order of their names."""
    return (await client.list(EVENTS, "ns")).items


async def counts(client):
    """Return the count of each Event; None without a series."""
    return [each["series"]["count"] if "series" in each else None for each in await stored(client)]


@pytest.fixture
def counted(client, until):
    """Wait until the Events have these counts."""

    async def wait(*wanted):
        async def is_so():
            return await counts(client) == list(wanted)

        await until(is_so)

    return wait


async def test_the_second_occurrence_is_written_immediately(client, clock, recorder, obj):
    await tell(recorder, obj)
    assert await counts(client) == [None]
    [first] = await stored(client)
    clock.advance(10)
    await tell(recorder, obj, "in other words")
    [event] = await stored(client)
    assert event["series"] == {"count": 2, "lastObservedTime": format_micro_time(clock.now())}
    for member in ("eventTime", "note"):
        assert event[member] == first[member]


async def test_further_occurrences_are_written_at_the_end(client, clock, recorder, obj, counted):
    await tell(recorder, obj)
    for _ in range(9):
        clock.advance(1)
        await tell(recorder, obj)
    last = format_micro_time(clock.now())
    assert await counts(client) == [2]
    clock.advance(2 * FINISH)
    await counted(10)
    [event] = await stored(client)
    assert event["series"]["lastObservedTime"] == last
    await tell(recorder, obj)
    assert await counts(client) == [10, None]


async def test_a_long_series_is_written_again_before_it_expires(
    client, clock, recorder, obj, counted
):
    pause = FINISH / 2
    await tell(recorder, obj)
    await tell(recorder, obj)
    for _ in range(int(REFRESH / pause) - 1):
        clock.advance(pause)
        await tell(recorder, obj)
    assert await counts(client) == [2]
    clock.advance(pause)
    await counted(REFRESH / pause + 1)


async def test_an_event_that_occurs_again_after_the_limit_is_a_new_one(
    client, clock, recorder, obj
):
    await tell(recorder, obj)
    clock.advance(FINISH - 1)
    await tell(recorder, obj, reason="Other")
    clock.advance(1)
    await tell(recorder, obj)
    await tell(recorder, obj, reason="Other")
    assert [(each["reason"], "series" in each) for each in await stored(client)] == [
        ("Told", False),
        ("Other", True),
        ("Told", False),
    ]


@pytest.mark.parametrize("changed", [{"kind": "Warning"}, {"reason": "Other"}, {"action": "Other"}])
async def test_another_event_is_no_repetition(client, recorder, obj, changed):
    await tell(recorder, obj)
    await tell(recorder, obj, **changed)
    assert await counts(client) == [None, None]


async def test_an_event_about_another_object_or_state_is_no_repetition(client, recorder, obj):
    await tell(recorder, obj)
    await tell(recorder, await client.create(config_map("b")))
    await tell(recorder, obj, related=config_map("b"))
    await tell(recorder, await client.update({**obj, "data": {"k": "v"}}))
    assert await counts(client) == [None] * 4


async def test_repetitions_at_the_same_time_are_one_event(clock, recorder, obj, counted):
    async with within():
        await asyncio.gather(*(tell(recorder, obj) for _ in range(5)))
    clock.advance(2 * FINISH)
    await counted(5)


async def test_a_series_whose_event_expired_is_written_again(client, recorder, obj):
    await tell(recorder, obj)
    [first] = await stored(client)
    await client.delete(EVENTS, first["metadata"]["name"], "ns")
    await tell(recorder, obj)
    [again] = await stored(client)
    assert again["metadata"]["name"] == first["metadata"]["name"]
    assert again["eventTime"] == first["eventTime"]
    assert again["series"]["count"] == 2


async def test_a_series_continues_when_the_server_leads_again(
    clock, manager, recorder, obj, counted
):
    for _ in range(3):
        await tell(recorder, obj)
    await manager.remove("three-events")
    manager.add(recorder.controller("three-events"))
    clock.advance(2 * FINISH)
    await counted(3)


async def test_an_event_that_cannot_be_written_is_dropped(
    client, recorder, obj, monkeypatch, caplog
):
    async def fails(*_, **__):
        raise unavailable("no store")

    with monkeypatch.context() as patches:
        patches.setattr(client, "create", fails)
        await tell(recorder, obj)
    assert "the event Told could not be written: no store" in caplog.text
    await tell(recorder, obj)
    assert await counts(client) == [2]


async def test_the_remembered_events_are_bounded_and_no_count_is_lost(
    client, recorder, monkeypatch
):
    monkeypatch.setattr(eventseries, "MAX_CACHED", 3)
    made = [await client.create(config_map(f"map-{number}")) for number in range(5)]
    for _ in range(3):
        await tell(recorder, made[0])
    for each in made[1:]:
        await tell(recorder, each)
    assert len(recorder._known) == 3
    assert await counts(client) == [3, None, None, None, None]
