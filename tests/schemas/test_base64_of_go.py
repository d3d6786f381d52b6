"""Base64 is decoded as in Go: line breaks are ignored, and errors name the same byte."""

import pytest

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
    ],
)
def test_the_first_byte_that_is_none_is_named(text, place):
    with pytest.raises(DecodeError) as error:
        base64.canonical(text)
    assert error.value.text == f"illegal base64 data at input byte {place}"
