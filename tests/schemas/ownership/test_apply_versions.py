"""Ownership across versions: every entry keeps the version in which its manager wrote."""

from typing import Any

import pytest

from inkube.schemas.ownership import apply as rules
from inkube.schemas.ownership import managedfields
from inkube.schemas.ownership.managedfields import Writer
from inkube.schemas.ownership.typed import TypedSchema, Versions, finished
from inkube.schemas.status import StatusError

Object = dict[str, Any]
V1, V2 = "example.com/v1", "example.com/v2"
INT, TEXT = {"type": "integer"}, {"type": "string"}


def _schema(**properties: Any) -> TypedSchema:
    spec = {"type": "object", "properties": {"label": TEXT, **properties}}
    return TypedSchema({"type": "object", "properties": {"spec": spec}})


TYPED = {
    V1: _schema(size=INT),
    V2: _schema(box={"type": "object", "properties": {"size": INT}}),
}


def _convert(obj: Object, api_version: str) -> Object:
    """v1 has the size in .spec.size, v2 in .spec.box.size."""
    spec = dict(obj.get("spec") or {})
    if api_version == V2 and "size" in spec:
        spec["box"] = {"size": spec.pop("size")}
    elif api_version == V1 and "box" in spec:
        spec |= spec.pop("box") or {}
    return {**obj, "apiVersion": api_version, **({"spec": spec} if "spec" in obj else {})}


VERSIONS = Versions(TYPED, _convert)


def _apply(
    live: Object | None, version: str, manager: str, spec: Object, *, force: bool = False
) -> Object:
    seen = _convert(live, version) if live else None
    patch = {"apiVersion": version, "kind": "Crate", "metadata": {"name": "c"}, "spec": spec}
    writer = Writer(manager, version, time="2024-01-01T00:00:00Z")
    return rules.apply(
        seen, patch, typed=TYPED[version], writer=writer, force=force, versions=VERSIONS
    )


def _entries(obj: Object) -> dict[str, tuple[str, Any]]:
    return {
        entry["manager"]: (entry["apiVersion"], entry["fieldsV1"]["f:spec"])
        for entry in obj["metadata"].get("managedFields", [])
    }


def test_a_conflict_names_the_field_in_the_other_managers_version() -> None:
    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    with pytest.raises(StatusError) as caught:
        _apply(live, V2, "two", {"box": {"size": 6}})
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "one": .spec.size'


def test_each_entry_keeps_its_version_until_its_manager_writes_in_another() -> None:
    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    forced = _apply(live, V2, "two", {"box": {"size": 6}}, force=True)
    assert _entries(forced) == {
        "one": (V1, {"f:label": {}}),
        "two": (V2, {"f:box": {"f:size": {}}}),
    }
    moved = _apply(forced, V2, "one", {"box": {"size": 6}})
    assert moved["spec"] == {"box": {"size": 6}}
    assert _entries(moved)["one"] == (V2, {"f:box": {"f:size": {}}})


def test_what_was_applied_in_another_version_is_pruned() -> None:
    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    moved = _apply(live, V2, "one", {"label": "x"})
    assert moved["spec"] == {"label": "x"}
    assert _entries(moved) == {"one": (V2, {"f:label": {}})}


def test_an_update_in_one_version_takes_fields_owned_in_another() -> None:
    live = _convert(_apply(None, V1, "one", {"size": 5, "label": "x"}), V2)
    new = {**live, "metadata": dict(live["metadata"]), "spec": {"box": {"size": 7}, "label": "x"}}
    writer = Writer("hand", V2, time="2024-01-01T00:00:01Z")
    managedfields.track_update(live, new, typed=TYPED[V2], writer=writer, versions=VERSIONS)
    assert _entries(new) == {
        "one": (V1, {"f:label": {}}),
        "hand": (V2, {"f:box": {"f:size": {}}}),
    }


def test_an_entry_of_a_version_that_is_gone_ends_the_tracking_of_a_custom_resource() -> None:
    live = _convert(_apply(None, V1, "one", {"size": 5}), V2)
    new = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "label": "y"}}
    only = Versions({V2: TYPED[V2]}, _convert)
    writer = Writer("hand", V2)
    managedfields.track_update(live, new, typed=TYPED[V2], writer=writer, versions=only)
    assert "managedFields" not in new["metadata"]
    patch = {"apiVersion": V2, "kind": "Crate", "metadata": {"name": "c"}, "spec": {"label": "y"}}
    with pytest.raises(StatusError) as caught:
        rules.apply(live, patch, typed=TYPED[V2], writer=writer, versions=only)
    assert caught.value.code == 500
    text = f"request to convert CR to an invalid group/version: {V1}"
    assert caught.value.message == text


