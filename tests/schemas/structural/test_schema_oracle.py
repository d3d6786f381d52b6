"""Where JSON Schema has the same meaning, another validator agrees; RE2 agrees with the fast
path."""

import re
from typing import Any

import jsonschema_rs
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from inkube.schemas.golang import patterns
from inkube.schemas.structural.compiled import CompiledSchema

Schema = dict[str, Any]

SMALL = st.integers(0, 3)
NUMBERS = st.integers(-4, 4)


def optional(**keywords: Any) -> Any:
    return st.fixed_dictionaries({}, optional=keywords)


def typed(kind: str, keywords: Any) -> Any:
    return keywords.map(lambda rules: {"type": kind, **rules})


LEAVES = st.one_of(
    typed(
        "string", optional(minLength=SMALL, maxLength=SMALL, pattern=st.sampled_from(["^a", "b"]))
    ),
    typed("integer", optional(minimum=NUMBERS, maximum=NUMBERS, multipleOf=st.integers(1, 3))),
    typed("number", optional(minimum=NUMBERS, maximum=NUMBERS)),
    st.just({"type": "boolean"}),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, unique=True).map(
        lambda choices: {"type": "string", "enum": choices}
    ),
)


def objects(below: Any) -> Any:
    names = st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=2)
    properties = st.dictionaries(st.sampled_from("abc"), below, max_size=3)
    return typed(
        "object",
        optional(properties=properties, required=names, minProperties=SMALL, maxProperties=SMALL),
    )


def maps(below: Any) -> Any:
    return typed("object", st.fixed_dictionaries({"additionalProperties": below}))


def arrays(below: Any) -> Any:
    return typed(
        "array",
        st.fixed_dictionaries({"items": below}, optional={"minItems": SMALL, "maxItems": SMALL}),
    )


def combined(below: Any) -> Any:
    several = st.lists(below, min_size=1, max_size=3)
    return optional(allOf=several, anyOf=several, oneOf=several, **{"not": below})


SCHEMAS = st.recursive(
    LEAVES,
    lambda below: st.one_of(objects(below), maps(below), arrays(below), combined(below)),
    max_leaves=8,
)
VALUES = st.recursive(
    st.one_of(
        # no whole floats: draft 4 takes 2.0 for no integer, the reference for one
        st.none(), st.booleans(), NUMBERS, st.sampled_from([0.5, 2.5, -1.25]),
        st.text("ab", max_size=4),
    ),
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(st.sampled_from("abcd"), below, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(SCHEMAS, VALUES)
def test_another_validator_agrees_on_what_is_valid(schema: Schema, value: Any) -> None:
    assume(not cut_short(schema, value))
    expected = jsonschema_rs.validator_for({"$schema": DRAFT_4, **schema}).is_valid(value)

    errors = CompiledSchema(schema, resource_root=False).schema_errors(value)

    assert (errors == []) is expected


DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def cut_short(schema: Schema, value: Any) -> bool:
    """Upstream checks neither combinators nor bounds for null."""
    if value is None:
        return not schema.get("type")
    if isinstance(value, list):
        return any(cut_short(sub, item) for sub in subschemas(schema) for item in value) or any(
            cut_short(sub, value) for sub in subschemas(schema)
        )
    if isinstance(value, dict):
        return any(
            cut_short(sub, item) for sub in subschemas(schema) for item in value.values()
        ) or any(cut_short(sub, value) for sub in subschemas(schema))
    return any(cut_short(sub, value) for sub in subschemas(schema))


def subschemas(schema: Schema) -> list[Schema]:
    found = [*schema.get("properties", {}).values()]
    found += [schema[name] for name in ("items", "additionalProperties", "not") if name in schema]
    return found + [sub for name in ("allOf", "anyOf", "oneOf") for sub in schema.get(name, ())]


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, VALUES)
def test_an_unchanged_value_is_always_forgiven_or_fine(schema: Schema, value: Any) -> None:
    compiled = CompiledSchema(schema, resource_root=False)
    before = compiled.schema_errors(value)

    assert set(texts(compiled.schema_errors(value, value))) <= set(texts(before))


def texts(errors: list[Any]) -> list[str]:
    return [error.text() for error in errors]


PATTERNS = st.lists(
    st.sampled_from(
        ["a", "b", ".", "^", "$", "[ab]", "[^a]", "\\d", "\\w", "\\.", "*", "+", "?", "(", ")",
         "|", "{2}", "{1,3}", "(?:", "-", "]", "{"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(PATTERNS, st.text("ab1.-\n{", max_size=8))
def test_the_short_way_means_what_re2_means(pattern: str, text: str) -> None:
    try:
        whole = patterns.matcher(pattern)
    except patterns.PatternError:
        return
    short = patterns.short_matcher(pattern)
    assume(short is not None and re.compile(pattern))

    assert short is not None
    assert bool(short[0](text)) is whole(text)
