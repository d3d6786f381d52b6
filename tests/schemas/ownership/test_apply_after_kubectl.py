"""kubectl apply --server-side after a client-side kubectl apply: no conflict with its own
fields."""

import json
from typing import Any

import pytest

from inkube.schemas.ownership import apply as rules
from inkube.schemas.ownership import managedfields
from inkube.schemas.ownership.managedfields import Writer
from inkube.schemas.ownership.typed import TypedSchema
from inkube.schemas.status import StatusError

Object = dict[str, Any]
V1 = "example.com/v1"
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}
TYPED = TypedSchema({"type": "object", "properties": {"spec": SPEC}})


def _config(**spec: Any) -> Object:
    return {"apiVersion": V1, "kind": "Kettle", "metadata": {"name": "k"}, "spec": spec}


def _client_side(**spec: Any) -> Object:
    """Return the object after a client-side `kubectl apply`."""
    obj = _config(**spec)
    text = json.dumps(_config(**spec)) + "\n"
    obj["metadata"]["annotations"] = {rules.LAST_APPLIED: text}
    writer = Writer("kubectl-client-side-apply", V1, time="2024-01-01T00:00:00Z")
    managedfields.track_update(None, obj, typed=TYPED, writer=writer)
    obj["metadata"]["uid"] = "u"
    return obj


def _apply(live: Object, manager: str = "kubectl", **spec: Any) -> Object:
    writer = Writer(manager, V1, time="2024-01-01T00:00:01Z")
    return rules.apply(live, _config(**spec), typed=TYPED, writer=writer)


def test_kubectl_takes_over_what_it_applied_before() -> None:
    new = _apply(_client_side(size=1, color="red"), size=2, color="red")
    assert new["spec"] == {"size": 2, "color": "red"}
    kubectl = next(e for e in new["metadata"]["managedFields"] if e["operation"] == "Apply")
    assert kubectl["fieldsV1"] == {"f:spec": {"f:color": {}, "f:size": {}}}


def test_the_annotation_follows_the_applied_configuration() -> None:
    new = _apply(_client_side(size=1), size=2)
    text = new["metadata"]["annotations"][rules.LAST_APPLIED]
    assert text == (
        '{"apiVersion":"example.com/v1","kind":"Kettle","metadata":{"name":"k"},'
        '"spec":{"size":2}}\n'
    )


def test_other_managers_are_in_conflict() -> None:
    with pytest.raises(StatusError) as caught:
        _apply(_client_side(size=1), "argo", size=2)
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply"'
        " using example.com/v1: .spec.size"
    )


def test_what_changed_since_is_in_conflict_with_kubectl_too() -> None:
    live = _client_side(size=1, color="red")
    live["spec"]["color"] = "blue"
    with pytest.raises(StatusError) as caught:
        _apply(live, size=2, color="red")
    assert [cause["field"] for cause in caught.value.details["causes"]] == [".spec.color"]


def test_an_annotation_that_cannot_be_read_forgives_nothing() -> None:
    live = _client_side(size=1)
    live["metadata"]["annotations"][rules.LAST_APPLIED] = "{"
    with pytest.raises(StatusError):
        _apply(live, size=2)
