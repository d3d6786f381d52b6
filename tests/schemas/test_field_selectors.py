"""Field selectors are read as k8s.io/apimachinery/pkg/fields reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import selectors
from inkube.schemas.status import StatusError

NOTHING = ["=", "==", "!=", ",", "=,=", "==,!="]


@pytest.mark.parametrize("text", NOTHING)
def test_a_term_of_nothing_selects_everything(text: str):
    assert selectors.parse_fields(text) == ()
    assert len(selectors.parse_fields(f"{text},metadata.name=a")) == 1


@given(st.text(min_size=1), st.sampled_from(["=", "==", "!="]))
def test_every_value_can_be_escaped(value: str, operator: str):
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    [term] = selectors.parse_fields(f"metadata.name{operator}{escaped}")
    assert (term.path, term.value, term.negated) == ("metadata.name", value, operator == "!=")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a=b", "unescaped character in value: 61"),
        ("a==b", "unescaped character in value: 61"),
        ("a!=b", "unescaped character in value: 61"),
        ("a\\", "invalid escape sequence: \\"),
        ("\\x", "invalid escape sequence: \\x"),
        ("\\=\\x", "invalid escape sequence: \\x"),
    ],
)
@pytest.mark.parametrize("operator", ["=", "==", "!="])
def test_a_value_contains_no_bare_sign_and_no_other_escape(value: str, why: str, operator: str):
    with pytest.raises(StatusError) as refused:
        selectors.parse_fields(f"metadata.name{operator}{value}")
    assert refused.value.code == 400
    assert refused.value.message == f"invalid field selector: {why}"
