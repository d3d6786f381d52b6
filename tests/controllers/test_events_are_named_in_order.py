"""Names of Events sort in the order in which the Events of an object occurred."""

import asyncio

import pytest
from patience import within

from inkube import APIServer
from inkube.controllers import events
from inkube.controllers.clock import FakeClock, MovableClock
from inkube.controllers.eventnames import EventNames
from inkube.controllers.events import Recorder
from inkube.controllers.eventseries import SeriesRecorder

EVENTS = "v1/events"
MAPS = "v1/configmaps"


def config_map(name="a"):
    meta = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


@pytest.fixture
def names(clock):
    return EventNames(clock)


@pytest.fixture
async def obj(client):
    return await client.create(config_map())


async def stored(client):
    """Message → Event, in the order of the names."""
    found = await client.list(EVENTS, "ns")
    return {each["message"]: each for each in found.items}


async def test_events_of_one_second_are_listed_in_their_order(client, clock, names, obj):
    one, two = (Recorder(client, clock, names, component) for component in ("one", "two"))
    three = SeriesRecorder(client, clock, names, "three")
    told = [f"message {number * 7 % 9}" for number in range(9)]
    for first, second, third in zip(told[::3], told[1::3], told[2::3], strict=True):
        await one.normal(obj, "Told", first)
        await two.normal(obj, "Told", second)
        await three.record(obj, "Normal", "Told", third, action=f"Telling {third}")
    assert list(await stored(client)) == told


async def test_a_name_ends_with_the_nanoseconds_of_the_clock(client, clock, names, obj):
    await Recorder(client, clock, names).normal(obj, "Told", "at the start")
    clock.advance(1.5)
    await Recorder(client, clock, names).normal(obj, "Told", "later")
    nanoseconds = int(clock.now().timestamp() * 1_000_000) * 1000
    assert [each["metadata"]["name"] for each in (await stored(client)).values()] == [
        f"a.{nanoseconds - 1_500_000_000:016x}",
        f"a.{nanoseconds:016x}",
    ]


def test_names_increase_when_the_clock_is_set_back(names):
    earlier = EventNames(FakeClock())
    clock = MovableClock(ahead=3600.0)
    made = EventNames(clock)
    first = made.new("a")
    clock._ahead = 0.0
    assert earlier.new("a") < first < made.new("a")


@pytest.mark.parametrize("name", ["system:node", "a" * 250])
async def test_an_object_whose_name_is_no_prefix_has_events_in_order(client, clock, names, name):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    made = await client.create({**role, "metadata": {"name": name}})
    recorder = Recorder(client, clock, names)
    told = [f"message {number}" for number in (3, 1, 2)]
    for message in told:
        await recorder.normal(made, "Told", message)
    found = (await client.list(EVENTS, "default")).items
    assert [each["message"] for each in found] == told


async def test_a_repetition_is_counted_under_the_first_name(client, clock, names, obj):
    recorder = Recorder(client, clock, names)
    await recorder.normal(obj, "Told", "often")
    first = (await stored(client))["often"]
    for _ in range(2):
        clock.advance(1900)
        await recorder.normal(obj, "Told", "often")
    [often] = (await stored(client)).values()
    assert often["metadata"]["name"] == first["metadata"]["name"]
    assert (often["count"], often["firstTimestamp"]) == (3, first["firstTimestamp"])
    assert often["lastTimestamp"] > first["lastTimestamp"]


async def test_repetitions_at_the_same_time_are_one_event(client, clock, names, obj):
    recorder = Recorder(client, clock, names)
    async with within():
        await asyncio.gather(*(recorder.normal(obj, "Told", "often") for _ in range(5)))
    assert {message: each["count"] for message, each in (await stored(client)).items()} == {
        "often": 5
    }


async def test_an_expired_event_that_is_repeated_continues_its_count(client, clock, names, obj):
    recorder = Recorder(client, clock, names)
    await recorder.normal(obj, "Told", "often")
    first = (await stored(client))["often"]
    await client.delete(EVENTS, first["metadata"]["name"], "ns")
    clock.advance(60)
    await recorder.normal(obj, "Told", "often")
    again = (await stored(client))["often"]
    assert again["metadata"]["name"] == first["metadata"]["name"]
    assert (again["count"], again["firstTimestamp"]) == (2, first["firstTimestamp"])


async def test_a_restart_at_the_same_time_overwrites_no_event(client, clock, obj):
    """The clock of each test can start at the same time, but its data can be of an earlier one."""
    for start in range(3):
        recorder = Recorder(client, clock, EventNames(clock))
        for number in range(5):
            await recorder.normal(obj, "Told", f"{start}: {number}")
        await recorder.normal(obj, "Told", "of each start")
    found = (await client.list(EVENTS, "ns")).items
    assert [(each["message"], each["count"]) for each in found] == [
        (message, 1)
        for start in range(3)
        for message in (*(f"{start}: {number}" for number in range(5)), "of each start")
    ]


async def test_the_remembered_events_are_bounded(client, clock, names, monkeypatch):
    monkeypatch.setattr(events, "MAX_CACHED", 3)
    recorder = Recorder(client, clock, names)
    made = [await client.create(config_map(f"map-{number}")) for number in range(5)]
    for each in (*made, made[4], made[0]):
        await recorder.normal(each, "Told", "a message")
    assert len(recorder._records) == 3
    counts = {
        each["involvedObject"]["name"]: each["count"]
        for each in (await client.list(EVENTS, "ns")).items
    }
    assert counts == {"map-0": 1, "map-1": 1, "map-2": 1, "map-3": 1, "map-4": 2}


async def test_a_seed_gives_the_same_names_again():
    spec = {
        "replicas": 5,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "web:1"}]},
        },
    }
    meta = {"name": "web", "namespace": "default"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    runs = []
    for _ in range(2):
        async with APIServer(seed=7, workloads=True) as server:
            await server.client.create(deployment)
            async with within():
                await server.settled()
            found = (await server.client.list(EVENTS, "default")).items
            runs.append({each["metadata"]["name"]: each["message"] for each in found})
    assert len(runs[0]) > 10
    assert runs[0] == runs[1]
