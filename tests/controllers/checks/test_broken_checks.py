"""Whatever a check does wrong is "the check X broke": the findings of the others are reported, the
status moves on, and a dry run is answered."""

import asyncio
import datetime as dt
import logging
from typing import Any

import pytest

from inkube.controllers.checks import Invalid, NotFound, check, validator
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource
from inkube.schemas.status import StatusError


class Spec(Model):
    color: str = "red"


class Lamp(Resource, group="example.com", version="v1"):
    spec: Spec


def lamp(name="a"):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Lamp",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"color": "red"},
    }


async def cancelled_task():
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def exits():
    raise SystemExit(3)


async def raises():
    raise ValueError("odd")


class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no text")


async def raises_odd():
    raise Odd


NUMBER: Any = 5
NUMBERS: Any = [1, 2]
FINDINGS = {
    "numbers as supported values": lambda: Invalid("wrong color; take red", supported=NUMBERS),
    "supported values that are no list": lambda: Invalid("wrong color; take red", supported=NUMBER),
    "a date": lambda: Invalid("wrong color; take red", value=dt.datetime.now(dt.UTC)),
    "a set": lambda: Invalid("wrong color; take red", value={1}),
    "bytes": lambda: Invalid("wrong color; take red", value=b"x"),
    "a map with numbers": lambda: Invalid("wrong color; take red", value={1: 2}),
    "a surrogate": lambda: Invalid("wrong color; take red", value="\ud800"),
    "a surrogate in the detail": lambda: Invalid("wrong color \ud800; take red"),
    "a surrogate in the supported values": lambda: Invalid("wrong color", supported=["\udfff"]),
    "a field of another type": lambda: Invalid("wrong color; take red", field=NUMBER),
    "a field that does not exist": lambda: Invalid("wrong color; take red", field="spec.nope"),
    "a text": lambda: "text",
    "a class": lambda: Invalid,
    "nothing in a list": lambda: None,
    "a detail that is no text": lambda: Invalid(NUMBER),
}
FAILURES = {
    "a cancelled task": cancelled_task,
    "an exit": exits,
    "an exception": raises,
    "an exception without a text": raises_odd,
}


def checks_of(made, failing):
    @check(Lamp, field="spec.color")
    async def fine(lamp):
        yield NotFound("color not found; take red")

    @check(Lamp, field="spec.color")
    async def yields(lamp):
        if failing:
            await failing()
        yield made()

    @check(Lamp, field="spec.color")
    async def returns(lamp):
        if failing:
            await failing()
        return [made()]

    return fine, yields, returns


@pytest.mark.parametrize("name", [*FINDINGS, *FAILURES])
async def test_a_broken_check_is_a_finding_of_its_own(running, name, caplog):
    module = KindModule(Lamp, checks=checks_of(FINDINGS.get(name), FAILURES.get(name)))
    wanted = [
        ("FieldValueNotFound", "color not found; take red"),
        ("InternalError", "the check yields broke, see the server's log; "),
        ("InternalError", "the check returns broke, see the server's log; "),
    ]
    async with running(module) as cluster:
        with pytest.raises(StatusError) as refused:
            await cluster.client.create(lamp(), dry_run=True)
        causes = refused.value.details["causes"]
        assert refused.value.code == 422
        found = [(each["type"], each["detail"].split("; send")[0]) for each in causes]
        assert found == [(kind, text.removesuffix("; ")) for kind, text in wanted]
        await cluster.client.create(lamp())
        await cluster.settled()
        status = (await cluster.client.get("example.com/v1/lamps", "a", "ns"))["status"]
        assert status["observedGeneration"] == 1
        told = [(each["type"], each["field"], each["detail"]) for each in status["fieldErrors"]]
        assert [(kind, detail.split("tried")[0]) for kind, _, detail in told] == wanted
        assert {field for _, field, _ in told} == {"spec.color"}
    messages = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert "the check yields broke on a" in messages


@pytest.mark.parametrize("made", [lambda: "text", lambda: Invalid("wrong color", field="spec.x")])
async def test_a_broken_rule_is_named(running, made):
    @validator(Lamp, field="spec.color")
    def odd_rule(lamp, old):
        yield made()

    async with running(KindModule(Lamp, validators=[odd_rule])) as cluster:
        with pytest.raises(StatusError, match="the rule odd_rule broke") as refused:
            await cluster.client.create(lamp())
        assert refused.value.code == 500


async def test_an_object_that_is_made_again_during_its_check_is_no_error(running, caplog):
    started, go = asyncio.Event(), asyncio.Event()

    @check(Lamp, field="spec.color")
    async def slow(lamp):
        started.set()
        await go.wait()
        yield Invalid("color is not sold")

    async with running(KindModule(Lamp, checks=[slow])) as cluster:
        await cluster.client.create(lamp())
        await started.wait()
        await cluster.client.delete("example.com/v1/lamps", "a", "ns")
        await cluster.client.create(lamp())
        go.set()
        await cluster.settled()
        obj = await cluster.client.get("example.com/v1/lamps", "a", "ns")
        assert [each["detail"] for each in obj["status"]["fieldErrors"]] == ["color is not sold"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
