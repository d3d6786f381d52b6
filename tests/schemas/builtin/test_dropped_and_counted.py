"""What writes to built-in kinds drop, default and count, beside the rules of fields."""

import pytest

from inkube.schemas.builtin import decoding, lookup, served
from inkube.schemas.meta import GVK
from inkube.schemas.ownership import TypedSchema, fieldsets
from inkube.schemas.strategy import Context

CONFIG = {"configMap": {"name": "a"}}


def context_of(kind, subresource=""):
    version = served.of(kind.definition, kind.definition.storage_version)
    return Context(version, subresource=subresource)


def prepared(group, plural, new, old, subresource=""):
    kind = lookup.strategy_of(group, plural)
    new = {"metadata": {"name": "a"}} | new
    before = {"metadata": {"name": "a"}} | old
    kind.prepare_for_update(context_of(kind, subresource), new, before)
    return new


def test_a_node_gets_no_new_configuration_of_its_kubelet():
    kind = lookup.strategy_of("", "nodes")
    node = {"metadata": {"name": "a"}, "spec": {"configSource": CONFIG}, "status": {"config": {}}}
    kind.prepare_for_create(context_of(kind), node)
    assert (node["spec"], node["status"]) == ({}, {})
    spec = {"spec": {"configSource": CONFIG}}
    assert prepared("", "nodes", dict(spec), {"spec": {}})["spec"] == {}
    assert prepared("", "nodes", dict(spec), spec)["spec"] == spec["spec"]
    state = {"status": {"config": {"error": "x"}}, "spec": {}}
    assert prepared("", "nodes", dict(state), {"spec": {}}, "status")["status"] == {}
    assert prepared("", "nodes", dict(state), state, "status")["status"] == state["status"]


def test_each_change_of_a_drivers_spec_is_counted_from_zero():
    old = {"spec": {"podInfoOnMount": False}}
    new = prepared("storage.k8s.io", "csidrivers", {"spec": {"podInfoOnMount": True}}, old)
    assert new["metadata"]["generation"] == 1
    again = prepared("storage.k8s.io", "csidrivers", {"spec": {"podInfoOnMount": False}}, old)
    assert "generation" not in again["metadata"]


@pytest.mark.parametrize("plural", ["persistentvolumes", "persistentvolumeclaims"])
def test_a_volume_without_a_phase_is_pending(plural):
    kind = lookup.strategy_of("", plural)
    obj = {"metadata": {"name": "a"}, "spec": {}, "status": {"message": "x"}}
    kind.default(obj)
    assert obj["status"] == {"message": "x", "phase": "Pending"}


def test_a_null_value_of_a_secret_is_empty():
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": None, "b": "YQ=="}}
    assert decoding.decode(secret, GVK("", "v1", "Secret")).object["data"] == {"a": "", "b": "YQ=="}


def test_raw_data_of_built_in_kinds_has_one_owner():
    kind = lookup.strategy_of("apps", "controllerrevisions")
    typed = TypedSchema(kind.definition.storage_version.schema, custom=False)
    data = {"metadata": {}, "data": {"spec": {"template": {}}}}
    assert [path for path in fieldsets.paths(typed.owned(data)) if path[0] == "f:data"] == [
        ("f:data",)
    ]
