"""Strategic merge patch: merge keys, strategies, directives."""

import copy
import json
import random

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from mutations import mutate

from inkube.schemas import builtin, patch
from inkube.schemas.golang import gojson
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.status import StatusError

SCHEMA = {
    "properties": {
        "n": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "inner": {
            "type": "object",
            "properties": {"a": {}, "b": {}, "c": {}},
            "x-kubernetes-patch-strategy": "retainKeys",
        },
        "whole": {"type": "object", "x-kubernetes-patch-strategy": "replace"},
        "atomic": {"type": "array"},
        "objects": {"type": "array", "items": {"properties": {"a": {}}}},
        "words": {"type": "array", "x-kubernetes-patch-strategy": "merge"},
        "items": {
            "type": "array",
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
            "items": {"properties": {"name": {}, "v": {}, "map": {"additionalProperties": {}}}},
        },
        "keyless": {"type": "array", "x-kubernetes-patch-strategy": "merge"},
    }
}


def named(*names):
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("obj", "change", "expected"),
    [
        ({"n": 1}, {"n": None}, {}),
        ({}, {"labels": {"a": None, "b": "1"}}, {"labels": {"b": "1"}}),
        ({"labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "replace"}}, {"labels": {}}),
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "delete", "b": "2"}}, {"labels": {}}),
        ({"whole": {"a": 1}}, {"whole": {"b": 2}}, {"whole": {"b": 2}}),
        ({"atomic": [1, 2]}, {"atomic": [3]}, {"atomic": [3]}),
        ({"words": ["a", "b"]}, {"words": ["c", "b"]}, {"words": ["c", "a", "b"]}),
        ({"words": ["a", "b"]}, {"$deleteFromPrimitiveList/words": ["a"]}, {"words": ["b"]}),
        ({"n": 1}, {"$deleteFromPrimitiveList/words": ["a"]}, {"n": 1}),
        (
            {"words": ["a", "b", "c"]},
            {"$setElementOrder/words": ["c", "a"]},
            {"words": ["b", "c", "a"]},
        ),
        (
            {"items": named("a", "b")},
            {"items": [{"name": "b", "v": 1}, {"name": "c", "v": None}]},
            {"items": [{"name": "a"}, {"name": "b", "v": 1}, {"name": "c", "v": None}]},
        ),
        (
            {"items": named("a", "b", "c")},
            {"items": [{"name": "b", "$patch": "delete"}, {"name": "x", "$patch": "delete"}]},
            {"items": named("a", "c")},
        ),
        (
            {"items": named("a")},
            {"items": [{"$patch": "replace"}, {"name": "z"}]},
            {"items": named("z")},
        ),
        (
            {"items": named("a", "b")},
            {"$setElementOrder/items": named("b", "c", "a"), "items": named("c")},
            {"items": named("b", "c", "a")},
        ),
        (
            {"n": 1},
            {"$setElementOrder/items": named("b"), "items": named("b")},
            {"n": 1, "items": named("b")},
        ),
        ({"n": 1}, {"items": [{"name": "a", "$patch": "delete"}]}, {"n": 1, "items": []}),
        (
            {"inner": {"a": 1, "b": 2}},
            {"inner": {"$retainKeys": ["c"], "c": 3}},
            {"inner": {"c": 3}},
        ),
        ({"n": 1}, None, {"n": 1}),
    ],
)
def test_a_strategic_merge_patch_has_this_result(obj, change, expected):
    before = copy.deepcopy((obj, change))
    assert patch.strategic(obj, change, SCHEMA) == expected
    assert (obj, change) == before


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"items": [{"v": 1}]}, 500, "map: map[v:1] does not contain declared merge key: name"),
        (
            {"labels": {"$patch": "merge"}},
            500,
            "unknown patch type: merge in map: map[$patch",
        ),
        ({"items": [{"name": "a", "$patch": "x"}]}, 500, "unknown patch type: x"),
        ({"items": [{"name": "a", "$patch": "merge"}]}, 500, "merging lists cannot yet"),
        ({"words": [1]}, 500, "list element types are not identical"),
        ({"words": [["a"]]}, 500, "list element types"),
        ({"keyless": [{"a": 1}]}, 500, "cannot merge lists without merge key"),
        ({"$setElementOrder/items": "a"}, 500, "expected a []interface {}, but received a string"),
        (
            {"$setElementOrder/items": [{"name": "a"}], "items": [1]},
            500,
            "expected a map[string]interface {}, but received a int64",
        ),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"inner": {"$retainKeys": ["a"], "b": 1}}, 400, "invalid patch format of retainKeys"),
        ({"inner": {"$retainKeys": "a"}}, 400, "invalid patch format of retainKeys"),
        (
            {"$setElementOrder/items": [{"name": "a"}], "items": [{"name": "b"}]},
            500,
            "The order in patch list:",
        ),
        (
            {
                "$setElementOrder/items": [{"name": "b"}, {"name": "a"}],
                "items": [{"name": "a"}, {"$patch": "replace"}],
            },
            500,
            "The order in patch list:",
        ),
        (
            {"$setElementOrder/atomic": [], "atomic": ["x"]},
            500,
            "list element types are not identical: [[1] [x]]",
        ),
        (
            {"$setElementOrder/words": None},
            500,
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        (
            {"objects": [], "$setElementOrder/objects": []},
            500,
            "does not contain declared merge key: ",
        ),
        ([], 400, "json: cannot unmarshal array"),
    ],
)
def test_a_wrong_strategic_merge_patch_is_refused(change, code, words):
    obj = {
        "labels": {}, "words": ["a"], "items": named("a"), "keyless": [{"a": 2}], "inner": {},
        "atomic": [1], "objects": [{"a": 2}],
    }  # fmt: skip
    with pytest.raises(StatusError) as refusal:
        patch.strategic(obj, change, SCHEMA)
    assert refusal.value.code == code
    assert words in refusal.value.message