def test_an_entry_of_a_version_that_is_gone_is_dropped_from_a_built_in_object() -> None:
    live = _convert(_apply(None, V1, "one", {"size": 5}), V2)
    new = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "label": "y"}}
    spec = {"type": "object", "properties": {"label": TEXT, "box": {"type": "object"}}}
    built_in = TypedSchema({"type": "object", "properties": {"spec": spec}}, custom=False)
    only = Versions({V2: built_in}, _convert)
    managedfields.track_update(live, new, typed=built_in, writer=Writer("hand", V2), versions=only)
    assert list(_entries(new)) == ["hand"]


def test_fields_that_turned_atomic_are_owned_as_a_whole_and_stay_so() -> None:
    box = {"type": "object", "properties": {"size": INT}}
    atomic = _schema(box={**box, "x-kubernetes-map-type": "atomic"})
    live = _apply(None, V2, "one", {"box": {"size": 1}})
    new = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "label": "y"}}
    managedfields.track_update(live, new, typed=atomic, writer=Writer("hand", V2))
    assert _entries(new)["one"] == (V2, {"f:box": {}})
    back = {**new, "metadata": dict(new["metadata"]), "spec": {**new["spec"], "label": "z"}}
    managedfields.track_update(new, back, typed=TYPED[V2], writer=Writer("hand", V2))
    assert _entries(back)["one"] == (V2, {"f:box": {}})


def test_a_stored_object_that_no_longer_fits_cannot_be_applied_to_and_loses_its_owners() -> None:
    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    other = _schema(size=TEXT)
    patch = {"apiVersion": V1, "kind": "Crate", "metadata": {"name": "c"}, "spec": {"label": "y"}}
    writer = Writer("two", V1)
    with pytest.raises(StatusError) as caught:
        rules.apply(live, patch, typed=other, writer=writer, force=True, may_not_fit=True)
    assert caught.value.code == 500
    assert caught.value.message == (
        "failed to create typed live object (/c; example.com/v1, Kind=Crate): .spec.size: expected"
        " string, got &value.valueUnstructured{Value:5}"
    )
    new = {**live, "metadata": {**live["metadata"], "labels": {"a": "b"}}}
    managedfields.track_update(live, new, typed=other, writer=writer, may_not_fit=True)
    assert "managedFields" not in new["metadata"]


def test_an_apply_names_what_does_not_fit_the_version_of_another_manager() -> None:
    """merge.Updater: the whole object is converted and typed, not only its changed parts."""
    typed = {V1: _schema(size=INT), V2: _schema(size=TEXT)}
    versions = Versions(typed, lambda obj, api_version: {**obj, "apiVersion": api_version})

    def applied(live: Object | None, version: str, manager: str, spec: Object) -> Object:
        patch = {"apiVersion": version, "kind": "Crate", "metadata": {"name": "c"}, "spec": spec}
        seen = None if live is None else {**live, "apiVersion": version}
        writer = Writer(manager, version, time="2024-01-01T00:00:00Z")
        return rules.apply(
            seen, patch, typed=typed[version], writer=writer, force=True, versions=versions
        )

    live = applied(None, V2, "one", {"label": "x"})
    expected = "{}: .spec.size: expected string, got &value.valueUnstructured{{Value:5}}"
    failures = {
        "two": "failed to convert new object",
        "one": "failed to prune fields: failed to convert merged object to last applied version",
    }
    for manager, failure in failures.items():
        with pytest.raises(StatusError) as caught:
            applied(live, V1, manager, {"size": 5})
        assert (caught.value.code, caught.value.message) == (500, expected.format(failure))


def test_an_apply_names_what_does_not_fit_while_it_removes_what_is_no_longer_applied() -> None:
    """Owned members are added again in the version of each owner (merge.Updater, prune)."""
    typed = {V1: _schema(size=INT), V2: _schema(), "example.com/v3": _schema(size=INT)}
    versions = Versions(typed)
    live = _apply(None, V1, "one", {"label": "x"})
    for manager, version in (("two", V2), ("one", V1)):
        writer = Writer(manager, version)
        patch = {"apiVersion": version, "kind": "Crate", "metadata": {"name": "c"}}
        patch["spec"] = {"label": "x"}
        seen = {**live, "apiVersion": version}
        live = rules.apply(seen, patch, typed=typed[version], writer=writer, versions=versions)
    third = "example.com/v3"
    patch = {"apiVersion": third, "kind": "Crate", "metadata": {"name": "c"}, "spec": {"size": 5}}
    seen, writer = {**live, "apiVersion": third}, Writer("one", third)
    with pytest.raises(StatusError) as caught:
        rules.apply(seen, patch, typed=typed[third], writer=writer, versions=versions)
    assert caught.value.message == (
        "failed to prune fields: failed add back owned items: failed to convert merged object at"
        f" version {V2}: .spec.size: field not declared in schema"
    )


def test_an_apply_names_what_of_the_live_object_does_not_fit_without_a_reason() -> None:
    """reconcileManagedFieldsWithSchemaChanges converts it before the apply, and adds no text."""
    typed = {V1: _schema(size=INT), V2: _schema()}
    versions = Versions(typed)
    live = _apply(None, V2, "one", {"label": "x"})
    live = {**live, "apiVersion": V1, "spec": {"label": "x", "size": 5}}
    patch = {"apiVersion": V1, "kind": "Crate", "metadata": {"name": "c"}}
    with pytest.raises(StatusError) as caught:
        rules.apply(live, patch, typed=typed[V1], writer=Writer("two", V1), versions=versions)
    assert caught.value.message == ".spec.size: field not declared in schema"


