"""JSON patch with the special cases of kube-apiserver."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import patch
from inkube.schemas.patch.json import JSONPatchFailure
from inkube.schemas.status import StatusError

LIST = {"l": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("obj", "operations", "expected"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": 1}, [{"op": "add", "path": "/b"}], {"a": 1, "b": None}),
        ({"a": 1}, [{"op": "replace", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": 1}, [{"op": "remove", "path": "/a"}], {}),
        ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
        ({"a": 1}, [{"op": "test", "path": "/b"}], {"a": 1}),
        ({"a": 1}, [{"op": "copy", "from": "/b", "path": "/c"}], {"a": 1, "c": None}),
        ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/b"}], {"a": {}, "b": 1}),
        ({"a/b": 1, "c~": 2}, [{"op": "remove", "path": "/a~1b"}], {"c~": 2}),
        ({"~1": 1}, [{"op": "remove", "path": "/~01"}], {}),
        (LIST, [{"op": "add", "path": "/l/-", "value": "d"}], {"l": ["a", "b", "c", "d"]}),
        (LIST, [{"op": "move", "from": "/l/0", "path": "/l/-1"}], {"l": ["b", "c", "a"]}),
        (LIST, [{"op": "move", "from": "/l/2", "path": "/l/0"}], {"l": ["c", "a", "b"]}),
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, None, {"a": 1}),
    ],
)
def test_operations_do_what_evanphx_does(obj, operations, expected):
    patched, warnings = patch.apply_json_patch(obj, operations)
    assert (patched, warnings) == (expected, [])


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/missing"},
        {"op": "add", "path": "/missing/a", "value": 1},
        {"op": "replace", "path": "", "value": 1},
        {"op": "add", "path": "l", "value": 1},
        {"op": "add", "value": 1},
        {"path": "/l", "value": 1},
        {"op": "frobnicate", "path": "/l"},
        {"op": "move", "from": "/missing", "path": "/l"},
        {"op": "move", "path": "/l"},
        {"op": "test", "path": "/n", "value": 1.0},
        {"op": "test", "path": "/n", "value": True},
        {"op": "test", "path": "/l", "value": ["a"]},
        {"op": "add", "path": "/n/deeper", "value": 1},
        None,
    ],
)
def test_what_cannot_be_carried_out_is_422(operation):
    with pytest.raises(StatusError) as refusal:
        patch.apply_json_patch({"n": 1, **LIST}, [operation])
    assert refusal.value.code == 422
    assert refusal.value.body()["details"] == {}


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ({}, "object into Go value of type []handlers.jsonPatchOp"),
        ("x", "string into Go value of type []handlers.jsonPatchOp"),
        ([1], "number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "number into Go struct field jsonPatchOp.op of type string"),
    ],
)
def test_what_is_no_list_of_operations_is_400(operations, words):
    with pytest.raises(StatusError, match=r"^error decoding patch") as refusal:
        patch.apply_json_patch({}, operations, checks_members=True)
    assert refusal.value.code == 400
    assert refusal.value.message.endswith(words)


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        ({}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ([1], "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
def test_without_checks_of_members_a_list_is_still_needed(operations, text):
    with pytest.raises(StatusError) as refusal:
        patch.apply_json_patch({}, operations)
    assert (refusal.value.code, refusal.value.message) == (400, text)


@pytest.mark.parametrize("wrong", [1, True, [], {}])
@pytest.mark.parametrize("op", ["add", "copy", "move", "remove", "replace", "test"])
@pytest.mark.parametrize("member", ["op", "path", "from"])
def test_a_member_of_a_wrong_type_fails_its_operation_only(op, member, wrong):
    operation = {"op": op, "path": "/a", "from": "/a", "value": 1, member: wrong}
    if member == "from" and op not in ("copy", "move"):
        return
    with pytest.raises(JSONPatchFailure) as refusal:
        patch.apply_json_patch({"a": 1}, [operation])
    expected = f"{op} operation failed to decode {member}: "
    if member == "op":
        expected = "Unexpected kind: unknown"
    elif member == "path" and op in ("add", "remove", "copy"):
        expected += "missing value"
    else:
        expected += "json: cannot unmarshal"
    assert refusal.value.bare_message.startswith(expected)
    with pytest.raises(StatusError) as strict:
        patch.apply_json_patch({"a": 1}, [operation], checks_members=True)
    assert strict.value.code == 400


def test_a_failing_patch_leaves_the_object_alone():
    obj = {"a": {"b": [1]}}
    operations = [{"op": "add", "path": "/a/b/-", "value": 2}, {"op": "remove", "path": "/x"}]
    with pytest.raises(StatusError):
        patch.apply_json_patch(obj, operations)
    assert obj == {"a": {"b": [1]}}


def test_a_value_is_not_shared_with_the_patch():
    operations = [
        {"op": "add", "path": "/a", "value": {}},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a/x", "value": 1},
    ]
    patched, _ = patch.apply_json_patch({}, operations)
    assert patched == {"a": {"x": 1}, "b": {}}
    assert operations[0]["value"] == {}


def test_too_many_operations_are_413():
    with pytest.raises(StatusError, match=r"is 10000, got 10001$") as refusal:
        patch.apply_json_patch({}, [{}] * 10_001)
    assert refusal.value.code == 413


def test_copies_may_not_grow_without_bound():
    doubling = [{"op": "add", "path": "/a", "value": ["x" * 1000]}]
    doubling += [{"op": "copy", "from": "/a", "path": "/a/-"}] * 30
    with pytest.raises(StatusError) as refusal:
        patch.apply_json_patch({}, doubling)
    assert refusal.value.code == 422


def test_unknown_members_are_reported():
    operations = [{"op": "add", "path": "/a", "value": 1, "comment": "hm"}]
    assert patch.apply_json_patch({}, operations)[1] == ['unknown field "[0].comment"']


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (
            {"op": "add", "path": "/data/more", "value": 1},
            'add operation does not apply: doc is missing path: "/data/more": missing value',
        ),
        (
            {"op": "replace", "path": "/not/there", "value": 1},
            "replace operation does not apply: doc is missing path: /not/there: missing value",
        ),
        ({"op": "test", "path": "/n", "value": 2}, "testing value /n failed: test failed"),
        (
            {"op": "remove", "path": "/gone"},
            (
                "error in remove for path: '/gone': "
                "Unable to remove nonexistent key: gone: missing value"
            ),
        ),
        (
            {"op": "add", "path": "/l/9", "value": 1},
            (
                "error in add for path: '/l/9': "
                "Unable to access invalid index: 9: invalid index referenced"
            ),
        ),
        ({"op": "sing", "path": "/n"}, "Unexpected kind: sing"),
    ],
)
def test_a_failure_has_the_text_of_evanphx(operation, why):
    with pytest.raises(JSONPatchFailure) as failure:
        patch.apply_json_patch({"n": 1, **LIST}, [operation])
    assert failure.value.bare_message == why


_INDEXES = st.one_of(
    st.integers(-6, 6).map(str),
    st.text("+-012 _.e\u0663\uff11", max_size=4),
    st.sampled_from(["-", "9" * 5000, "-" + "9" * 20, "9223372036854775807", "-0", "+0", "00"]),
)


def changed(op: str, text: str) -> object:
    """Return LIST after an operation on an item, the item for a test; None for a failure."""
    operation = {"op": op, "path": f"/l/{text}", "value": "x"}
    if op in ("copy", "move"):
        operation |= {"from": f"/l/{text}", "path": "/m"}
    try:
        return patch.apply_json_patch({"l": list(LIST["l"])}, [operation])[0]
    except JSONPatchFailure as failure:
        if op == "test" and failure.bare_message.endswith("test failed"):
            return "tested"
        return None


@given(_INDEXES)
def test_an_index_is_what_atoi_reads_in_every_operation(text):
    """A sign and leading zeros count, digits of other scripts do not. Below zero, it counts from
    the end."""
    is_index = re.fullmatch(r"[+-]?[0-9]+", text) is not None and len(text) < 18
    at, items = int(text) if is_index else 99, list(LIST["l"])
    added = None
    if text == "-" or -4 <= at <= 3:
        place = 3 if text == "-" else at + 4 if at < 0 else at
        added = {"l": [*items[:place], "x", *items[place:]]}
    assert changed("add", text) == added
    if not -3 <= at <= 2:
        for op in ("remove", "replace", "test", "copy", "move"):
            assert changed(op, text) is None, op
        return
    rest = [each for each in items if each != items[at]]
    assert changed("remove", text) == {"l": rest}
    assert changed("move", text) == {"l": rest, "m": items[at]}
    assert changed("copy", text) == {"l": items, "m": items[at]}
    replaced = ["x" if each == items[at] else each for each in items]
    assert changed("replace", text) == {"l": replaced}
    assert changed("test", text) == "tested"
    below, _ = patch.apply_json_patch(
        {"l": [{}, {}, {}]}, [{"op": "add", "path": f"/l/{text}/a", "value": 1}]
    )
    assert below["l"][at] == {"a": 1}
