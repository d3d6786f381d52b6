"""YAML bodies: version 1.1, the first document, converted to JSON as in Go."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import bodies
from inkube.schemas.golang import goyaml
from inkube.schemas.golang.unmarshal import DecodeError


def decode(text: str) -> bodies.Decoded:
    return bodies.decode(text.encode(), "yaml", want_duplicates=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[y, Yes, on, TRUE, n, No, off]", [True] * 4 + [False] * 3),
        ("[~, null, NULL, '']", [None, None, None, ""]),
        ("[0x1F, 010, 0o10, 0b11, 1_000, +5, -0x2]", [31, 8, 8, 3, 1000, 5, -2]),
        ("[08, 1., .5, 1e3, 1.0, -0.0]", [8, 1, 0.5, 1000, 1, 0]),
        ("[18446744073709551616, 9223372036854775807]", [2.0**64, 2**63 - 1]),
        (
            "[2024-01-01, '1', \"yes\", 1:30, =, _1, 1e]",
            ["2024-01-01", "1", "yes", "1:30", "=", "_1", "1e"],
        ),
        ("{1: a, true: b, 1.5: c, 0x10: d}", {"1": "a", "true": "b", "1.5": "c", "16": "d"}),
        ("{n: 1, y: 2}", {"false": 1, "true": 2}),
        ("a: &x {k: [1]}\nb: *x\n", {"a": {"k": [1]}, "b": {"k": [1]}}),
        ("a: &x {k: 1, l: 1}\nb: {<<: *x, l: 2}\n", {"a": {"k": 1, "l": 1}, "b": {"k": 1, "l": 2}}),
        ("b: {l: 2, <<: [{l: 3, m: 4}]}\n", {"b": {"l": 2, "m": 4}}),
        ("[!!str 5, !!int '5', !!float 1, !!binary aGk=, !foo 3]", ["5", 5, 1, "hi", "3"]),
        ("--- \na: 1\n---\nb: 2\n", {"a": 1}),
        ("# nothing", None),
        ("|-\n  a\n  b", "a\nb"),
        ('{"a": "\\u00e9"}', {"a": "é"}),
    ],
)
def test_a_document_is_read_as_kubernetes_reads_it(text: str, value: Any) -> None:
    assert decode(text).value == value


KEYS = st.text(max_size=3) | st.sampled_from(["<<", "a" * 600, "a" * 1100, "y", "1", "~", "é"])
SCALARS = (
    st.none() | st.booleans() | st.text(max_size=5) | st.floats(allow_nan=False, width=32)
    | st.integers(-(2**66), 2**66) | st.sampled_from(["\t", "\x7f", "\\", "/", "\n", "#", ": "])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :"), (",\n", ":\n")]),
    st.sampled_from(["", "\n", " x", "\n---\n{}"]),
)
def test_json_that_is_read_as_json_is_the_same_as_yaml(
    value: Any, ascii: bool, separators: tuple[str, str], end: str
) -> None:
    text = json.dumps(value, ensure_ascii=ascii, separators=separators) + end
    body = text.encode("utf-8", "surrogatepass")
    read = goyaml.read_json(body)
    if read is not None:
        assert json.dumps(read) == json.dumps(goyaml.loads(body).value)


@pytest.mark.parametrize("depth", [239, 240, 241, 300])
def test_json_is_as_deep_as_yaml(depth: int) -> None:
    body = b'{"a":' * depth + b"1" + b"}" * depth
    try:
        expected = goyaml.loads(body).value
    except DecodeError:
        expected = None
    assert goyaml.read_json(body) == expected


def test_json_that_kubectl_sends_is_read_as_json() -> None:
    meta = {"name": "a", "labels": {"x/y": "1.5"}}
    value = {"kind": "Pod", "metadata": meta, "spec": {"p": [80, True, None]}}
    assert goyaml.read_json(json.dumps(value, separators=(",", ":")).encode() + b"\n") == value


def test_repeated_keys_of_json_are_found_by_their_lines() -> None:
    assert decode('{"a":1,"b":{"a":1},"a":2}').duplicates == ['line 1: key "a" already set in map']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2\nb: }", "yaml: line 1: did not find expected ',' or ']'"),
        ("a:\n\tb: 1\n", "yaml: line 2: found character that cannot start any token"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: {<<: 5}", "yaml: map merge requires map or sequence of maps as the value"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(text)

    assert refused.value.text == message


def test_repeated_keys_are_named_by_line() -> None:
    decoded = decode("a: 1\nb:\n  c: 1\n  1: x\n  c: 2\n  1: z\na: 2\n")

    assert decoded.value == {"a": 2, "b": {"c": 2, "1": "z"}}
    assert decoded.duplicates == [
        'line 5: key "c" already set in map',
        "line 6: key 1 already set in map",
        'line 7: key "a" already set in map',
    ]


def test_in_a_strict_error_they_are_one_text() -> None:
    assert decode("a: 1\na: 2\na: 3").strict_texts() == [
        (
            "yaml: unmarshal errors:\n"
            '  line 2: key "a" already set in map\n'
            '  line 3: key "a" already set in map'
        )
    ]


def test_aliases_are_values_of_their_own() -> None:
    value = decode("a: &x {k: 1}\nb: *x\n").value
    value["a"]["k"] = 2

    assert value["b"] == {"k": 1}
