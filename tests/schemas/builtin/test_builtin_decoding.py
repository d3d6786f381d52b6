"""Typed decoding of built-in kinds: Go's errors, zeros and canonical forms."""

import copy

import pytest

from inkube.schemas import builtin
from inkube.schemas.builtin import decoding
from inkube.schemas.meta import GVK
from inkube.schemas.status import StatusError

CONFIG_MAP = GVK("", "v1", "ConfigMap")
DEPLOYMENT = GVK("apps", "v1", "Deployment")
LEASE = GVK("coordination.k8s.io", "v1", "Lease")
QUOTA = GVK("", "v1", "ResourceQuota")
ROLE = GVK("rbac.authorization.k8s.io", "v1", "Role")
EVENT = GVK("", "v1", "Event")
SERVICE = GVK("", "v1", "Service")
CRD = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def pod_template(**container):
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", **container}]}}}}


@pytest.mark.parametrize(
    ("gvk", "obj", "text"),
    [
        (
            CONFIG_MAP,
            {"data": {"n": 3}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            CONFIG_MAP,
            {"metadata": {"labels": {"a": True}}},
            (
                "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels "
                "of type "
                "string"
            ),
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": "three"}},
            (
                "json: cannot unmarshal string into Go struct field "
                "DeploymentSpec.spec.replicas of "
                "type int32"
            ),
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 1.5}},
            (
                "json: cannot unmarshal number 1.5 into Go struct field "
                "DeploymentSpec.spec.replicas "
                "of type int32"
            ),
        ),
        (
            DEPLOYMENT,
            pod_template(env=[{"name": "A", "value": 1}]),
            (
                "json: cannot unmarshal number into Go struct field "
                "EnvVar.spec.template.spec.containers.env.value of type string"
            ),
        ),
        (
            DEPLOYMENT,
            {"spec": {"template": {"spec": {"containers": {}}}}},
            (
                "json: cannot unmarshal object into Go struct field "
                "PodSpec.spec.template.spec.containers of type []v1.Container"
            ),
        ),
        (CONFIG_MAP, {"binaryData": {"k": "?"}}, "illegal base64 data at input byte 0"),
        *(
            (
                CONFIG_MAP,
                {"binaryData": {"k": [1, wrong]}},
                (
                    f"json: cannot unmarshal {named} into Go struct field ConfigMap.binaryData "
                    "of type uint8"
                ),
            )
            for wrong, named in [
                (256, "number 256"),
                (-1, "number -1"),
                (1.5, "number 1.5"),
                (1.0, "number 1.0"),
                ("a", "string"),
                ([1], "array"),
                (True, "bool"),
            ]
        ),
        (
            QUOTA,
            {"spec": {"hard": {"cpu": "many"}}},
            (
                "quantities must match the regular expression "
                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            ),
        ),
        (
            LEASE,
            {"spec": {"renewTime": "yesterday"}},
            (
                'parsing time "yesterday" as "2006-01-02T15:04:05.000000Z07:00": '
                'cannot parse "yesterday" as "2006"'
            ),
        ),
        (
            LEASE,
            {"spec": {"renewTime": "2026-01-02T03:04:05Z"}},
            (
                'parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": '
                'cannot parse "Z" as ".000000"'
            ),
        ),
        (
            LEASE,
            {"spec": {"renewTime": 5}},
            (
                "json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of "
                "type string"
            ),
        ),
    ],
)
def test_a_wrong_type_has_the_error_of_go(gvk, obj, text):
    with pytest.raises(decoding.DecodeError) as error:
        decoding.decode(obj, gvk)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("gvk", "obj", "member", "expected"),
    [
        (CONFIG_MAP, {"data": {}, "immutable": False}, "immutable", False),
        (CONFIG_MAP, {"data": {}}, "data", None),
        (CONFIG_MAP, {"data": {"a": None}}, "data", {"a": ""}),
        (CONFIG_MAP, {"binaryData": {"a": [1, 255]}}, "binaryData", {"a": "Af8="}),
        (CONFIG_MAP, {"binaryData": {"a": [], "b": [None]}}, "binaryData", {"a": "", "b": "AA=="}),
        (ROLE, {"rules": []}, "rules", None),
        (DEPLOYMENT, {}, "status", {}),
        (DEPLOYMENT, {}, "metadata", {}),
        (EVENT, {}, "firstTimestamp", None),
        (EVENT, {}, "reportingComponent", ""),
        (EVENT, {"count": 0}, "count", None),
        (
            EVENT,
            {"lastTimestamp": "2026-01-02T03:04:05.9+01:00"},
            "lastTimestamp",
            "2026-01-02T02:04:05Z",
        ),
        (LEASE, {"spec": {"leaseTransitions": 0}}, "spec", {"leaseTransitions": 0}),
        (
            QUOTA,
            {"spec": {"hard": {"cpu": 0.5, "pods": 2}}},
            "spec",
            {"hard": {"cpu": "500m", "pods": "2"}},
        ),
        (
            SERVICE,
            {"spec": {"ports": [{"port": 1, "targetPort": "web"}]}},
            "spec",
            {"ports": [{"port": 1, "targetPort": "web", "protocol": "TCP"}]},
        ),
    ],
)
def test_zeros_are_sent_as_go_sends_them(gvk, obj, member, expected):
    assert decoding.decode(obj, gvk).object.get(member) == expected


