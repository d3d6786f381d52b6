"""A list created in pieces has the same bytes as one written at once."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.apiserver.handlers import listed
from inkube.apiserver.http import responses
from inkube.apiserver.http.negotiation import COMPACT_JSON, INDENTED_JSON, YAML, Form

TEXTS = st.text(max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
HEADS = st.dictionaries(TEXTS.filter(lambda text: text != "items"), VALUES, min_size=1, max_size=4)


@settings(max_examples=100, deadline=None)
@given(HEADS, st.lists(OBJECTS, min_size=1, max_size=6), st.integers(1, 200))
def test_a_list_written_in_pieces_has_the_same_bytes_as_the_whole(head, objects, size):
    whole = {**head, "items": objects}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listed, "SLOW_PIECE", size)
        pieces = list(listed.yaml(head, "items", objects))
    assert b"".join(pieces) == responses.body(whole, Form(YAML))
    assert b"".join(listed.indented_list(head, "items", objects)) == responses.body(
        whole, INDENTED_JSON
    )
    compact = listed.json_list(head, "items", map(orjson.dumps, objects))
    assert b"".join(compact) == responses.body(whole, COMPACT_JSON)
    short = listed.short_json_list(head, "items", map(orjson.dumps, objects))
    assert short == responses.body(whole, COMPACT_JSON)
