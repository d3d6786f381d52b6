"""The data of revisions has sorted members, in which clients compare its bytes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from inkube.controllers.workloads.revisions import data_of

VALUES = st.recursive(
    st.integers(-9, 9) | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below),
    max_leaves=12,
)


@given(template=st.dictionaries(st.sampled_from(["spec", "metadata", "a", "z"]), VALUES))
def test_the_bytes_are_those_of_sorted_json(template):
    data = data_of({"spec": {"template": template}})
    assert json.dumps(data) == json.dumps(data, sort_keys=True)
    assert data["spec"]["template"] == {**template, "$patch": "replace"}
