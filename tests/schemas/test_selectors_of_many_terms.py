"""Selectors are compiled into look-ups; the result is that of a test of each term."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import selectors
from inkube.schemas.definitions import SelectableField, Version
from inkube.schemas.selectors import LabelConditions, Requirement
from inkube.schemas.status import StatusError

KEYS, VALUES = st.sampled_from("abcd"), st.sampled_from(["", "x", "y", "3", "10", "-1", "1e3"])
NUMBERS = st.sampled_from(["-5", "0", "3", "9"])
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["exists", "!"])),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from(["in", "notin", "=", "==", "!="]),
        st.lists(VALUES, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Requirement, KEYS, st.sampled_from([">", "<"]), NUMBERS.map(lambda text: (text,))),
)
LABELS = st.dictionaries(KEYS, VALUES)


@given(st.lists(REQUIREMENTS, max_size=12), st.lists(LABELS, min_size=1, max_size=5))
def test_labels_fulfil_all_conditions_or_none(conditions, objects):
    compiled = LabelConditions(conditions)
    for labels in objects:
        expected = all(each.matches(labels) for each in conditions)
        assert compiled.match(labels) is expected
        assert selectors.matches(tuple(conditions), labels) is expected


FIELDS = (
    SelectableField("metadata.name", "metadata.name"),
    SelectableField("metadata.namespace", "metadata.namespace"),
    SelectableField("spec.a", "spec.a", zero="none"),
    SelectableField("of", "spec.map", is_map=True),
)
TERMS = st.tuples(
    st.sampled_from(["metadata.name", "metadata.namespace", "spec.a", "of[k]", "of[l]"]),
    st.sampled_from(["=", "!="]),
    st.sampled_from(["", "x", "y", "none"]),
)
TEXTS = st.sampled_from(["x", "y", ""])
OBJECTS = st.fixed_dictionaries({
    "metadata": st.fixed_dictionaries({"name": TEXTS}, optional={"namespace": TEXTS}),
    "spec": st.fixed_dictionaries(
        {}, optional={"a": TEXTS, "map": st.dictionaries(st.sampled_from("kl"), TEXTS)}
    ),
})  # fmt: skip


def one(obj, path, operator, value):
    """Return a single term, as upstream's fields.Selector tests it."""
    if path.startswith("of["):
        found = obj["spec"].get("map", {}).get(path[3:-1])
    elif path == "spec.a":
        found = obj["spec"].get("a") or "none"
    else:
        found = obj["metadata"].get(path.removeprefix("metadata."), "")
    return (found == value) is (operator == "=")


@given(st.lists(TERMS, min_size=1, max_size=10), st.lists(OBJECTS, min_size=1, max_size=5))
def test_fields_fulfil_all_terms_or_none(terms, objects):
    version = Version("v1", selectable_fields=FIELDS)
    text = ",".join("".join(term) for term in terms)
    identity, content = selectors.compile(labels="", fields=text, version=version)
    for obj in objects:
        place = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        found = (identity is None or identity(*place)) and (content is None or content(obj))
        assert found is all(one(obj, *term) for term in terms)


@pytest.mark.parametrize("text", ["a>9223372036854775808", "a<" + "9" * 5000])
def test_bounds_beyond_int64_are_refused(text):
    with pytest.raises(StatusError, match="the value must be an integer"):
        selectors.parse_labels(text)
