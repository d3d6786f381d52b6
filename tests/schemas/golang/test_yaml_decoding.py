"""YAML bodies: version 1.1, the first document, converted to JSON as in Go."""

from typing import Any

import pytest

from inkube.schemas import bodies
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
