"""Shortcuts that use stored bytes give the same results as decoding."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from inkube.apiserver.registry.storedbytes import may_be_bound, untyped

TEXTS = st.text(alphabet='ab":,{\\é', max_size=5)
VALUES = TEXTS | st.integers(-9, 9) | st.lists(TEXTS, max_size=2) | st.just({"kind": "Pod"})
BOUND = ("ownerReferences", "deletionTimestamp")
METADATA = st.dictionaries(st.sampled_from(("name", "labels", *BOUND)), VALUES)
OTHERS = st.dictionaries(st.sampled_from(("spec", "status", 'a"kind":"Pod",')), VALUES)
TYPE = {"apiVersion": "v1", "kind": "Pod"}


@given(METADATA, OTHERS, st.permutations(("apiVersion", "kind", "metadata", "rest")))
def test_items_of_lists_lose_only_their_type(metadata, others, order):
    parts = {**{name: {name: value} for name, value in TYPE.items()}, "rest": others}
    parts["metadata"] = {"metadata": metadata}
    obj = {name: value for part in order for name, value in parts[part].items()}
    [data] = untyped([orjson.dumps(obj)], "v1", "Pod")
    assert orjson.loads(data) == {k: v for k, v in obj.items() if k not in TYPE}


@given(METADATA, OTHERS)
def test_no_bound_object_is_overlooked(metadata, others):
    data = orjson.dumps({**TYPE, "metadata": metadata, **others})
    assert may_be_bound(data) or not any(name in metadata for name in BOUND)
