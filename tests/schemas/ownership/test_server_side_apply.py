"""Server-side apply: merging, pruning, shared ownership, conflicts, and error texts."""

import copy
from typing import Any

import pytest

from inkube.schemas.ownership import apply as rules
from inkube.schemas.ownership import fieldsets, managedfields
from inkube.schemas.ownership.managedfields import Writer
from inkube.schemas.ownership.typed import TypedSchema
from inkube.schemas.status import StatusError

Object = dict[str, Any]
V1 = "example.com/v1"
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "power": {"type": "integer"},
                "fuel": TEXT,
                "on": {"type": "boolean"},
                "plain": {"type": "array", "items": TEXT},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                "open": {"type": "object", "additionalProperties": TEXT},
                "closed": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": TEXT,
                },
                "either": {"x-kubernetes-int-or-string": True},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["number", "protocol"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "number": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": TEXT,
                        },
                    },
                },
            },
        },
    },
}
TYPED = TypedSchema(SCHEMA)
NULL_MEMBER = "associative list without keys has an element that's an explicit null"
TWO_PROBLEMS = """errors:
  .spec.on: expected boolean, got &{1}
  .spec.power: expected numeric (int or float), got string"""


def _apply(live: Object | None, spec: Any, manager: str = "ann", *, force: bool = False) -> Object:
    patch: Object = {"apiVersion": V1, "kind": "Engine", "metadata": {"name": "v8"}}
    if spec is not None:
        patch["spec"] = spec
    before = copy.deepcopy((live, patch))
    writer = Writer(manager, V1, time="2024-01-01T00:00:00Z")
    try:
        result = rules.apply(live, patch, typed=TYPED, writer=writer, force=force)
    finally:
        assert (live, patch) == before
    result["metadata"].setdefault("uid", "u")
    return result


def _owned(obj: Object, manager: str) -> Any:
    entries = obj["metadata"].get("managedFields", [])
    found = [entry["fieldsV1"] for entry in entries if entry["manager"] == manager]
    return found[0]["f:spec"] if found else None


def _refusal(live: Object | None, spec: Any, manager: str = "ann") -> StatusError:
    with pytest.raises(StatusError) as caught:
        _apply(live, spec, manager)
    return caught.value


def test_fields_that_a_manager_no_longer_applies_are_removed() -> None:
    live = _apply(None, {"power": 1, "fuel": "gas", "open": {"a": "b", "c": "d"}})
    new = _apply(live, {"power": 1, "open": {"a": "b"}})
    assert new["spec"] == {"power": 1, "open": {"a": "b"}}
    assert _owned(new, "ann") == {"f:power": {}, "f:open": {"f:a": {}}}


def test_the_same_again_is_the_same_object() -> None:
    live = _apply(None, {"power": 1, "tags": ["a"], "ports": [{"number": 1}]})
    assert _apply(live, {"power": 1, "tags": ["a"], "ports": [{"number": 1}]}) == live


def test_sharing_writes_an_entry_without_a_time() -> None:
    live = _apply(None, {"power": 1})
    new = _apply(live, {"power": 1}, "bob")
    first, second = new["metadata"]["managedFields"]
    assert (first["manager"], first.get("time")) == ("bob", None)
    assert (second["manager"], second["time"]) == ("ann", "2024-01-01T00:00:00Z")


def test_a_shared_field_stays_until_its_last_owner_drops_it() -> None:
    live = _apply(_apply(None, {"power": 1, "on": True}), {"power": 1, "fuel": "gas"}, "bob")
    without_ann = _apply(live, {"on": True})
    assert without_ann["spec"] == {"power": 1, "on": True, "fuel": "gas"}
    assert _apply(without_ann, {"fuel": "gas"}, "bob")["spec"] == {"on": True, "fuel": "gas"}


def test_dropping_everything_removes_the_parent_with_unowned_siblings() -> None:
    live = _apply(None, {"fuel": "gas"})
    live["spec"]["power"] = 60
    assert "spec" not in _apply(live, None)


def test_one_conflict_names_field_and_manager() -> None:
    error = _refusal(_apply(None, {"power": 1}), {"power": 2}, "bob")
    assert error.code == 409
    assert error.message == 'Apply failed with 1 conflict: conflict with "ann": .spec.power'
    assert error.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "ann"',
                "field": ".spec.power",
            }
        ]
    }


def test_conflicts_are_listed_by_manager_members_first() -> None:
    live = _apply(None, {"ports": [{"number": 1, "name": "a"}], "power": 1})
    live = _apply(live, {"power": 1}, "bea")
    error = _refusal(live, {"power": 2, "ports": [{"number": 1, "name": "b"}]}, "carl")
    assert error.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "ann":\n- .spec.power\n- .spec.ports[number=1,protocol="TCP"].name\n'
        'conflicts with "bea":\n- .spec.power'
    )


def test_conflicts_with_updaters_name_version_and_subresource() -> None:
    live = _apply(None, {"fuel": "gas"})
    new = copy.deepcopy(live)
    new["spec"]["power"] = 4
    writer = Writer("hand", V1, "scale", "2024-01-01T00:00:00Z")
    managedfields.track_update(live, new, typed=TYPED, writer=writer)
    assert _refusal(new, {"power": 5}, "bob").message == (
        'Apply failed with 1 conflict: conflict with "hand" with subresource "scale"'
        " using example.com/v1: .spec.power"
    )


def test_force_takes_the_field_from_the_others() -> None:
    live = _apply(_apply(None, {"power": 1, "fuel": "gas"}), {"power": 1}, "bob")
    new = _apply(live, {"power": 3}, "carl", force=True)
    assert new["spec"]["power"] == 3
    assert _owned(new, "ann") == {"f:fuel": {}}
    assert _owned(new, "bob") is None


