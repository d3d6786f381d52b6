"""A fast check on the text of a JSON value whether it may have a member with a name."""

import pytest

from inkube.schemas.objects import may_mention


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": [{"rule": "1"}]}, True),
        ({"a": [{"rules": "1"}], "ruled": {}}, False),
        ({"a": "rule"}, True),  # a string: then it is checked exactly
        ({"a": 'says "rule" twice'}, False),
        ({"rule": 2**70}, True),
        ({"a": 2**70}, True),  # values that cannot be encoded give no answer
        ({}, False),
    ],
)
def test_members_are_found_by_the_text_of_their_value(value, found):
    assert may_mention(value, "expression", "rule") is found
