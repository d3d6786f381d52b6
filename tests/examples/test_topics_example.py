"""The kind of the example, in both phases: its secret, its live checks, its unique field."""

import runpy
from pathlib import Path

import brokers
import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError

FOLDER = Path(__file__).parents[2] / "examples" / "topics"
MOST_LINES = 100


@pytest.fixture
async def server():
    with brokers.running() as url:
        kind = runpy.run_path(str(FOLDER / "topics.py"))["TOPICS"]
        async with APIServer(kinds=[kind], services={"url": url}) as made:
            yield made


def topic(server, name="a", topic="news", password=brokers.PASSWORD, broker=""):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Topic",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"broker": broker or server.options.services["url"], "topic": topic},
        "secure": {"password": {"create": password}},
    }


@pytest.mark.parametrize(
    ("change", "field", "detail"),
    [
        ({"password": "wrong"}, "secure.password", "not authorized"),
        ({"topic": "odd"}, "spec.topic", "the broker has no such topic"),
        (
            {"broker": "http://127.0.0.1:9"},
            "secure.password",
            "failed to check if authorized: unreachable: no connection",
        ),
    ],
)
async def test_both_phases_report_errors_of_the_broker(server, change, field, detail):
    obj = topic(server, **change)
    with pytest.raises(StatusError) as refused:
        await server.client.create(obj, dry_run=True)
    [cause] = refused.value.details["causes"]
    await server.client.create(obj)
    await server.settled()
    stored = await server.client.get("example.com/v1/topics", "a", "default")
    [error] = stored["status"]["fieldErrors"]
    for found in (cause, error):
        assert (found["field"], found["detail"]) == (field, detail)
    assert set(stored["secure"]["password"]) == {"name"}


async def test_a_topic_belongs_to_one_object(server):
    await server.client.create(topic(server))
    await server.settled()
    with pytest.raises(StatusError, match="Topic a already has this value"):
        await server.client.create(topic(server, "b"), dry_run=True)


def test_kind_and_form_are_short():
    lines = [len((FOLDER / name).read_text().splitlines()) for name in ("topics.py", "form.jsx")]
    assert sum(lines) < MOST_LINES
