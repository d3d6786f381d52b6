"""Many events about one object are combined and limited, as with client-go/tools/record."""

import pytest

from inkube.controllers.eventnames import EventNames
from inkube.controllers.events import BURST, REFILL, SIMILAR, SIMILAR_SECONDS, Recorder

EVENTS = "v1/events"
COMBINED = "(combined from similar events): "


def config_map(name="a", **more):
    metadata = {"name": name, "namespace": "ns", **more}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
async def obj(client):
    return await client.create(config_map())


@pytest.fixture
def recorder(client, clock):
    return Recorder(client, clock, EventNames(clock))


async def stored(client, reason="Told"):
    """Message → count, in the order of the names."""
    found = await client.list(EVENTS, "ns")
    return {each["message"]: each["count"] for each in found.items if each["reason"] == reason}


def messages(first, last):
    return [f"message {number}" for number in range(first, last)]


async def test_the_tenth_message_for_a_reason_is_combined_with_later_ones(client, recorder, obj):
    for message in messages(0, SIMILAR + 4):
        await recorder.normal(obj, "Told", message)
    assert await stored(client) == {
        **dict.fromkeys(messages(0, SIMILAR), 1),
        f"{COMBINED}message {SIMILAR + 3}": 4,
    }


async def test_a_known_message_is_counted_alone_next_to_combined_ones(client, recorder, obj):
    for message in messages(0, SIMILAR + 1):
        await recorder.normal(obj, "Told", message)
    await recorder.normal(obj, "Told", "message 0")
    found = await stored(client)
    assert found["message 0"] == 2
    assert found[f"{COMBINED}message {SIMILAR}"] == 1


async def test_messages_for_another_reason_or_object_are_not_combined(client, recorder, obj):
    other = await client.create(config_map("b"))
    for message in messages(0, SIMILAR):
        await recorder.normal(obj, "Told", message)
    await recorder.normal(obj, "Other", "last")
    await recorder.warning(obj, "Told", "a warning")
    await recorder.normal(other, "Told", "about another")
    assert await stored(client, "Other") == {"last": 1}
    assert {"a warning": 1, "about another": 1}.items() <= (await stored(client)).items()


async def test_messages_after_a_pause_are_separate_again(client, clock, recorder, obj):
    for message in messages(0, SIMILAR + 1):
        await recorder.normal(obj, "Told", message)
    clock.advance(SIMILAR_SECONDS + 1)
    await recorder.normal(obj, "Told", "later")
    assert (await stored(client))["later"] == 1


async def test_an_object_has_a_burst_of_events_and_then_one_per_refill(
    client, clock, recorder, obj
):
    for number in range(BURST + 5):
        await recorder.normal(obj, f"Reason{number}", "once")
    assert len((await client.list(EVENTS, "ns")).items) == BURST
    clock.advance(REFILL)
    for number in range(2):
        await recorder.normal(obj, f"Later{number}", "once")
    assert len((await client.list(EVENTS, "ns")).items) == BURST + 1


async def test_occurrences_above_the_limit_are_counted_with_the_next_one(
    client, clock, recorder, obj
):
    for _ in range(BURST + 5):
        await recorder.normal(obj, "Told", "often")
    assert await stored(client) == {"often": BURST}
    clock.advance(REFILL)
    await recorder.normal(obj, "Told", "often")
    assert await stored(client) == {"often": BURST + 6}


async def test_objects_without_a_uid_have_their_own_limits(client, recorder):
    for name in ("a", "b"):
        for number in range(BURST + 5):
            await recorder.normal(config_map(name), f"Reason{number}", "once")
    assert len((await client.list(EVENTS, "ns")).items) == 2 * BURST
