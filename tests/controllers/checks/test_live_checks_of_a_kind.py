"""Live checks: one declaration, used by dry runs and by the kind's controller."""

import asyncio
import logging

import pytest
from patience import SECONDS

from inkube.controllers.checks import (
    CheckSet,
    Duplicate,
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    NotSupported,
    Required,
    Retry,
    TooMany,
    Unavailable,
    Unreachable,
    check,
    is_vague,
    mutator,
    validator,
)
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource
from inkube.schemas.status import StatusError
from inkube.storage import errors as storage_errors


class Spec(Model):
    color: str
    size: int = 1


class Lamp(Resource, group="example.com", version="v1"):
    spec: Spec


class Shop:
    """The external system of these tests."""

    def __init__(self):
        self.colors = {"red"}
        self.asked = []
        self.failure = None

    async def sells(self, color):
        self.asked.append(color)
        if self.failure:
            raise self.failure
        return color in self.colors


@check(Lamp, field="spec.color")
async def color_sold(lamp, shop):
    if not await shop.sells(lamp.spec.color):
        yield Invalid("color is not sold; choose another one")


@check(Lamp, field="spec.size", after=[color_sold])
async def size_fits(lamp, shop):
    if lamp.spec.size > 5:
        return NotFound("no such size; the largest is 5")
    return None


@validator(Lamp, field="spec.size")
def size_positive(lamp, old):
    if lamp.spec.size < 1:
        yield Invalid("must be at least 1")


@mutator(Lamp)
def color_in_lower_case(lamp, old):
    lamp.spec.color = lamp.spec.color.lower()


LAMPS = KindModule(
    Lamp,
    checks=[color_sold, size_fits],
    validators=[size_positive],
    mutators=[color_in_lower_case],
)


def lamp(color="red", size=1, name="a"):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Lamp",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"color": color, "size": size},
    }


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture
async def cluster(running, shop):
    async with running(LAMPS, services={"shop": shop}) as made:
        yield made


async def stored(cluster, name="a"):
    return await cluster.client.get("example.com/v1/lamps", name, "ns")


async def test_a_dry_run_answers_causes_and_stores_nothing(cluster):
    before = cluster.store.revision
    with pytest.raises(StatusError) as refused:
        await cluster.client.create(lamp("blue"), dry_run=True)
    assert refused.value.code == 422
    assert refused.value.details["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "field": "spec.color",
            "message": 'Invalid value: "blue": color is not sold; choose another one',
            "type": "FieldValueInvalid",
            "detail": "color is not sold; choose another one",
            "origin": "color_sold",
            "badValue": "blue",
        }
    ]
    await cluster.client.create(lamp("red"), dry_run=True)
    assert cluster.store.revision == before


async def test_a_create_runs_no_live_check_and_the_controller_reports(cluster, shop):
    created = await cluster.client.create(lamp("blue"))
    assert shop.asked == []
    assert created["status"] == {"fieldErrors": []}
    await cluster.settled()
    status = (await stored(cluster))["status"]
    assert status["fieldErrors"] == [
        {
            "type": "FieldValueInvalid",
            "field": "spec.color",
            "detail": "color is not sold; choose another one",
            "origin": "color_sold",
            "badValue": "blue",
        }
    ]
    assert status["observedGeneration"] == 1
    assert status["health"]["healthy"] is False
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("Ready", "False", "InvalidSpec")
    ]


async def test_fixing_the_spec_clears_the_errors_to_an_empty_list(cluster):
    await cluster.client.create(lamp("blue"))
    await cluster.settled()
    await cluster.client.update({**await stored(cluster), "spec": {"color": "red"}})
    await cluster.settled()
    status = (await stored(cluster))["status"]
    assert status["fieldErrors"] == []
    assert status["observedGeneration"] == 2
    assert status["conditions"][0]["reason"] == "Available"


