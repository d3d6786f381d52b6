"""The log lines of an action that fails again and again."""

import logging

import pytest

from inkube.storage.errors import Unavailable
from inkube.storage.failures import Failures


@pytest.mark.parametrize(
    ("error", "has_traceback"), [(Unavailable("disk full"), False), (KeyError("a defect"), True)]
)
def test_failures_in_a_row_are_one_line_with_a_traceback_if_unknown(
    caplog: pytest.LogCaptureFixture, error: Exception, has_traceback: bool
) -> None:
    failures = Failures(logging.getLogger("test"), "compaction", first=1.0, longest=5.0)
    assert [failures.failed(error) for _ in range(4)] == [1.0, 2.0, 4.0, 5.0]
    failures.worked()
    first, last = caplog.records
    assert first.getMessage() == f"compaction failed and is tried again: {error}"
    assert bool(first.exc_info) == has_traceback
    assert last.getMessage() == "compaction works again"
