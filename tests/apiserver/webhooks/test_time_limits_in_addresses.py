"""The `timeout` in the address of a webhook: what is left of the time limit of a request, in whole
seconds (apiserver/pkg/admission/plugin/webhook, `Timeout` of client-go)."""

from hypothesis import given
from hypothesis import strategies as st

from inkube.apiserver.webhooks.calls.caller import whole_seconds

CLOCK = st.floats(0, 10**8)
"""Times of an event loop, which can be the same at the beginning of a request and of a call."""


@given(CLOCK, st.integers(1, 60))
def test_a_call_at_once_has_the_time_of_its_request(now, seconds):
    assert whole_seconds((now + seconds) - now) == seconds


@given(st.integers(1, 60), st.integers(1, 10**6 - 1))
def test_parts_of_a_second_count_as_a_second(seconds, microseconds):
    assert whole_seconds(seconds + microseconds / 10**6) == seconds + 1