async def test_a_saved_fix_is_answered_without_its_error(cluster):
    """A page that reads the status right after it saved shows no error that was just fixed."""
    await cluster.client.create(lamp("blue"))
    await cluster.settled()
    answer = await cluster.client.patch(
        "example.com/v1/lamps", "a", "ns", patch={"spec": {"color": "red"}}
    )
    assert answer["status"]["fieldErrors"] == []
    assert answer["status"]["observedGeneration"] < answer["metadata"]["generation"]
    await cluster.settled()
    assert (await stored(cluster))["status"]["fieldErrors"] == []


async def test_a_save_keeps_the_errors_of_other_fields(cluster):
    await cluster.client.create(lamp("blue"))
    await cluster.settled()
    before = (await stored(cluster))["status"]["fieldErrors"]
    answer = await cluster.client.patch(
        "example.com/v1/lamps", "a", "ns", patch={"spec": {"size": 3}}
    )
    assert answer["status"]["fieldErrors"] == before != []


async def test_a_change_outside_appears_at_the_next_recheck(cluster, shop, clock, until):
    await cluster.client.create(lamp("red"))
    await cluster.settled()
    shop.colors.clear()
    clock.advance(300)

    async def reported():
        return (await stored(cluster))["status"]["fieldErrors"] != []

    await until(reported)
    await cluster.settled()
    shop.colors.add("red")
    clock.advance(60)

    async def cleared():
        return (await stored(cluster))["status"]["fieldErrors"] == []

    await until(cleared)


@pytest.mark.parametrize("color", ["red", "blue"])
async def test_a_hundred_rechecks_without_a_change_write_nothing(
    cluster, shop, clock, color, until
):
    await cluster.client.create(lamp(color))
    await cluster.settled()
    version = (await stored(cluster))["metadata"]["resourceVersion"]
    for number in range(100):
        clock.advance(300)

        async def asked(number=number):
            return len(shop.asked) == number + 2

        await until(asked)
        await cluster.settled()
    assert (await stored(cluster))["metadata"]["resourceVersion"] == version


async def test_the_controllers_own_write_does_not_run_the_checks_again(cluster, shop):
    await cluster.client.create(lamp("red"))
    await cluster.settled()
    assert shop.asked == ["red"]


async def test_a_later_check_is_skipped_when_an_earlier_one_found_something(cluster):
    with pytest.raises(StatusError) as refused:
        await cluster.client.create(lamp("blue", 9), dry_run=True)
    assert [cause["field"] for cause in refused.value.details["causes"]] == ["spec.color"]
    with pytest.raises(StatusError) as refused:
        await cluster.client.create(lamp("red", 9), dry_run=True)
    assert [cause["reason"] for cause in refused.value.details["causes"]] == ["FieldValueNotFound"]


async def refused_fields(cluster, obj, *, dry_run=True):
    with pytest.raises(StatusError) as refused:
        await cluster.client.create(obj, dry_run=dry_run)
    causes = refused.value.details["causes"]
    assert all(cause["message"] in refused.value.message for cause in causes)
    return [cause["field"] for cause in causes]


async def test_static_rules_refuse_a_write_before_any_live_check(cluster, shop):
    assert await refused_fields(cluster, lamp("blue", 0), dry_run=False) == ["spec.size"]
    assert shop.asked == []


@pytest.mark.parametrize("size", [0, "large"])
async def test_a_dry_run_reports_errors_of_static_rules_and_live_checks(cluster, size):
    assert await refused_fields(cluster, lamp("blue", size)) == ["spec.size", "spec.color"]


async def test_a_check_that_needs_a_refused_member_is_skipped(cluster, shop):
    for color in (5, None):
        assert await refused_fields(cluster, lamp(color, 9)) == ["spec.color"]
    assert shop.asked == []
    assert await refused_fields(cluster, lamp("red", 0)) == ["spec.size"]


async def test_conflicts_are_reported_beside_errors_of_static_rules(cluster):
    await cluster.client.create(lamp("red"))
    taken = ["spec.size", "spec.color", "metadata.name"]
    assert await refused_fields(cluster, lamp("blue", 0)) == taken
    found = await stored(cluster)
    found["spec"] = {"color": "blue", "size": 0}
    with pytest.raises(StatusError) as refused:
        await cluster.client.update(found, dry_run=True)
    causes = refused.value.details["causes"]
    assert [cause["field"] for cause in causes] == ["spec.size", "spec.color"]


