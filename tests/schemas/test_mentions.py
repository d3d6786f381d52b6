"""Whether a JSON value may have a member of a name, by its text."""

import pytest

from inkube.schemas.objects import may_mention


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": [{"rule": "1"}]}, True),
        ({"a": [{"rules": "1"}], "ruled": {}}, False),
        ({"a": "rule"}, True),  # a string: it is looked at closely, then
        ({"a": 'says "rule" twice'}, False),
        ({"rule": 2**70}, True),
        ({"a": 2**70}, True),  # nothing is said of what cannot be written
        ({}, False),
    ],
)
def test_members_are_found_by_the_text_of_a_value(value, found):
    assert may_mention(value, "expression", "rule") is found
