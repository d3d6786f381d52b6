"""What writes to built-in kinds drop, default and count, beside the rules of fields."""

import pytest

from inkube.schemas import quantity
from inkube.schemas.builtin import decoding, lookup, resourcenames, served
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


def test_the_time_of_a_phase_stays_while_the_phase_does():
    old = {"spec": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": "t"}}
    same = prepared("", "persistentvolumes", {"status": {"phase": "Bound"}}, old, "status")
    assert same["status"]["lastPhaseTransitionTime"] == "t"
    freed = prepared("", "persistentvolumes", {"status": {"phase": "Released"}}, old, "status")
    assert (
        freed["status"]["lastPhaseTransitionTime"]
        == context_of(lookup.strategy_of("", "persistentvolumes")).now
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1500m", False), ("2000m", True), ("1Ki", True), ("9223372036854775", True),
        ("9223372036854775807", True), ("9223372036854775808", True),
        ("12345678901234567890123", False),
    ],
)  # fmt: skip
def test_arbitrary_decimals_are_whole_by_their_low_bits_in_milli(text, whole):
    assert resourcenames.is_whole(quantity.parse(text)) is whole


def warned(group, plural, obj, subresource=""):
    kind = lookup.strategy_of(group, plural)
    old = {"metadata": {"name": "a"}, "spec": {}}
    return kind.warnings_on_update(context_of(kind, subresource), old | obj, old)


@pytest.mark.parametrize(
    ("group", "plural", "status", "expected"),
    [
        ("", "pods", {"podIPs": [{"ip": "::01"}]}, "status.podIPs[0].ip: "),
        ("", "services", {"loadBalancer": {"ingress": [{"ip": "::01"}]}},
         "status.loadBalancer.ingress[0]: "),
        ("networking.k8s.io", "ingresses", {"loadBalancer": {"ingress": [{"ip": "::01"}]}},
         "status.loadBalancer.ingress[0]: "),
    ],
)  # fmt: skip
def test_writes_to_a_status_warn_about_its_addresses_alone(group, plural, status, expected):
    spec = {"externalIPs": ["::01"], "type": "ClusterIP"}
    (text,) = warned(group, plural, {"spec": spec, "status": status}, "status")
    assert text.startswith(expected)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "ClusterIP", "clusterIP": "None", "loadBalancerIP": "10.0.0.1"},
         "spec.loadBalancerIP is ignored for headless services"),
        ({"type": "ExternalName", "externalIPs": ["10.0.0.1"]},
         'spec.externalIPs is ignored when spec.type is "ExternalName"'),
        ({"type": "NodePort", "externalIPs": ["10.0.0.1"]},
         "spec.externalIPs is deprecated and may no longer be implemented in some clusters"),
    ],
)  # fmt: skip
def test_services_warn_about_what_their_type_ignores(spec, expected):
    assert warned("", "services", {"spec": spec}) == [expected]


def test_a_removed_text_is_shown_as_an_empty_one():
    kind = lookup.strategy_of("", "secrets")
    api = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "d"}}
    (error,) = kind.check_update(dict(api), api | {"type": "x"})
    assert error.text() == 'type: Invalid value: "": field is immutable'
