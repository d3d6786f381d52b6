"""JSON merge patch."""

import copy
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import patch
from inkube.schemas.status import StatusError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(st.integers(0, 3), max_size=3) | st.dictionaries(st.text("xyz", max_size=1), inner)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("xyz", max_size=1), JSON, max_size=4)


@pytest.mark.parametrize(
    ("obj", "change", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": [None, {"b": None}]}, {"a": [None, {}]}),
        ({"a": {"b": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
        ({"a": 1}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_a_merge_patch_has_the_result_of_rfc_7396(obj, change, expected):
    before = copy.deepcopy(obj)
    assert patch.merge(obj, change) == expected
    assert obj == before


@pytest.mark.parametrize("change", [[1], "text", 3, True])
def test_only_objects_are_merge_patches(change):
    with pytest.raises(StatusError, match=r"into Go value of type map\[string\]interface") as info:
        patch.merge({}, change)
    assert info.value.code == 400


@given(OBJECTS, OBJECTS)
def test_merging_twice_is_merging_once(obj, change):
    once = patch.merge(obj, change)
    assert patch.merge(once, change) == once


@given(OBJECTS, OBJECTS)
def test_fields_the_patch_does_not_name_stay(obj, change):
    merged = patch.merge(obj, change)
    for key in obj.keys() - change.keys():
        assert merged[key] == obj[key]


def test_a_strategic_patch_before_it_leaves_the_merge_patch_callable():
    code = (
        "from inkube.schemas import patch; patch.strategic({}, {}, None); "
        "assert patch.merge({'a': 1}, {'a': None}) == {}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