async def test_a_check_that_reads_the_plain_object_is_skipped_beside_static_rules(running, shop):
    @check(Lamp, field="spec.color")
    async def plain(lamp, run):
        await shop.sells(run.raw["spec"]["color"])
        yield Invalid("color is not sold; choose another one")

    async with running(KindModule(Lamp, checks=[plain], validators=[size_positive])) as cluster:
        assert await refused_fields(cluster, lamp("blue", 0)) == ["spec.size"]
        assert shop.asked == []
        assert await refused_fields(cluster, lamp("blue", 1)) == ["spec.color"]


async def test_an_outage_is_no_finding_beside_static_rules(cluster, shop):
    shop.failure = Unreachable("the shop", "is closed")
    assert await refused_fields(cluster, lamp("blue", 0)) == ["spec.size"]


async def test_mutators_change_what_is_stored_and_checked(cluster, shop):
    created = await cluster.client.create(lamp("RED"))
    assert created["spec"]["color"] == "red"


FINDINGS = [
    Invalid("color is not sold", supported=["red", "green"]),
    Invalid("no color at all", field=None),
    Invalid("the size goes with no color", field="spec.size"),
    Invalid("sold elsewhere", value={"shop": [1, 2]}),
    NotFound("no such color in the shop", value=0),
    Required("name a color that is sold", value=False),
    Forbidden("this color is not for you", value=""),
    Duplicate("somebody else has this color"),
    NotSupported("red or green are sold", supported=["red"] * 200),
    TooMany("too many colors at once", value=7),
    InternalError("the shop is being painted", field="spec"),
]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: type(finding).__name__)
async def test_a_finding_has_the_same_members_in_both_phases(running, finding):
    @check(Lamp, field="spec.color")
    async def finds(lamp):
        return finding

    async with running(KindModule(Lamp, checks=[finds])) as cluster:
        with pytest.raises(StatusError) as refused:
            await cluster.client.create(lamp(), dry_run=True)
        await cluster.client.create(lamp())
        await cluster.settled()
        [error] = (await stored(cluster))["status"]["fieldErrors"]
    [cause] = refused.value.details["causes"]
    assert cause.pop("reason") == error["type"]
    assert cause.pop("message").endswith(error["detail"])
    assert cause == error
    assert len(error.get("supportedValues", ())) <= 100


async def test_an_outage_is_reported_after_the_first_attempt(running, shop):
    shop.failure = Unreachable("shop", "connection refused")
    async with running(LAMPS, services={"shop": shop}) as cluster:
        await cluster.client.create(lamp("red"))
        await cluster.settled()
        status = (await stored(cluster))["status"]
    assert shop.asked == ["red"]
    assert status["observedGeneration"] == 1
    assert status["health"]["healthy"] is False
    assert [error["detail"] for error in status["fieldErrors"]] == [
        "unreachable: connection refused"
    ]


async def test_a_failed_check_of_a_service_is_repeated_with_back_off(running, shop, clock, until):
    shop.failure = Unavailable("shop", "answered 503")
    async with running(LAMPS, services={"shop": shop}) as cluster:
        await cluster.client.create(lamp("red"))
        await cluster.settled()
        version = (await stored(cluster))["metadata"]["resourceVersion"]
        for number, delay in enumerate([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 60.0, 60.0], 2):
            clock.advance(delay)
            await until(lambda number=number: len(shop.asked) == number)
            await cluster.settled()
        assert (await stored(cluster))["metadata"]["resourceVersion"] == version


async def test_the_next_attempt_reports_a_recovered_service(running, shop, clock, until):
    shop.failure = Unavailable("shop", "answered 503")
    async with running(LAMPS, services={"shop": shop}) as cluster:
        await cluster.client.create(lamp("red"))
        await cluster.settled()
        shop.failure = None
        clock.advance(0.1)
        await until(lambda: len(shop.asked) == 2)
        await cluster.settled()
        assert (await stored(cluster))["status"]["fieldErrors"] == []
        clock.advance(60)
        await cluster.settled()
        assert len(shop.asked) == 2