def test_atomic_values_are_owned_and_replaced_whole() -> None:
    live = _apply(None, {"plain": ["a", "b"], "closed": {"a": "b"}})
    assert _owned(live, "ann") == {"f:plain": {}, "f:closed": {}}
    error = _refusal(live, {"plain": ["a"], "closed": {"c": "d"}}, "bob")
    assert [cause["field"] for cause in error.details["causes"]] == [".spec.closed", ".spec.plain"]
    new = _apply(live, {"plain": ["c"], "closed": {"c": "d"}}, "bob", force=True)
    assert new["spec"] == {"plain": ["c"], "closed": {"c": "d"}}


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        (["a", "b"], ["c", "a"], ["c", "a", "b"]),
        (["a", "b", "c"], ["c", "a"], ["b", "c", "a"]),
        (["a", "b", "c"], ["b"], ["a", "b", "c"]),
        (["a", "b"], ["b", "x", "a"], ["b", "x", "a"]),
        (["a", "b", "c", "d"], ["d", "x", "b"], ["a", "c", "d", "x", "b"]),
    ],
)
def test_elements_follow_the_order_applied(
    live: list[str], applied: list[str], merged: list[str]
) -> None:
    first = _apply(None, {"tags": live})
    assert _apply(first, {"tags": applied}, "bob")["spec"]["tags"] == merged


def test_a_default_counts_as_part_of_a_key() -> None:
    live = _apply(None, {"ports": [{"number": 80, "protocol": "TCP", "name": "web"}]})
    new = _apply(live, {"ports": [{"number": 80}]}, "bob")
    assert new["spec"] == live["spec"]
    assert _owned(new, "bob") == {
        "f:ports": {'k:{"number":80,"protocol":"TCP"}': {".": {}, "f:number": {}}}
    }


def test_empty_objects_and_nulls_are_owned() -> None:
    obj = _apply(None, {"open": {}, "fuel": None, "plain": []})
    assert obj["spec"] == {"open": {}, "fuel": None, "plain": []}
    assert _owned(obj, "ann") == {"f:open": {}, "f:fuel": {}, "f:plain": {}}


def test_ignored_fields_are_neither_owned_nor_in_conflict() -> None:
    live = _apply(None, {"power": 1})
    patch = {"apiVersion": V1, "kind": "Engine", "metadata": {"name": "v8"}, "spec": {"power": 2}}
    writer = Writer("ctl", V1, "status", "2024-01-01T00:00:00Z", fieldsets.named("spec"))
    new = rules.apply(live, patch, typed=TYPED, writer=writer)
    assert [entry["manager"] for entry in new["metadata"]["managedFields"]] == ["ann"]


def test_what_nobody_owned_gets_an_owner_before_the_first_apply() -> None:
    live = _apply(None, {"power": 1, "fuel": "gas"})
    del live["metadata"]["managedFields"]
    assert _refusal(live, {"power": 2}).message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply"'
        " using example.com/v1: .spec.power"
    )
    new = _apply(live, {"power": 2}, force=True)
    assert _owned(new, "before-first-apply") == {".": {}, "f:fuel": {}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"bulb": 1}, ".spec.bulb: field not declared in schema"),
        ({"power": "x"}, ".spec.power: expected numeric (int or float), got string"),
        ({"power": True}, ".spec.power: expected numeric (int or float), got bool"),
        ({"power": [1]}, ".spec.power: expected numeric (int or float), got []interface {}"),
        ({"fuel": 7}, ".spec.fuel: expected string, got &value.valueUnstructured{Value:7}"),
        ({"on": "yes"}, ".spec.on: expected boolean, got &{yes}"),
        ({"plain": "a"}, ".spec.plain: expected list, got &{a}"),
        ({"plain": [1]}, ".spec.plain[0]: expected string, got &value.valueUnstructured{Value:1}"),
        ({"open": ["a"]}, ".spec.open: expected map, got &{[a]}"),
        ({"ports": {"a": 1}}, ".spec.ports: expected list, got &{map[a:1]}"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        ({"tags": [None]}, f".spec.tags: element 0: {NULL_MEMBER}"),
        (
            {"ports": [{"number": 1}, {"number": 1, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [number=1,protocol="TCP"]',
        ),
        (
            {"ports": [1]},
            ".spec.ports: element 0: associative list with keys may not have non-map elements",
        ),
        ({"power": "x", "on": 1}, TWO_PROBLEMS),
    ],
)
def test_a_patch_that_cannot_be_typed_is_a_plain_500(spec: Any, text: str) -> None:
    error = _refusal(None, spec)
    prefix = "failed to create typed patch object (/v8; example.com/v1, Kind=Engine): "
    assert (error.code, error.reason, error.message) == (500, "", prefix + text)


def test_int_or_string_takes_both() -> None:
    assert _apply(None, {"either": 1})["spec"] == {"either": 1}
    assert _apply(None, {"either": "50%"})["spec"] == {"either": "50%"}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "invalid object type: /, Kind="),
        ({"apiVersion": "v1", "kind": "Engine"}, "invalid object type: /v1, Kind=Engine"),
        (
            {"apiVersion": V1, "kind": "Engine", "metadata": {"managedFields": []}},
            "metadata.managedFields must be nil",
        ),
    ],
    ids=["no type", "another version", "managedFields"],
)
def test_a_patch_of_another_kind_or_with_managed_fields_is_a_400(
    patch: Object, message: str
) -> None:
    live = _apply(None, {"power": 1})
    with pytest.raises(StatusError) as caught:
        rules.apply(live, patch, typed=TYPED, writer=Writer("ann", V1))
    assert (caught.value.code, caught.value.message) == (400, message)
