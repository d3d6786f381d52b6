"""Schedules and time zones of cron jobs have the errors of robfig/cron and of Go's time."""

import zoneinfo
from typing import Any

import pytest

from inkube.schemas.builtin.rules.calls import batch
from inkube.schemas.golang import cron

FRAME: Any = None  # these checks do not look at the rest of the object
DESCRIPTORS = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]
INTERVALS = ["1.5h", "-5m", "0s", "0", "+5m", ".5s", "1ns", "1h1m1s"]
FIELDS = ["* * * * *", "  0 0 * * *", "0  0\t* * *", "? ? ? ? ?", "1,2,3-4/2 * * * *"]
ZONE = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
BROKEN = "invalid schedule format: runtime error: slice bounds out of range [:-1]"


def problems(text):
    return [error.detail for error in batch.schedule(text, "spec.schedule", FRAME)]


@pytest.mark.parametrize("text", [*DESCRIPTORS, *(f"@every {each}" for each in INTERVALS), *FIELDS])
def test_a_schedule_is_accepted_with_a_zone_before_it_or_not(text):
    assert problems(text) == []
    for zone in ("UTC", "", "Local", "Europe/Berlin"):
        assert problems(f"TZ={zone} {text}") == [ZONE]
        assert problems(f"CRON_TZ={zone} {text}") == [ZONE]


@pytest.mark.parametrize("text", [f"@every {each}" for each in INTERVALS])
def test_what_is_accepted_runs(text):
    assert cron.parse(text).every >= 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("@every ", 'failed to parse duration @every : time: invalid duration ""'),
        ("@every", "unrecognized descriptor: @every"),
        ("@Every 5m", "unrecognized descriptor: @Every 5m"),
        ("@weekly x", "unrecognized descriptor: @weekly x"),
        ("x", "expected exactly 5 fields, found 1: [x]"),
    ],
)
def test_a_wrong_schedule_has_the_same_error_after_a_zone(text, why):
    assert problems(text) == [why]
    if text == text.strip():
        assert problems(f"TZ=UTC {text}") == [why, ZONE]


def test_a_wrong_zone_hides_the_schedule():
    for lead in ("TZ=", "CRON_TZ="):
        assert problems(f"{lead}UTC") == [BROKEN, ZONE]
        why = "provided bad location Nope/X: unknown time zone Nope/X"
        assert problems(f"{lead}Nope/X x") == [why, ZONE]
    assert problems("tz=UTC * * * * *") == [
        "expected exactly 5 fields, found 6: [tz=UTC * * * * *]"
    ]


def zone_problems(zone):
    return [error.detail for error in batch.time_zone(zone, "spec.timeZone", FRAME)]


def test_every_zone_is_known_with_each_of_its_prefixes():
    for zone in sorted(zoneinfo.available_timezones() - {"localtime"}):
        for lead in ("", "posix/", "right/"):
            assert zone_problems(f"{lead}{zone}") == [], zone


def test_a_folder_of_zones_is_no_zone():
    folders = {zone.partition("/")[0] for zone in zoneinfo.available_timezones() if "/" in zone}
    for folder in [*folders, "posix", "right"]:
        assert zone_problems(folder) == ["is a directory"], folder
    for table in ("zone.tab", "tzdata.zi", "iso3166.tab", "leapseconds"):
        assert zone_problems(table) == ["malformed time zone information"]


@pytest.mark.parametrize(
    ("zone", "why"),
    [
        ("/x", "unknown time zone /x"), ("../x", "unknown time zone ../x"),
        ("x/..", "unknown time zone x/.."), ("-a", "unknown time zone -a"),
        ("a//b", "unknown time zone a//b"), ("a..b", "time: invalid location name"),
        ("a/b..", "time: invalid location name"), ("x" * 15, f"unknown time zone {'x' * 15}"),
    ],
)  # fmt: skip
def test_the_characters_of_a_zone_are_checked_before_it_is_looked_for(zone, why):
    assert zone_problems(zone) == [why]


def test_local_is_refused_in_every_spelling():
    assert len(zone_problems("Local")) == 1
    for zone in ("local", "LOCAL", "lOCAL"):
        assert zone_problems(zone)[1:] == [f"unknown time zone {zone}"]
