"""Values that the server generates for objects: uids, names, times."""

import uuid
from datetime import timedelta

from inkube.apiserver.registry.systemfields import SystemFields
from inkube.controllers.clock import EPOCH, FakeClock
from inkube.schemas.meta import format_time


def test_uids_are_random_uuids_as_everybody_reads_them() -> None:
    system_fields = SystemFields()
    found = [system_fields.uid() for _ in range(1000)]

    assert len({*found}) == 1000
    assert all(str(uuid.UUID(text)) == text for text in found)
    assert {uuid.UUID(text).version for text in found} == {4}
    assert {uuid.UUID(text).variant for text in found} == {uuid.RFC_4122}


def test_the_timestamp_is_that_of_the_second() -> None:
    clock = FakeClock()
    system_fields = SystemFields(now=clock.now)
    found = [system_fields.timestamp()]
    for _ in range(4):
        clock.advance(0.5)
        found.append(system_fields.timestamp())

    assert found == [format_time(EPOCH + timedelta(seconds=seconds)) for seconds in (0, 0, 1, 1, 2)]
