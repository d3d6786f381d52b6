"""JSON bodies: values, duplicate keys, and the error texts of Go."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas import bodies
from inkube.schemas.golang import gojson
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.status import StatusError


def decode(body: bytes) -> bodies.Decoded:
    return bodies.decode(body, "json", want_duplicates=True)


def refusal(body: bytes, *, kind: str = "Widget") -> str:
    with pytest.raises(StatusError) as refused:
        bodies.decode_object(body, "json", kind=kind, want_duplicates=False)
    assert refused.value.code == 400
    return refused.value.message


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (
            b'{"a": [1, -2, 3.5, 1e3, true, null, "x"]}',
            {"a": [1, -2, 3.5, 1000.0, True, None, "x"]},
        ),
        (b"9223372036854775807", 2**63 - 1),
        (b"9223372036854775808", float(2**63)),
        (b"[18446744073709551615, 99999999999999999999]", [float(2**64), 1e20]),
        (b'"\xff\xe2\x82"', "\ufffd\ufffd\ufffd"),
        (rb'"\ud83d x \ud83d\ude00"', "\ufffd x 😀"),
        (b" [ ] \n", []),
    ],
)
def test_a_value_is_read_as_go_reads_it(body: bytes, value: Any) -> None:
    assert decode(body).value == value


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b'["a', "unexpected end of JSON input"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"{a: 1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1}", "invalid character '}' after array element"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"nil", "invalid character 'i' in literal null (expecting 'u')"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+x", "invalid character 'x' in exponent of numeric literal"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (rb'"\x"', "invalid character 'x' in string escape code"),
        (rb'"\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"'", r"invalid character '\'' looking for beginning of value"),
        (b"1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ],
)
def test_what_is_no_json_is_named_in_gos_words(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(body)

    assert refused.value.text == text


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='{}[]:,"\\ -+.e01atrufn\n', max_size=14).map(str.encode))
def test_the_scanner_and_python_agree_on_what_is_json(body: bytes) -> None:
    try:
        json.loads(body, parse_constant=lambda name: pytest.fail(name))
    except ValueError:
        assert gojson.syntax_error(body) != ""
    else:
        assert gojson.syntax_error(body) == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"kind": "Widget", "spec": {"a": 1',
            (
                "couldn't get version/kind; json parse error: unexpected end of JSON input "
                '({"kind": "Widget", "spec": {"a ...)'
            ),
        ),
        (
            b"",
            "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (b"null", "Object 'Kind' is missing in 'null' (6e756c6c)"),
        (b'{"a":1}', "Object 'Kind' is missing in '{\"a\":1}' ({\"a\":1})"),
        (
            b'{"kind":5}',
            (
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into "
                'Go struct field .kind of type string ({"kind":5})'
            ),
        ),
        (
            b'{"kind":"W","apiVersion":"a/b/c"}',
            'unexpected GroupVersion string: a/b/c ({"kind":"W","apiVersion":"a/b/ ...)',
        ),
    ],
)
def test_a_body_that_is_no_object_is_refused(body: bytes, message: str) -> None:
    prefix = "the object provided is unrecognized (must be of type Widget): "

    assert refusal(body) == prefix + message


def test_a_list_is_refused_with_the_type_go_wanted() -> None:
    assert "cannot unmarshal array into Go value of type struct { APIVersion" in refusal(b"[]")


def test_a_number_beyond_a_double_is_refused_by_kind() -> None:
    body = b'{"apiVersion": "g/v2", "kind": "Widget", "n": 1e999}'

    assert refusal(body) == (
        'Widget in version "v2" cannot be handled as a Widget: '
        "json: cannot unmarshal number 1e999 into Go value of type float64"
    )


def test_bytes_that_are_no_text_are_replaced_in_the_error() -> None:
    body = b'{"apiVersion": "g/v\xff", "kind": "\xffW", "n": 1e999}'

    assert refusal(body) == (
        '\ufffdW in version "v\ufffd" cannot be handled as a Widget: '
        "json: cannot unmarshal number 1e999 into Go value of type float64"
    )


def test_a_kind_may_be_left_out_where_it_is_known() -> None:
    decoded = bodies.decode_object(
        b'{"a": 1}', "json", kind="ConfigMap", want_duplicates=False, needs_kind=False
    )

    assert decoded.value == {"a": 1}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a":1,"b":{"a":2}}', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a" : 1, "a" : 2}', ["a"]),
        (b'{"x":{"k":1,"k":2},"l":[{"t":1,"t":1}],"x":1}', ["x.k", "l[0].t", "x"]),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
        (rb'{"a\u0022:":1,"s":"\":","s":"x"}', ["s"]),
        (rb'{"t":"\":\":","a" :1}', []),
        (rb'{"\u0061":1,"a":2}', ["a"]),
    ],
)
def test_repeated_keys_are_named_in_their_order(body: bytes, expected: list[str]) -> None:
    assert decode(body).duplicates == [f'duplicate field "{path}"' for path in expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (rb'{"a\"b":1,"a\"b":2}', r'"a\"b"'),
        (rb'{"a\\b":{"\n":1,"\n":2}}', r'"a\\b.\n"'),
        ('{"é\u00a0\u200b\x7f":1,"é\u00a0\u200b\x7f":2}'.encode(), r'"é\u00a0\u200b\x7f"'),
        (rb'{"\ud800":1,"\udfff":2}', '"\ufffd"'),
        (b'{"a":1,"\xff(":1,"\xff(":2}', '"\ufffd("'),
    ],
    ids=["quote", "backslash", "unprintable", "surrogates", "no UTF-8"],
)
def test_repeated_keys_are_quoted_as_go_does(body: bytes, expected: str) -> None:
    assert decode(body).duplicates == [f"duplicate field {expected}"]


def test_a_replaced_value_that_is_nested_too_deeply_is_refused() -> None:
    deep = b"[" * 1020 + b"]" * 1020
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode(b'{"a":%b,"a":1}' % deep)


@given(st.text())
def test_a_quoted_path_can_be_read_again(path: str) -> None:
    [text] = bodies.unknown_fields([path])
    assert all(char.isprintable() for char in text)
    assert bodies.named_path(text) == path


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text('a":\\ {', max_size=5)),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text('ab":', max_size=3), below),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_unique_keys_are_never_called_repeated(value: Any, indent: int | None, plain: bool) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=plain).encode()

    assert decode(body).duplicates == []


def test_strict_texts_list_duplicates_before_unknown_fields() -> None:
    decoded = decode(b'{"a":1,"a":2}')
    texts = [*decoded.strict_texts(), *bodies.unknown_fields(["b"])]

    assert bodies.strict_text(texts) == (
        'strict decoding error: duplicate field "a", unknown field "b"'
    )


@pytest.mark.parametrize(
    ("value", "settled"),
    [
        (3.0, 3),
        (-0.0, 0),
        (2.5, 2.5),
        (1e300, 1e300),
        (float(2**63), 9223372036854776000),
        ({"a": [1e3, {"b": 1.0}]}, {"a": [1000, {"b": 1}]}),
    ],
)
def test_numbers_are_settled_as_go_writes_them(value: Any, settled: Any) -> None:
    found = gojson.settle_numbers(value)

    assert orjson.dumps(found) == orjson.dumps(settled)


_NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-70, 70).map(
    lambda power: 10.0**power
)


@given(value=st.recursive(_NUMBERS | st.text(max_size=3), st.lists, max_leaves=4))
def test_what_is_not_walked_has_nothing_to_settle(value: Any) -> None:
    data = orjson.dumps([value])
    if not gojson.may_hold_floats(data):
        assert orjson.dumps(gojson.settle_numbers([value])) == data


TEXT = b'[null, true, false, -1.5e+7, "a\\n\\u00e9", {"k": 0}]'


@pytest.mark.parametrize("length", range(1, len(TEXT)))
def test_a_text_that_breaks_off_is_read_as_if_a_space_followed(length: int):
    """scanner.eof of encoding/json: what refuses the space tells so, else the end is unexpected."""
    text = TEXT[:length]
    spaced = gojson.syntax_error(text + b" ")
    expected = spaced if "' '" in spaced else "unexpected end of JSON input"
    assert gojson.syntax_error(text) == expected


def test_a_literal_that_breaks_off_names_the_next_letter():
    told = "invalid character ' ' in literal null (expecting 'u')"
    assert gojson.syntax_error(b'{"a": n') == told