PATCHED = {
    "n": 1, "labels": {"a": "1"}, "inner": {"a": 1}, "whole": {"a": 1}, "atomic": [1],
    "words": ["a", "b"], "items": [{"name": "a", "v": 1, "map": {"x": "y"}}, {"name": "b"}],
    "keyless": [{"a": 2}],
}  # fmt: skip
CHANGE = {
    "n": None, "labels": {"a": None, "b": "2"}, "inner": {"$retainKeys": ["b"], "b": 2},
    "whole": {"$patch": "replace"}, "atomic": [2], "words": ["c"],
    "$deleteFromPrimitiveList/words": ["b"], "$setElementOrder/words": ["c", "a"],
    "items": [{"name": "b", "v": 2}, {"name": "a", "$patch": "delete"}, {"name": "c"}],
    "$setElementOrder/items": [{"name": "b"}, {"name": "c"}], "keyless": [],
}  # fmt: skip


def received(value):
    """Return the value after decoding by a server; a value that cannot be decoded is never
    patched."""
    try:
        return gojson.loads(json.dumps(value).encode())
    except DecodeError:
        reject()


@settings(max_examples=1_000)
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 3), of_patch=st.booleans())
def test_a_patch_that_is_nearly_right_is_carried_out_or_refused(seed, changes, of_patch):
    rng, obj, change = random.Random(seed), copy.deepcopy(PATCHED), copy.deepcopy(CHANGE)
    for _ in range(changes):
        if of_patch:
            change = mutate(rng, change)
        else:
            obj = mutate(rng, obj)
    obj, change = received(obj), received(change)
    assume(isinstance(obj, dict))
    try:
        patched = patch.strategic(obj, change, SCHEMA)
    except StatusError:
        return
    assert isinstance(patched, dict)


