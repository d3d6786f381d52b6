"""Each value is compared by its own schema, at any depth: apiserver pkg/cel/common/values.go.

Sets are equal in any order, keyed lists too; atomic lists are not.
"""

from typing import Any

import pytest

from inkube.schemas.cel import RuleSet

TEXT = {"type": "string"}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "properties": {"name": TEXT, "of": SET}},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "s": SET,
        "k": KEYED,
        "l": {"type": "array", "items": TEXT},
        "map": {"type": "object", "additionalProperties": SET},
        "list": {"type": "array", "items": SET},
        "lists": {"type": "array", "items": {"type": "array", "items": TEXT}},
        "deep": {"type": "object", "additionalProperties": {"type": "array", "items": SET}},
        "part": {"type": "object", "properties": {"s": SET}},
    },
}
OLD = {
    "s": ["a", "b"],
    "k": [{"name": "x", "of": ["a", "b"]}, {"name": "y"}],
    "l": ["a", "b"],
    "map": {"m": ["a", "b"]},
    "list": [["a", "b"]],
    "lists": [["a", "b"]],
    "deep": {"m": [["a", "b"]]},
    "part": {"s": ["a", "b"]},
}
NEW = {
    "s": ["b", "a"],
    "k": [{"name": "y"}, {"name": "x", "of": ["b", "a"]}],
    "l": ["b", "a"],
    "map": {"m": ["b", "a"]},
    "list": [["b", "a"]],
    "lists": [["b", "a"]],
    "deep": {"m": [["b", "a"]]},
    "part": {"s": ["b", "a"]},
}


def holds(rule: str, new: Any, old: Any) -> bool:
    errors, _ = RuleSet({**SCHEMA, "x-kubernetes-validations": [{"rule": rule}]}).validate(new, old)
    assert [error.detail for error in errors] in ([], [f"failed rule: {rule}"])
    return not errors


FORMS = [
    "{0} == {1}",
    "!({0} != {1})",
    "{0} in [{1}]",
    "[{0}] == [{1}]",
    "{{'a': {0}}} == {{'a': {1}}}",
    "[[{0}]] == [[{1}]]",
    "[{1}].exists(e, e == {0})",
    "[{1}].indexOf({0}) == 0",
    "sets.contains([{1}], [{0}])",
    "optional.of({0}) == optional.of({1})",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["s", "k", "map", "list", "deep", "part"])
def test_the_order_of_a_set_makes_no_difference(form: str, name: str):
    assert holds(form.format(f"self.{name}", f"oldSelf.{name}"), NEW, OLD)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["l", "lists"])
def test_the_order_of_an_atomic_list_makes_a_difference(form: str, name: str):
    assert not holds(form.format(f"self.{name}", f"oldSelf.{name}"), NEW, OLD)
    assert holds(form.format(f"self.{name}", f"oldSelf.{name}"), OLD, OLD)


def test_a_literal_compares_in_order():
    assert holds("self.s == ['a', 'b']", NEW, OLD)
    assert not holds("['a', 'b'] == self.s && oldSelf.s == self.s", NEW, OLD)
    assert not holds("[['a', 'b']] == [self.s] && oldSelf.s == self.s", NEW, OLD)


def test_a_set_beside_an_empty_list_stays_a_set():
    assert holds("[] + self.s == oldSelf.s", NEW, OLD)
    assert holds("self.s + [] == oldSelf.s", NEW, OLD)
    assert not holds("[] + self.l == oldSelf.l", NEW, OLD)


def test_only_the_items_of_the_right_list_are_looked_up_in_a_set():
    assert holds("self.s == ['b', 'b'] && !(['b', 'b'] == self.s)", NEW, OLD)
