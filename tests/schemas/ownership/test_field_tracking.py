"""Ordinary writes update metadata.managedFields."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.ownership import comparison, fieldsets, layouts, managedfields, updater
from inkube.schemas.ownership.managedfields import Writer
from inkube.schemas.ownership.typed import TypedSchema, finished, relabelled

Object = dict[str, Any]
V1 = "example.com/v1"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "color": {"type": "string"},
                "any": {"x-kubernetes-preserve-unknown-fields": True, "type": "object"},
                "list": {"type": "array", "items": {"type": "string"}},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {
                        "type": "object",
                        "properties": {"id": {"type": "string"}, "n": {"type": "integer"}},
                    },
                },
                "tags": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
TYPED = TypedSchema(SCHEMA)


_SCALAR = st.none() | st.integers(0, 9) | st.text("ab", max_size=2)
_ANY = st.recursive(
    _SCALAR,
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("xyz"), below, max_size=3)
    ),
    max_leaves=5,
)
_IDS = st.lists(st.sampled_from(["b", "a", 'a"', "a!", "10", "9"]), max_size=4)
_PARTS = _IDS.map(lambda ids: [{"n": n, "id": one} for n, one in enumerate(ids)])
_SPECS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(),
        "any": st.dictionaries(st.sampled_from("zyx"), _ANY, max_size=3),
        "list": st.lists(st.text("ab", max_size=2), max_size=3),
        "parts": _PARTS,
        "tags": _IDS,
    },
)


@given(spec=_SPECS)
@settings(deadline=None)
def test_what_a_creator_owns_is_what_a_comparison_with_nothing_adds(spec: Object) -> None:
    obj = {
        "apiVersion": V1,
        "kind": "Thing",
        "metadata": {"labels": {"b": "", "a": ""}},
        "spec": spec,
    }
    found = layouts.everything(TYPED.type, obj)
    assert found == TYPED.compare({}, obj).added
    assert repr(found) == repr(fieldsets.ordered(found)), "in the reference's order"


_SPARSE = st.fixed_dictionaries(
    {},
    optional={
        "size": st.none() | st.integers(0, 2),
        "any": st.none() | st.dictionaries(st.sampled_from("zyx"), _ANY, max_size=2),
        "list": st.none() | st.lists(st.text("ab", max_size=1), max_size=1),
        "parts": st.none() | _PARTS,
        "tags": st.none() | _IDS,
    },
)


@given(empty=_SPARSE, spec=_SPARSE | _SPECS)
@settings(deadline=None, max_examples=400)
def test_a_creator_owns_what_differs_from_the_initial_content(empty: Object, spec: Object) -> None:
    before: Object = {"metadata": {}, "spec": empty}
    obj = {"apiVersion": V1, "metadata": {"labels": {"b": ""}}, "spec": spec}
    change = TYPED.compare(before, obj)
    found = comparison.created(TYPED.type, before, obj)
    expected = fieldsets.ordered(fieldsets.union(change.modified, change.added))
    assert repr(found) == repr(expected), "in the reference's order"


@given(spec=_SPECS, status=st.booleans(), labels=st.booleans())
@settings(deadline=None)
def test_a_create_is_tracked_like_a_change_from_nothing(
    spec: Object, status: bool, labels: bool
) -> None:
    obj: Object = {"apiVersion": V1, "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
    obj |= {"status": {"phase": "x"}} if status else {}
    obj["metadata"] |= {"labels": {"b": "", "a": ""}} if labels else {}
    writer = _writer("maker", ignored=fieldsets.named("status"))
    general = managedfields.decode(None)
    steps = managedfields.update(general, {}, obj, typed=TYPED, writer=writer)
    finished(steps, relabelled)
    managedfields.track_update(None, obj, typed=TYPED, writer=writer)
    assert obj["metadata"].get("managedFields", []) == managedfields.encode(general)


def _writer(manager: str, second: int = 0, **more: Any) -> Writer:
    return Writer(manager, V1, time=f"2024-01-01T00:00:{second:02}Z", **more)


def _create(spec: Object, manager: str = "maker") -> Object:
    obj: Object = {"apiVersion": V1, "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
    managedfields.track_update(None, obj, typed=TYPED, writer=_writer(manager))
    obj["metadata"]["uid"] = "u"
    return obj


def _update(live: Object, writer: Writer, **changes: Any) -> Object:
    new = {**copy.deepcopy(live), **changes}
    managedfields.track_update(live, new, typed=TYPED, writer=writer)
    return new


def _fields(obj: Object) -> dict[str, Any]:
    entries = obj["metadata"].get("managedFields", [])
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


def _patched(live: Object, manager: str, managed_fields: Any, second: int = 1) -> Object:
    metadata = {**live["metadata"], "managedFields": managed_fields}
    return _update(live, _writer(manager, second), metadata=metadata)


def test_a_creator_owns_all_paths_but_the_systems_own() -> None:
    obj = _create({"parts": [{"id": "x", "n": 1}], "tags": ["t"], "list": ["a"]})
    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": V1,
            "time": "2024-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    ".": {},
                    "f:list": {},
                    "f:parts": {".": {}, 'k:{"id":"x"}': {".": {}, "f:id": {}, "f:n": {}}},
                    "f:tags": {".": {}, 'v:"t"': {}},
                }
            },
        }
    ]


def test_an_update_takes_what_it_changes_and_leaves_the_rest() -> None:
    live = _create({"size": 1, "color": "red"})
    new = _update(live, _writer("hand", 5), spec={"size": 2, "color": "red"})
    assert _fields(new) == {
        "maker": {"f:spec": {".": {}, "f:color": {}}},
        "hand": {"f:spec": {"f:size": {}}},
    }


def test_a_removed_field_leaves_every_owner() -> None:
    live = _create({"size": 1, "color": "red"})
    new = _update(live, _writer("hand"), spec={"size": 1})
    assert _fields(new) == {"maker": {"f:spec": {".": {}, "f:size": {}}}}


def test_a_write_without_effect_leaves_entries_and_times() -> None:
    live = _create({"size": 1})
    new = _update(live, _writer("hand", 9))
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_a_new_value_in_an_atomic_list_takes_the_list() -> None:
    live = _create({"list": ["a", "b"], "size": 1})
    new = _update(live, _writer("hand"), spec={"list": ["a"], "size": 1})
    assert _fields(new)["hand"] == {"f:spec": {"f:list": {}}}


def test_another_order_of_a_keyed_list_is_no_change() -> None:
    live = _create({"parts": [{"id": "x", "n": 1}, {"id": "y", "n": 2}]})
    new = _update(live, _writer("hand"), spec={"parts": live["spec"]["parts"][::-1]})
    assert list(_fields(new)) == ["maker"]


def test_true_in_place_of_one_is_a_change() -> None:
    live = _create({"any": {"x": {"y": 1}}})
    new = _update(live, _writer("hand"), spec={"any": {"x": {"y": True}}})
    assert _fields(new)["hand"] == {"f:spec": {"f:any": {"f:x": {"f:y": {}}}}}


def test_status_writers_have_an_entry_of_their_own() -> None:
    live = _create({"size": 1})
    ignored = fieldsets.named("metadata", "spec")
    writer = _writer("maker", 3, subresource="status", ignored=ignored)
    new = _update(live, writer, status={"phase": "Ready"}, spec={"size": 2})
    entries = new["metadata"]["managedFields"]
    assert [entry.get("subresource") for entry in entries] == [None, "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {".": {}, "f:phase": {}}}


def test_leaving_out_managed_fields_changes_nothing() -> None:
    live = _create({"size": 1})
    new = _patched(live, "hand", None)
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


@pytest.mark.parametrize("value", [[{}], []], ids=["one empty entry", "none"])
def test_nothing_instead_of_entries_empties_them_for_good(value: Any) -> None:
    live = _create({"size": 1})
    emptied = _patched(live, "hand", value)
    assert "managedFields" not in emptied["metadata"]
    later = _update(emptied, _writer("hand"), spec={"size": 5})
    assert "managedFields" not in later["metadata"]


@pytest.mark.parametrize(
    "members",
    [{"operation": "Steal"}, *({"fieldsV1": wrong} for wrong in ("", "a", 0, 1, False, []))],
)
def test_a_broken_entry_puts_the_whole_list_aside(members: dict[str, Any]) -> None:
    live = _create({"size": 1})
    entry = {"manager": "x", "operation": "Update", "apiVersion": V1, "fieldsType": "FieldsV1"}
    entry |= members
    new = _patched(live, "hand", [*live["metadata"]["managedFields"], entry])
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_well_formed_entries_are_taken_in_canonical_form() -> None:
    live = _create({"size": 1, "parts": [{"id": "x"}]})
    entry = {
        "manager": "zoe",
        "operation": "Apply",
        "apiVersion": V1,
        "time": "2024-01-01T02:00:00+02:00",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:parts": {'k:{ "id": "x" }': {"f:id": {".": {}}}}}},
    }
    (found,) = _patched(live, "hand", [entry])["metadata"]["managedFields"]
    assert found["time"] == "2024-01-01T00:00:00Z"
    assert found["fieldsV1"] == {"f:spec": {"f:parts": {'k:{"id":"x"}': {"f:id": {}}}}}


def test_the_oldest_of_too_many_updaters_are_merged() -> None:
    live = _create({"any": {}}, manager="m00")
    for number in range(1, 13):
        values = {f"k{i}": i for i in range(number)}
        live = _update(live, _writer(f"m{number:02}", number), spec={"any": values})
    names = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert names == ["ancient-changes", *(f"m{number:02}" for number in range(4, 13))]
    oldest = live["metadata"]["managedFields"][0]
    assert oldest["time"] == "2024-01-01T00:00:03Z"
    assert oldest["fieldsV1"]["f:spec"]["f:any"] == {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}


def test_entries_come_by_operation_then_second_then_name() -> None:
    managed = managedfields.Managed({}, {})
    for name, operation, time in (
        ("a", "Update", "2024-01-01T00:00:01Z"),
        ("z", "Apply", "2024-01-01T00:00:02Z"),
        ("y", "Apply", ""),
        ("b", "Update", "2024-01-01T00:00:00Z"),
        ("x", "Apply", "2024-01-01T00:00:02Z"),
    ):
        applied = operation == "Apply"
        manager = updater.Manager(name, operation, "" if applied else V1, "")
        managed.owners[manager] = updater.Owned({"f:a": {}}, V1, applied)
        if time:
            managed.times[manager] = time
    names = [entry["manager"] for entry in managedfields.encode(managed)]
    assert names == ["y", "x", "z", "b", "a"]


def test_duplicates_in_stored_lists_are_tolerated() -> None:
    live = _create({"tags": ["a", "a"], "size": 1})
    new = _update(live, _writer("hand"), spec={"tags": ["a", "a"], "size": 2})
    assert _fields(new)["hand"] == {"f:spec": {"f:size": {}}}


def test_fields_the_schema_does_not_know_end_the_tracking() -> None:
    live = _create({"size": 1})
    new = _update(live, _writer("hand"), spec={"size": 2, "ghost": 1})
    assert "managedFields" not in new["metadata"]


def test_times_alone_are_no_change() -> None:
    live = _create({"size": 1})
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"][0]["time"] = "2025-01-01T00:00:00Z"
    assert managedfields.keep_times(live, new)
    assert new == live
    new["spec"]["size"] = 2
    assert not managedfields.keep_times(live, new)


def test_tracking_changes_nothing_but_the_new_objects_entries() -> None:
    live = _create({"size": 1, "parts": [{"id": "x", "n": 1}]})
    before = copy.deepcopy(live)
    spec = {"size": 2, "parts": [{"id": "x", "n": 2}]}
    new = _update(live, _writer("hand"), spec=spec)
    assert live == before
    assert new["spec"] == {"size": 2, "parts": [{"id": "x", "n": 2}]}


def test_broken_entries_after_admission_are_put_back_with_a_warning() -> None:
    obj = _create({"size": 1})
    sent = obj["metadata"]["managedFields"]
    obj["metadata"]["managedFields"] = [{**sent[0], "fieldsType": "FieldsV9"}]
    warning = managedfields.admitted(sent, obj)
    assert warning.endswith('invalid fieldsType "FieldsV9" in managed fields entry 0')
    assert obj["metadata"]["managedFields"] == sent


def test_admission_may_empty_the_entries() -> None:
    obj = _create({"size": 1})
    sent = obj["metadata"].pop("managedFields")
    assert managedfields.admitted(sent, obj) == ""
    assert "managedFields" not in obj["metadata"]


def test_what_is_remembered_of_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts._KNOWN, "bound", 10)
    layouts._KNOWN.clear()
    for number in range(30):
        _create({"any": {f"n{number}": 1, "y": {"x" * 3000: {f"z{number}": number}}}})
    assert 0 < len(layouts._KNOWN) <= 10
    assert all(len("".join(names)) < 3000 for _, *names in layouts._KNOWN)
