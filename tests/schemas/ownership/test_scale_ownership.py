"""Ownership of the replicas field, converted to a Scale and back."""

from typing import Any

import pytest

from inkube.schemas.ownership import resetfields, scalefields

V1 = "example.com/v1"
PATHS = {V1: ".spec.count"}
TIME = "2024-01-01T00:00:00Z"


def _entry(manager: str, operation: str, fields: Any, **more: str) -> dict[str, Any]:
    entry = {"manager": manager, "operation": operation, "apiVersion": V1, "time": TIME}
    return {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


OWNER = _entry("ann", "Apply", {"f:spec": {"f:color": {}, "f:count": {}}})
OTHER = _entry("bob", "Update", {"f:spec": {"f:size": {}}})


def _scale(entry: dict[str, Any], **more: str) -> dict[str, Any]:
    fields = {"f:spec": {"f:replicas": {}}}
    return {**entry, "apiVersion": "autoscaling/v1", "fieldsV1": fields, **more}


def test_a_scale_shows_the_owners_of_the_replicas() -> None:
    assert scalefields.of_scale([OWNER, OTHER], PATHS) == [_scale(OWNER)]


def test_owners_that_stay_keep_their_entries() -> None:
    entries = [OWNER, OTHER]
    assert scalefields.of_parent(entries, [_scale(OWNER)], paths=PATHS, version=V1) == entries


def test_a_new_owner_takes_the_replicas_under_the_subresource() -> None:
    hpa = _scale(_entry("hpa", "Update", {}), subresource="scale")
    first, second, third = scalefields.of_parent([OWNER, OTHER], [hpa], paths=PATHS, version=V1)
    assert first == {**OWNER, "fieldsV1": {"f:spec": {"f:color": {}}}}
    assert second == {
        "manager": "hpa",
        "operation": "Update",
        "apiVersion": V1,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:count": {}}},
        "subresource": "scale",
    }
    assert third == OTHER


@pytest.mark.parametrize("owned", [{"f:count": {}}, {"f:count": {}, "f:color": {}}])
def test_an_update_of_the_scale_tears_the_entry_of_an_updater_in_two(owned: Any) -> None:
    """Also if it changes nothing, so that the object gets a new version."""
    updater = _entry("bob", "Update", {"f:spec": owned})
    apart = {**updater, "fieldsV1": {"f:spec": {"f:count": {}}}}
    del apart["time"]
    rest = {"f:spec": {name: {} for name in owned if name != "f:count"}}
    kept = [{**updater, "fieldsV1": rest}] if rest["f:spec"] else []
    found = scalefields.of_parent([updater], [_scale(updater)], paths=PATHS, version=V1)
    assert found == [apart, *kept]


def test_entries_of_unknown_versions_are_dropped() -> None:
    assert scalefields.of_parent([OWNER], [], paths={"x/v1": ".a"}, version="x/v1") == []


def test_each_way_of_writing_resets_the_others_fields() -> None:
    assert resetfields.of_custom("", status=True) == {"f:status": {}}
    assert set(resetfields.of_custom("status", status=True)) == {"f:metadata", "f:spec"}
    assert resetfields.of_custom("", status=False) == {}
    deployment = resetfields.of_builtin("apps", "Deployment", "status", status=True)
    assert deployment == {"f:spec": {}, "f:metadata": {"f:labels": {}}}
    assert resetfields.of_builtin("", "Service", "status", status=True) == {"f:spec": {}}