def test_a_write_that_repeats_elements_in_the_version_of_another_manager_leaves_no_owner() -> None:
    """versionConverter.Convert allows no duplicates, other than the conversion of the request."""
    text = {"type": "array", "items": TEXT}
    typed = {V1: _schema(names={**text, "x-kubernetes-list-type": "set"}), V2: _schema(names=text)}
    for version, names in ((V1, ["a", "a"]), (V2, ["a", "b"]), (V2, ["a", "a"])):
        live = _apply(None, V1, "one", {"label": "x"})
        new = {**live, "apiVersion": version, "metadata": {**live["metadata"]}}
        new["spec"] = {"label": "x", "names": names}
        writer, versions = Writer("two", version), Versions(typed)
        managedfields.track_update(
            {**live, "apiVersion": version},
            new,
            typed=typed[version],
            writer=writer,
            versions=versions,
        )
        assert ("managedFields" in new["metadata"]) is ((version, names) != (V2, ["a", "a"]))


@pytest.mark.parametrize("subresource", ["", "status"])
def test_a_write_takes_nothing_that_it_resets_in_the_version_of_another_manager(
    subresource: str,
) -> None:
    """getStatusResetFields: a status of a custom resource is written without the spec in all
    versions."""

    def resets(api_version: str, part: str) -> Object:
        return {"f:spec": {}} if part == "status" and api_version == V1 else {}

    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    new = {**_convert(live, V2), "metadata": {**live["metadata"]}, "spec": {"label": "x"}}
    managedfields.track_update(
        _convert(live, V2),
        new,
        typed=TYPED[V2],
        writer=Writer("two", V2, subresource, ignored={"f:spec": {}}),
        versions=Versions(TYPED, _convert, resets),
    )
    fields = {"f:label": {}, "f:size": {}} if subresource else {"f:label": {}}
    assert _entries(new) == {"one": (V1, fields)}


@pytest.mark.parametrize("size", [5, 6, "six"])
def test_a_write_of_a_status_with_a_wrong_type_elsewhere_leaves_no_owner(size: Any) -> None:
    """The spec of such a body is typed for owners (UpdateNoErrors), then dropped without
    validation."""
    live = _apply(None, V1, "one", {"size": 5})
    new = {**live, "metadata": {**live["metadata"]}, "spec": {"size": size}}
    writer = Writer("two", V1, "status", ignored={"f:metadata": {}, "f:spec": {}})
    managedfields.track_update(live, new, typed=TYPED[V1], writer=writer)
    assert ("managedFields" in new["metadata"]) is (size != "six")


def test_a_container_that_loses_its_last_field_stays_empty_since_1_36() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"box": {"type": "object", "properties": {"size": INT}}},
            }
        },
    }
    first = {"apiVersion": V1, "kind": "Crate", "metadata": {"name": "c"}}
    for minor, left in ((35, None), (36, {})):
        typed = TypedSchema(schema, minor=minor)
        live = {**first, "metadata": {"name": "c"}, "spec": {"box": {"size": 1}}}
        managedfields.track_update(None, live, typed=typed, writer=Writer("maker", V1))
        one = {**first, "spec": {"box": {"size": 2}}}
        live = rules.apply(live, one, typed=typed, writer=Writer("one", V1), force=True)
        after = rules.apply(live, {**first}, typed=typed, writer=Writer("one", V1))
        assert after["spec"] == {"box": left}, minor


def test_a_field_the_schema_lost_stays_with_its_owner() -> None:
    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    new = {**live, "metadata": dict(live["metadata"]), "spec": {"label": "y"}}
    live = {**live, "spec": {"label": "x"}}
    managedfields.track_update(live, new, typed=_schema(), writer=Writer("hand", V1))
    one, hand = new["metadata"]["managedFields"]
    assert (one["manager"], "f:size" in one["fieldsV1"]["f:spec"]) == ("one", True)
    assert hand["fieldsV1"] == {"f:spec": {"f:label": {}}}


def test_asynchronous_conversions_are_awaited_one_by_one() -> None:
    live = _apply(None, V1, "one", {"size": 5, "label": "x"})
    patch = {"apiVersion": V2, "kind": "Crate", "metadata": {"name": "c"}, "spec": {"label": "x"}}
    steps = rules.steps(
        _convert(live, V2), patch, typed=TYPED[V2], writer=Writer("one", V2), versions=VERSIONS
    )
    asked: list[Object] = []

    def convert(obj: Object, api_version: str) -> Object:
        asked.append(obj)
        return _convert(obj, api_version)

    applied, is_changed = finished(steps, convert)
    assert (applied["spec"], is_changed) == ({"label": "x"}, True)
    assert len(asked) > 1