async def test_a_change_of_the_object_is_looked_at_while_a_service_fails(running, shop, clock):
    shop.failure = Unavailable("shop", "answered 503")
    async with running(LAMPS, services={"shop": shop}) as cluster:
        await cluster.client.create(lamp("red"))
        await cluster.settled()
        changed = {**await stored(cluster), "spec": {"color": "blue"}}
        await cluster.client.update(changed)
        await cluster.settled()
        assert shop.asked == ["red", "blue"]
        assert (await stored(cluster))["status"]["observedGeneration"] == 2


@pytest.mark.parametrize("color", ["red", "blue"])
async def test_a_status_that_somebody_else_wrote_is_put_right_at_once(cluster, until, color):
    await cluster.client.create(lamp(color))
    await cluster.settled()
    right = (await stored(cluster))["status"]
    wrong = {
        "observedGeneration": 7,
        "fieldErrors": [{"type": "FieldValueInvalid", "detail": "somebody was here"}],
        "health": {"healthy": color != "red"},
        "conditions": None,
    }
    await cluster.client.patch(
        "example.com/v1/lamps", "a", "ns", patch={"status": wrong}, subresource="status"
    )

    async def is_right():
        found = (await stored(cluster))["status"]
        return all(found.get(name) == right[name] for name in ("observedGeneration", "fieldErrors"))

    await until(is_right)
    found = (await stored(cluster))["status"]
    assert found["health"]["healthy"] is right["health"]["healthy"]
    assert [each["type"] for each in found["conditions"]] == ["Ready"]


async def test_two_writers_of_a_status_do_not_chase_each_other(cluster, shop, clock, until):
    """A wrong status is looked at once per second, however often another client writes it."""
    await cluster.client.create(lamp("blue"))
    await cluster.settled()
    asked = len(shop.asked)
    for _ in range(5):
        await cluster.client.patch(
            "example.com/v1/lamps", "a", "ns", patch={"status": {"fieldErrors": []}},
            subresource="status",
        )  # fmt: skip
        await cluster.settled()
    assert len(shop.asked) == asked + 1
    clock.advance(1)

    async def is_right():
        return bool((await stored(cluster))["status"]["fieldErrors"])

    await until(is_right)


def test_delays_of_retries_grow_and_stay_below_their_total():
    retry = Retry()
    delays = [retry.delay(attempt) for attempt in range(retry.attempts - 1)]
    assert delays == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0])
    assert sum(delays) < retry.total


async def test_a_dry_run_does_not_wait_for_a_failing_service(cluster, shop):
    shop.failure = Unavailable("shop", "answered 503")
    with pytest.raises(StatusError) as refused:
        await cluster.client.create(lamp("red"), dry_run=True)
    assert refused.value.details["causes"] == [
        {
            "reason": "InternalError",
            "field": "spec.color",
            "message": "Internal error: shop answered 503; send the request again later",
            "type": "InternalError",
            "detail": "shop answered 503; send the request again later",
            "origin": "color_sold",
            "badValue": "red",
        }
    ]
    assert shop.asked == ["red"]


async def test_a_check_that_breaks_is_logged_and_reported(cluster, shop, caplog):
    shop.failure = ZeroDivisionError("oops")
    with caplog.at_level(logging.ERROR):
        await cluster.client.create(lamp("red"))
        await cluster.settled()
    assert "oops" in caplog.text
    errors = (await stored(cluster))["status"]["fieldErrors"]
    assert errors[0]["type"] == "InternalError"
    assert "oops" not in str(errors)


async def test_a_check_that_hangs_ends_at_its_time_limit(running, clock, until):
    @check(Lamp, field="spec.color", timeout=10)
    async def hangs(lamp):
        await asyncio.Event().wait()

    async with running(KindModule(Lamp, checks=[hangs])) as cluster:
        refused = asyncio.create_task(cluster.client.create(lamp(), dry_run=True))

        def is_over():
            clock.advance(10)
            return refused.done()

        await until(is_over)
        with pytest.raises(StatusError, match="did not answer within 10 seconds"):
            await refused


