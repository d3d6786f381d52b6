"""The path of a value with a wrong JSON type is that of Go's decoder, which names embedded
structs."""

from typing import Any

import pytest

from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.gotypes import decoding, types


def wrong(name: str, given: dict[str, Any]) -> str:
    with pytest.raises(DecodeError) as caught:
        decoding.decode(types.of(f"io.k8s.{name}"), given)
    return str(caught.value).removeprefix("json: cannot unmarshal ")


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        pytest.param(
            "api.core.v1.Pod",
            {"spec": {"volumes": [{"configMap": {"name": 1}}]}},
            "number into Go struct field ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap."
            "LocalObjectReference.name of type string",
            id="a struct in a field of an embedded struct",
        ),
        pytest.param(
            "api.core.v1.Pod",
            {"spec": {"volumes": [{"name": 1}]}},
            "number into Go struct field Volume.spec.volumes.name of type string",
            id="a field of its own",
        ),
        pytest.param(
            "api.core.v1.Pod",
            {"spec": {"ephemeralContainers": [{"livenessProbe": {"exec": 1}}]}},
            "number into Go struct field Probe.spec.ephemeralContainers.EphemeralContainerCommon."
            "livenessProbe.ProbeHandler.exec of type v1.ExecAction",
            id="one embedded struct below another",
        ),
        pytest.param(
            "api.admissionregistration.v1.NamedRuleWithOperations",
            {"scope": 1},
            "number into Go struct field NamedRuleWithOperations.RuleWithOperations.Rule.scope of "
            "type v1.ScopeType",
            id="a struct embedded in an embedded one",
        ),
        pytest.param(
            "api.authorization.v1.SubjectAccessReviewSpec",
            {"extra": {"k": "v"}},
            "string into Go struct field SubjectAccessReviewSpec.extra of type v1.ExtraValue",
            id="the values of a map have a type of their own",
        ),
        pytest.param(
            "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
            {"x-kubernetes-validations": "x"},
            "string into Go struct field JSONSchemaProps.x-kubernetes-validations of type "
            "v1.ValidationRules",
            id="a list has a type of its own",
        ),
    ],
)
def test_the_place_names_embedded_structs(name, given, why):
    assert wrong(name, given) == why


def test_an_unknown_field_is_placed_by_keys_alone():
    given = {"spec": {"volumes": [{"configMap": {"no": 1}}]}}
    found = decoding.decode(types.of("io.k8s.api.core.v1.Pod"), given)
    assert found.unknown == ["spec.volumes[0].configMap.no"]