def test_always_sent_members_are_there():
    assert "rules" in decoding.decode({}, ROLE).object
    assert "data" not in decoding.decode({"data": {}}, CONFIG_MAP).object


def test_unknown_fields_are_dropped_and_named():
    obj = pod_template(imagee="x", ports=[{"containerPort": 1, "prot": "TCP"}])
    obj["metadata"] = {"label": {}}
    before = copy.deepcopy(obj)
    decoded = decoding.decode(obj, DEPLOYMENT)
    assert decoded.unknown == [
        "spec.template.spec.containers[0].imagee",
        "spec.template.spec.containers[0].ports[0].prot",
        "metadata.label",
    ]
    assert "imagee" not in decoded.object["spec"]["template"]["spec"]["containers"][0]
    assert obj == before


def test_schemas_in_definitions_are_looked_through():
    schema = {"type": "object", "properties": {"a": {"typ": "x", "items": {"format": "int32"}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    decoded = decoding.decode({"spec": {"versions": [version]}}, CRD)
    assert decoded.unknown == ["spec.versions[0].schema.openAPIV3Schema.properties.a.typ"]


def test_defaults_in_definitions_are_kept_even_when_empty():
    schema = {"type": "object", "properties": {"a": {"default": ""}, "b": {"default": False}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    made = decoding.decode({"spec": {"versions": [version]}}, CRD).object
    properties = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert properties == {"a": {"default": ""}, "b": {"default": False}}


def test_decoding_is_idempotent_for_every_kind():
    for definition in builtin.definitions():
        for version in definition.versions:
            gvk = definition.gvk(version.name)
            once = decoding.decode({"metadata": {"name": "a"}}, gvk).object
            assert decoding.decode(once, gvk).object == once, gvk


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            {"apiVersion": "v2", "kind": "ConfigMap"},
            'no kind "ConfigMap" is registered for version "v2" in scheme',
        ),
        ({"apiVersion": "v1", "kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap)"),
        ({"apiVersion": "v1", "kind": "Nothing"}, 'no kind "Nothing" is registered'),
        ({"kind": 3}, "cannot unmarshal number into Go struct field .kind of type string"),
    ],
)
def test_a_body_of_another_type_is_refused(obj, words):
    with pytest.raises(StatusError) as refusal:
        decoding.check_type(obj, CONFIG_MAP)
    assert refusal.value.code == 400
    assert words in refusal.value.message


def test_a_body_that_leaves_its_type_out_gets_that_of_the_address():
    obj = {}
    decoding.check_type(obj, CONFIG_MAP)
    assert obj == {"apiVersion": "v1", "kind": "ConfigMap"}


def test_a_refused_body_has_the_text_of_go():
    error = decoding.refusal(CONFIG_MAP, "why")
    assert error.message == 'ConfigMap in version "v1" cannot be handled as a ConfigMap: why'
    patch = decoding.patch_refusal("{}", "why")
    assert patch.body()["details"]["causes"][0]["field"] == "patch"
