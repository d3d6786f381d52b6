"""Base64 is decoded as in Go: line breaks are ignored, and errors name the same byte."""

import base64 as python_base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas.golang import base64
from inkube.schemas.golang.unmarshal import DecodeError


@pytest.mark.parametrize(
    ("text", "expected"), [("", ""), ("aGk=", "aGk="), ("aG\nk=\r\n", "aGk="), ("YWJj\n", "YWJj")]
)
def test_line_breaks_are_left_out(text, expected):
    assert base64.canonical(text) == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("?", 0),
        ("hello", 4),
        ("abc", 0),
        ("abcd?", 4),
        ("ab\ncd?", 5),
        ("=", 0),
        ("a=", 1),
        ("aG=", 3),
        ("aG=k", 2),
        ("aGk=aGk=", 4),
        ("aGk=\n=", 5),
        ("aGé=", 2),
        ("abcd==", 4),
        ("abcd====", 4),
        ("ab\r\ncd==", 6),
        ("====", 0),
    ],
)
def test_the_first_byte_that_is_none_is_named(text, place):
    with pytest.raises(DecodeError) as error:
        base64.canonical(text)
    assert error.value.text == f"illegal base64 data at input byte {place}"


QUANTA = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@given(st.text("aB9+/=-\n\r é", max_size=12))
def test_whole_quanta_are_read_and_nothing_else(text):
    plain = text.replace("\r", "").replace("\n", "")
    if QUANTA.fullmatch(plain):
        read = base64.canonical(text)
        assert python_base64.b64decode(read, validate=True) == python_base64.b64decode(plain)
        assert base64.canonical(read) == read
    else:
        with pytest.raises(DecodeError, match=r"^illegal base64 data at input byte \d+$"):
            base64.canonical(text)