async def test_independent_checks_run_at_the_same_time(running):
    barrier = asyncio.Barrier(2)

    @check(Lamp, field="spec.color", timeout=SECONDS)
    async def one(lamp):
        await barrier.wait()

    @check(Lamp, field="spec.size", timeout=SECONDS)
    async def other(lamp):
        await barrier.wait()

    async with running(KindModule(Lamp, checks=[one, other])) as cluster:
        await cluster.client.create(lamp(), dry_run=True)


async def test_a_check_during_an_outage_of_the_store_is_repeated(running, clock, caplog, until):
    """It is no finding about the object, and no traceback."""
    errors = [storage_errors.Unavailable("connection refused")]

    @check(Lamp, field="spec.color")
    async def reads_another_object(lamp):
        if errors:
            raise errors[-1]

    async with running(KindModule(Lamp, checks=[reads_another_object])) as cluster:
        with pytest.raises(StatusError, match="connection refused") as refused:
            await cluster.client.create(lamp(), dry_run=True)
        assert refused.value.code == 503
        await cluster.client.create(lamp())
        await until(lambda: caplog.records)
        errors.clear()
        clock.advance(60)
        await until(lambda: len(caplog.records) == 2)
        await cluster.settled()
        made = await cluster.client.get(Lamp, "a", "ns")
    assert made["status"]["fieldErrors"] == []
    begin, end = caplog.records
    assert "ns/a failed: connection refused; since " in begin.getMessage()
    assert end.getMessage().startswith("controllers work again")
    assert [each.exc_info for each in (begin, end)] == [None, None]
    caplog.clear()  # expected


async def test_events_report_changes_and_count_repetitions(cluster, shop, clock, until):
    await cluster.client.create(lamp("blue"))
    await cluster.settled()
    for colors in ({"blue"}, set()):
        shop.colors = colors
        clock.advance(301)
        asked = len(shop.asked)

        async def checked(asked=asked):
            return len(shop.asked) > asked

        await until(checked)
        await cluster.settled()
    events = (await cluster.client.list("v1/events")).items
    told = {event["reason"]: event["count"] for event in events}
    assert told == {"ChecksFailed": 2, "ChecksPassed": 1}
    assert events[0]["involvedObject"]["name"] == "a"


async def test_intervals_are_options(running, shop, clock, until):
    options = {"services": {"shop": shop}, "recheck_healthy": 1, "recheck_unhealthy": 1}
    async with running(LAMPS, **options) as cluster:
        await cluster.client.create(lamp("red"))
        await cluster.settled()
        clock.advance(1)

        async def again():
            return len(shop.asked) == 2

        await until(again)


@pytest.mark.parametrize("detail", ["invalid value", "Validation failed.", "error", "", "failed!"])
def test_details_that_help_nobody_are_refused(detail):
    assert is_vague(detail)
    with pytest.raises(ValueError, match="say what is wrong"):
        Invalid(detail)


@pytest.mark.parametrize("detail", ["branch not found", "not authorized", "must be at least 1"])
def test_details_with_a_reason_are_accepted(detail):
    assert Duplicate(detail).detail == detail


def test_a_vague_detail_is_refused_where_the_check_is_declared():
    with pytest.raises(ValueError, match="does not help users"):

        @check(Lamp, field="spec.color")
        async def vague(lamp):
            yield Invalid("validation failed")


def test_an_unknown_field_is_refused_where_the_check_is_declared():
    with pytest.raises(TypeError, match=r"no field 'spec\.colour'"):

        @check(Lamp, field="spec.colour")
        async def misspelt(lamp):
            return None


def test_a_check_must_stand_after_its_prerequisites():
    with pytest.raises(ValueError, match="must be listed after"):
        CheckSet(Lamp, [size_fits, color_sold])
