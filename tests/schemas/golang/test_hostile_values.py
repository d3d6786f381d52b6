"""Bodies, schemas and values designed to be expensive are processed quickly."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from inkube.schemas import bodies
from inkube.schemas.golang import patterns
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.structural import formats
from inkube.schemas.structural.compiled import CompiledSchema

MEGABYTE = 1 << 20


@contextmanager
def soon() -> Iterator[None]:
    """Check that the block takes less than a second of this thread's processor time."""
    start = time.thread_time()
    yield
    assert time.thread_time() - start < 1


def schema_of(**spec: Any) -> CompiledSchema:
    return CompiledSchema({"type": "object", "properties": {"spec": spec}})


@pytest.mark.parametrize("media", ["json", "yaml"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 5_000 + b"]" * 5_000,
        b"[{" * 300,
    ],
)
def test_deep_nesting_is_refused(body: bytes, media: bodies.Media) -> None:
    with soon(), pytest.raises(DecodeError):
        bodies.decode(body, media, want_duplicates=True)


def test_nesting_that_real_objects_have_is_fine() -> None:
    body = b'{"a":[' * 100 + b"]}" * 100

    with soon():
        for media in ("json", "yaml"):
            decoded = bodies.decode(body, media, want_duplicates=True)
            assert decoded.value == json.loads(body)


def test_aliases_cannot_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]

    with pytest.raises(DecodeError, match="excessive aliasing"):
        bodies.decode("\n".join(lines).encode(), "yaml", want_duplicates=False)


@pytest.mark.parametrize(
    "pattern", [
        "(a+)+$", "(a|a)*b", "^(a*)*$", "(.*)*x", "([a-z]*)*[0-9]", "a*a*a*a*a*a*b",
        "^" + "a?" * 60 + "a" * 60 + "$", "^(aa?a?)*b$", "^(a[b]?[b]?)*$", "^(a|b|ab)*c$",
        "a*a*a*x", "a*a*x", "(a*|b*)(a*|b*)(a*|b*)x", "(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)a*x",
        "a*b?a*b?a*x", "a+$b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [7, 11, 30, 60, 200, 10 * MEGABYTE])
def test_patterns_cannot_run_wild(pattern: str, size: int) -> None:
    text = "ab" * (size // 2) + "!" if "b]" in pattern else "a" * size + "!"

    with soon():
        errors = schema_of(type="string", pattern=pattern).validate({"spec": text})
    assert len(errors) == 1


def test_many_values_without_an_alias_are_no_aliasing() -> None:
    document = b"x: [" + b"1," * 450_000 + b"&a 2, *a]"
    value = bodies.decode(document, "yaml", want_duplicates=False).value
    assert len(value["x"]) == 450_002


def test_a_pattern_with_too_many_states_for_a_text_is_an_error() -> None:
    schema = schema_of(type="string", pattern="^" + "(a?){1000}" * 9 + "b$")

    with soon():
        (error,) = schema.validate({"spec": "a" * 100_000})
    assert "matching takes too many steps" in error.message()


@pytest.mark.parametrize("depth", [999, 1002, 5000])
@pytest.mark.parametrize("level", [("(", ")"), ("(?:", ")*"), ("(x", "|y)")])
def test_patterns_nest_no_deeper_than_in_go(level: tuple[str, str], depth: int) -> None:
    begin, end = level
    operators = {")": 1, ")*": 1, "|y)": 3}[end]
    text = begin * (depth // operators) + "a" + end * (depth // operators)
    if depth > 999:
        with pytest.raises(patterns.PatternError, match="expression nests too deeply"):
            patterns.matcher(text)
    else:
        patterns.matcher(text)


@pytest.mark.parametrize("name", sorted(formats._CHECKS))
@pytest.mark.parametrize("pieces", ["1a.:(", '\\"=% ', ("a.", "1h", "a@", "a:")])
def test_formats_cannot_run_wild(name: str, pieces: Iterable[str]) -> None:
    check = formats._CHECKS[name]
    with soon():
        for piece in pieces:
            assert check(piece * (MEGABYTE // 4)) in (True, False)


def test_an_enormous_enum_is_searched_at_once() -> None:
    schema = schema_of(
        type="array", items={"type": "string", "enum": [f"choice-{n}" for n in range(100_000)]}
    )

    with soon():
        assert schema.validate({"spec": ["choice-99999"] * 10_000}) == []
        assert len(schema.validate({"spec": ["none"]})) == 1


def test_a_long_set_is_searched_at_once() -> None:
    schema = schema_of(
        **{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
    )

    with soon():
        assert schema.validate({"spec": list(range(100_000))}) == []


def test_a_long_keyed_list_is_matched_at_once() -> None:
    entry = {"type": "object", "properties": {"k": {"type": "integer", "maximum": 1}}}
    schema = schema_of(
        **{
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": entry,
        }
    )
    value = {"spec": [{"k": n} for n in range(5_000)]}

    with soon():
        assert schema.validate(value, value) == []


def test_a_schema_of_many_fields_costs_what_is_used() -> None:
    leaf = {"type": "string", "maxLength": 5}
    wide = {f"f{n}": {"type": "object", "properties": {"x": leaf}} for n in range(100_000)}

    with soon():
        schema = schema_of(type="object", properties=wide)
        assert schema.validate({"spec": {"f7": {"x": "a"}}}) == []


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a\n", False),
        ("a.b", "a\nb", False),
        (r"^\s$", "\v", False),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        ("(?i)^K$", "\u212a", True),
        ("a{,3}", "a{,3}", True),
        ("^[[:alpha:]]+$", "ab", True),
        (r"^\pL+$", "éa", True),
    ],
)
def test_patterns_mean_what_they_mean_in_go(pattern: str, text: str, matches: bool) -> None:
    found = schema_of(type="string", pattern=pattern).validate({"spec": text})

    assert (found == []) is matches


def test_the_usual_patterns_take_the_short_way() -> None:
    for pattern in (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "^a+$"):
        assert patterns.short_matcher(pattern) is not None
    for pattern in ("(a+)+$", "(a|a)*b", "a*" * 9 + "b", r"\bx", "(?i)x"):
        assert patterns.short_matcher(pattern) is None
