"""Jobs, CronJobs, TTLs: hours pass at once in a test, with the same order of events in each run."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import workloads as w

from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Plan, running
from inkube.controllers.clock import FakeClock
from inkube.controllers.workloads import Workloads
from inkube.controllers.workloads.jobs import indexes
from inkube.formats import cron

pytestmark = pytest.mark.kube_workloads()


def names(kube, resource):
    return [each["metadata"]["name"] for each in kube.client.list(resource)]


@pytest.mark.kube_options(clock=FakeClock(datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC), ticking=True))
def test_an_hour_runs_what_is_due_in_it(kube):
    """Starts in the middle of a minute: five seconds before its end, the first run would be due,
    too."""
    kube.client.create(w.cron_job("often", "* * * * *"))
    kube.client.create(w.cron_job("hourly", "@hourly"))
    kube.client.create(w.job(ttlSecondsAfterFinished=60))
    kube.settled()
    kube.advance(5)
    done = kube.client.get(w.JOBS, "j", "default")
    assert w.condition(done, "Complete")[0] == "True"
    kube.advance(3600)
    assert "j" not in names(kube, w.JOBS)
    owners = [name.rpartition("-")[0] for name in names(kube, w.JOBS)]
    assert sorted(owners) == ["hourly", "often"], "of missed times the latest counts"
    nodes = kube.client.list(w.NODES)
    assert {w.condition(each, "Ready")[0] for each in nodes} == {"True"}


@pytest.mark.kube_options(clock=FakeClock(datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC), ticking=True))
def test_history_keeps_as_many_jobs_as_its_limit(kube):
    limits = {"successfulJobsHistoryLimit": 2}
    kube.client.create(w.cron_job("often", "* * * * *", **limits))
    kube.settled()
    for _ in range(5):
        kube.advance(60)
        kube.advance(5)
    assert len(names(kube, w.JOBS)) == 2
    status = kube.client.get(w.CRON_JOBS, "often", "default")["status"]
    assert "active" not in status
    assert status["lastSuccessfulTime"] > status["lastScheduleTime"]


def test_forbidding_a_second_run_waits_for_the_first(kube):
    slow = w.template(
        restartPolicy="Never", annotations={"pod-complete.stage.kwok.x-k8s.io/delay": "10m"}
    )
    cron_job = w.cron_job("one", "* * * * *", concurrencyPolicy="Forbid")
    cron_job["spec"]["jobTemplate"]["spec"]["template"] = slow
    kube.client.create(cron_job)
    kube.settled()
    kube.advance(61)
    kube.advance(61)
    assert len(names(kube, w.JOBS)) == 1
    reasons = {each["reason"] for each in kube.client.list(w.EVENTS)}
    assert "JobAlreadyActive" in reasons


def test_a_failed_pod_is_tried_again_after_ever_longer_pauses(kube):
    failing = w.template(
        restartPolicy="Never", annotations={"pod-fail.stage.kwok.x-k8s.io/delay": "0s"}
    )
    kube.client.create(w.job(template=failing, backoffLimit=2))
    kube.settled()
    assert kube.client.get(w.JOBS, "j", "default")["status"]["failed"] == 1
    kube.advance(11)
    assert kube.client.get(w.JOBS, "j", "default")["status"]["failed"] == 2
    kube.advance(11)
    assert kube.client.get(w.JOBS, "j", "default")["status"]["failed"] == 2
    kube.advance(10)
    found = kube.client.get(w.JOBS, "j", "default")
    assert w.condition(found, "Failed") == ("True", "BackoffLimitExceeded")
    assert found["status"]["failed"] == 3


def test_each_index_fails_for_itself(kube):
    notes = {
        "pod-fail.stage.kwok.x-k8s.io/delay": "0s",
        "pod-fail.stage.kwok.x-k8s.io/index": "1",
    }
    job = w.job(
        template=w.template(restartPolicy="Never", annotations=notes),
        completionMode="Indexed",
        completions=3,
        parallelism=3,
        backoffLimitPerIndex=1,
    )
    kube.client.create(job)
    kube.settled()
    kube.advance(3)
    kube.advance(11)
    found = kube.client.get(w.JOBS, "j", "default")
    assert found["status"]["completedIndexes"] == "0,2"
    assert found["status"]["failedIndexes"] == "1"
    assert w.condition(found, "Failed") == ("True", "FailedIndexes")


def test_a_job_ends_at_its_deadline(kube):
    slow = w.template(
        restartPolicy="Never", annotations={"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}
    )
    kube.client.create(w.job(template=slow, activeDeadlineSeconds=30))
    kube.settled()
    kube.advance(31)
    found = kube.client.get(w.JOBS, "j", "default")
    assert w.condition(found, "Failed") == ("True", "DeadlineExceeded")
    assert found["status"].get("active") is None


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("*/15 * * * *", "2026-01-01T00:01:00", "2026-01-01T00:15:00"),
        ("0 3 * * *", "2026-01-01T03:00:00", "2026-01-02T03:00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("30 4 1,15 * fri", "2026-01-01T05:00:00", "2026-01-02T04:30:00"),
        ("0 12 * jan-mar mon", "2026-01-01T00:00:00", "2026-01-05T12:00:00"),
        ("@monthly", "2026-01-31T00:00:00", "2026-02-01T00:00:00"),
        ("30 4 */2 * fri", "2026-01-02T05:00:00", "2026-01-03T04:30:00"),
    ],
)
def test_schedules_have_the_expected_next_time(schedule, after, expected):
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = cron.parse(schedule).after(moment, UTC)
    assert found is not None
    assert found.isoformat()[:19] == expected


def test_a_schedule_is_of_its_zone():
    found = cron.parse("0 3 * * *").after(
        datetime(2026, 7, 1, tzinfo=UTC), ZoneInfo("Europe/Berlin")
    )
    assert found is not None
    assert found.astimezone(UTC).hour == 1


@pytest.mark.parametrize(
    ("schedule", "after", "hours"),
    [
        ("0 * * * *", "2026-03-28T23:30:00", [0, 1, 2]),
        ("30 2 * * *", "2026-03-28T23:30:00", [25, 49, 73]),
        ("0 * * * *", "2026-10-24T22:30:00", [0, 1, 2]),
        ("30 2 * * *", "2026-10-24T22:30:00", [2, 3, 27]),
    ],
    ids=["spring", "in the gap", "autumn", "twice"],
)
def test_hours_pass_in_real_time_when_clocks_change(schedule, after, hours):
    """As robfig/cron v3: 02:30 does not exist on 29 March 2026 in Berlin, and is twice on 25
    October. `hours` are the whole hours until each time."""
    start = moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = []
    for _ in hours:
        following = cron.parse(schedule).after(moment, ZoneInfo("Europe/Berlin"))
        assert following is not None
        moment = following
        found.append((moment - start) // timedelta(hours=1))
    assert found == hours


def test_a_day_that_never_comes_is_never():
    assert cron.parse("0 0 30 2 *").after(datetime(2026, 1, 1, tzinfo=UTC), UTC) is None


@pytest.mark.parametrize(
    "text", ["* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *"]
)
def test_what_is_no_schedule_is_refused(text):
    with pytest.raises(ValueError):
        cron.parse(text)


@pytest.mark.parametrize(
    ("numbers", "text"), [((0, 1), "0,1"), ((0, 1, 2, 5), "0-2,5"), ((), ""), ((3,), "3")]
)
def test_indexes_are_written_and_read(numbers, text):
    assert indexes.text_of(numbers) == text
    assert indexes.parse(text, 100) == set(numbers)


def told(kube_thread):
    """Return all changes within an hour, byte for byte. The effects of a write are awaited before
    the next, because the progress of controllers at that time depends on the processor, not on the
    seed."""
    options = Options(offline=True, seed=7, workloads=Workloads(seed=7), clock=FakeClock())
    with running(kube_thread, Plan(options)) as kube:
        for body in (
            *(w.cron_job(name, "*/20 * * * *") for name in ("a", "b", "c")),
            w.workload("Deployment", replicas=4),
            w.job(ttlSecondsAfterFinished=30, completions=3, parallelism=3),
        ):
            kube.client.create(body)
            kube.settled()
        begun = len(kube.log.history())
        kube.advance(3600)
        return begun, [(change.type, change.data) for change in kube.log.history()]


def test_an_hour_passes_in_the_same_order_every_time(kube_thread):
    begun, first = told(kube_thread)
    assert told(kube_thread) == (begun, first)
    assert len(first) - begun > 20


@pytest.mark.kube_options(clock=FakeClock(datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC), ticking=True))
def test_a_cron_job_notes_a_job_whose_answer_it_did_not_receive(kube):
    """The Job exists already at the second attempt, and belongs to the CronJob."""
    kube.client.create(w.cron_job("hourly", "@hourly"))
    kube.settled()
    with kube.fail(
        "create", "jobs.batch", cut=True, applied=True, times=1, controllers=True
    ) as lost:
        kube.advance(3600)
    assert lost.injected == 1
    status = kube.client.get(w.CRON_JOBS, "hourly")["status"]
    assert status["lastScheduleTime"] == "2026-01-01T01:00:00Z"
    assert names(kube, w.JOBS) == [
        f"hourly-{int(datetime(2026, 1, 1, 1, tzinfo=UTC).timestamp()) // 60}"
    ]
