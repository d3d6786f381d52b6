"""What the server gives to objects: uids, names, times."""

import uuid
from datetime import timedelta

from inkube.apiserver.registry.stamps import Stamps
from inkube.controllers.clock import EPOCH, FakeClock
from inkube.schemas.meta import format_time


def test_uids_are_random_uuids_as_everybody_reads_them() -> None:
    stamps = Stamps()
    found = [stamps.uid() for _ in range(1000)]

    assert len({*found}) == 1000
    assert all(str(uuid.UUID(text)) == text for text in found)
    assert {uuid.UUID(text).version for text in found} == {4}
    assert {uuid.UUID(text).variant for text in found} == {uuid.RFC_4122}


def test_the_timestamp_is_that_of_the_second() -> None:
    clock = FakeClock()
    stamps = Stamps(now=clock.now)
    found = [stamps.timestamp()]
    for _ in range(4):
        clock.advance(0.5)
        found.append(stamps.timestamp())

    assert found == [format_time(EPOCH + timedelta(seconds=seconds)) for seconds in (0, 0, 1, 1, 2)]