@pytest.mark.parametrize("value", [{}, {"a": 1}, [], ["a"]])
@pytest.mark.parametrize("form", ["order", "key", "removed", "present"])
def test_only_scalars_identify_items(value, form):
    """kube-apiserver panics, and closes the connection."""
    change = {
        "order": {"$setElementOrder/words": [value]},
        "key": {"items": [{"name": value}]},
        "removed": {"$deleteFromPrimitiveList/words": [value]},
        "present": {"$setElementOrder/objects": []},
    }[form]
    words = [] if form == "removed" else ["a"]
    obj = {"words": words, "items": named("a"), "objects": [value]}
    with pytest.raises(StatusError) as refusal:
        patch.strategic(obj, change, SCHEMA)
    lists = form == "removed" and isinstance(value, list)
    assert refusal.value.code == (422 if lists else 500)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"n": None, "labels": {"b": None}}, {"n": None, "labels": {"b": None}}),
        ({"whole": {"a": None, "b": {"$patch": "delete"}}}, {"whole": {}}),
        ({"inner": {"$retainKeys": ["b"], "b": 2}}, {"inner": {"b": 2}}),
        ({"$setElementOrder/words": ["b", "a"], "words": ["b"], "n": 2}, {"n": 2}),
        ({"labels": {"$patch": "replace", "b": "2"}}, {"labels": {"b": "2"}}),
        ({"labels": {"$patch": "delete"}}, {"labels": {"$patch": "delete"}}),
        (
            {"items": [{"name": "a", "v": None, "$patch": "delete"}, {"name": "b"}]},
            {"items": [{"name": "a", "v": None, "$patch": "delete"}, {"name": "b"}]},
        ),
        ({"items": [{"name": "z", "v": None}]}, {"items": [{"name": "z", "v": None}]}),
        (None, None),
    ],
)
def test_a_refusal_shows_what_the_merge_leaves_of_the_patch(change, left):
    """Upstream prints the patch that its merge has changed (mergeMap, mergePatchIntoOriginal)."""
    obj = {"words": ["a", "b"], "labels": {"a": "1"}, "inner": {"a": 1}, "items": named("a")}
    sent = copy.deepcopy(change)
    assert patch.remainder(obj, change, SCHEMA) == left
    assert change == sent


def test_lists_of_lists_are_422():
    with pytest.raises(StatusError) as refusal:
        patch.strategic({"words": []}, {"words": [["a"]]}, SCHEMA)
    assert refusal.value.code == 422


def test_containers_of_a_deployment_merge_by_name():
    definition = next(d for d in builtin.definitions() if d.names.kind == "Deployment")
    schema = definition.storage_version.schema

    def deployment(*containers):
        return {"spec": {"template": {"spec": {"containers": list(containers)}}}}

    obj = deployment({"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]})
    change = deployment({"name": "a", "env": [{"name": "Y", "value": "2"}]}, {"name": "b"})
    merged = patch.strategic(obj, change, schema)
    assert merged == deployment(
        {
            "name": "a",
            "image": "a:1",
            "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}],
        },
        {"name": "b"},
    )


NAMES = st.lists(st.sampled_from("abcdef"), unique=True)


@given(NAMES, NAMES)
def test_merging_keeps_every_item_once_and_the_patch_in_order(present, change):
    merged = patch.strategic({"items": named(*present)}, {"items": named(*change)}, SCHEMA)
    names = [item["name"] for item in merged["items"]]
    assert sorted(names) == sorted(set(present) | set(change))
    assert [name for name in names if name in change] == change


@given(NAMES.filter(bool), NAMES)
def test_an_order_only_reorders(present, order):
    change = {"$setElementOrder/words": order}
    words = patch.strategic({"words": present}, change, SCHEMA)["words"]
    assert sorted(words) == sorted(present)
    assert [w for w in words if w in order] == [w for w in order if w in present]


@given(NAMES, NAMES)
def test_an_empty_order_sorts_no_items(present, change):
    plain = patch.strategic({"items": named(*present)}, {"items": named(*change)}, SCHEMA)
    with_order = {"$setElementOrder/items": [], "items": named(*change)}
    if not present and not change:
        with pytest.raises(StatusError, match="no elements in any of the given slices"):
            patch.strategic({"items": []}, with_order, SCHEMA)
        return
    ordered = patch.strategic({"items": named(*present)}, with_order, SCHEMA)["items"]
    assert sorted(each["name"] for each in ordered) == sorted(
        each["name"] for each in plain["items"]
    )


@given(NAMES, NAMES)
def test_directives_have_no_place_in_an_order(present, order):
    items = [*({"name": name, "$patch": "delete"} for name in present), {"$patch": "replace"}]
    for count in (1, len(items)):
        change = {"$setElementOrder/items": named(*order), "items": items[-count:]}
        assert patch.strategic({"items": named(*present)}, change, SCHEMA)["items"] == []
