"""Every possible error of a CustomResourceDefinition, and its text."""

import copy

import pytest

from inkube.schemas import crds

LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def crd(*, spec=None, **version):
    """Return a valid CRD of boats; `version` changes its one version, `spec` the rest."""
    built = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat"},
            "versions": [version_named("v1", **version)],
            **(spec or {}),
        },
    }
    decoded, unknown = crds.decode(built)
    assert unknown == []
    crds.default(decoded)
    crds.prepare_create(decoded)
    return decoded


def version_named(name, **changes):
    whole = {"type": "object", "properties": {"spec": {"type": "object"}}}
    plain = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return plain | changes


def said(found):
    return [(error.field, error.message()) for error in found]


def test_a_plain_definition_is_valid():
    assert crds.validate_create(crd()) == []


IN_SPEC = {
    "no group": (
        {"group": ""},
        [
            (
                "metadata.name",
                'Invalid value: "boats.example.com": must be spec.names.plural+"."+spec.group',
            ),
            ("spec.group", "Required value"),
        ],
    ),
    "a scope that is none": (
        {"scope": "World"},
        [("spec.scope", 'Unsupported value: "World": supported values: "Cluster", "Namespaced"')],
    ),
    "kind and list kind the same": (
        {"names": {"plural": "boats", "kind": "Boat", "listKind": "Boat"}},
        [("spec.names.listKind", 'Invalid value: "Boat": kind and listKind may not be the same')],
    ),
    "a short name in capitals": (
        {"names": {"plural": "boats", "kind": "Boat", "shortNames": ["B"]}},
        [("spec.names.shortNames[0]", f'Invalid value: "B": {LABEL}')],
    ),
    "a name too long": (
        {"names": {"plural": "boats", "kind": "Boat", "singular": "b" * 64}},
        [
            (
                "spec.names.singular",
                f'Invalid value: "{"b" * 64}": must be no more than 63 characters',
            )
        ],
    ),
    "no storage version": (
        {"versions": [version_named("v1", storage=False)]},
        [
            (
                "spec.versions",
                (
                    'Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,'
                    '"DeprecationWarning":null,"Schema":null,"Subresources":null,'
                    '"AdditionalPrinterColumns":null,"SelectableFields":null}]: '
                    "must have exactly one version marked as storage version"
                ),
            ),
            ("status.storedVersions", "Invalid value: null: must have at least one stored version"),
        ],
    ),
    "a version's name": (
        {"versions": [version_named("1")]},
        [
            ("spec.versions[0].name", f'Invalid value: "1": {LABEL}'),
            ("spec.version", f'Invalid value: "1": {LABEL}'),
        ],
    ),
    "no schema": (
        {"versions": [version_named("v1", schema=None)]},
        [("spec.versions[0].schema.openAPIV3Schema", "Required value")],
    ),
    "fields to select by without a schema": (
        {
            "versions": [
                version_named("v1", schema=None, selectableFields=[{"jsonPath": ".spec.a"}])
            ]
        },
        [
            ("spec.versions[0].schema.openAPIV3Schema", "Required value"),
            (
                "spec.selectableFields",
                'Invalid value: "": may only be set when validations.schema is included',
            ),
        ],
    ),
    "preserveUnknownFields": (
        {"preserveUnknownFields": True},
        [
            (
                "spec.preserveUnknownFields",
                (
                    "Invalid value: true: cannot set to true, set "
                    "x-kubernetes-preserve-unknown-fields to true in "
                    "spec.versions[*].schema instead"
                ),
            )
        ],
    ),
    "a conversion webhook that says nothing": (
        {"conversion": {"strategy": "Webhook"}},
        [
            (
                "spec.conversion.webhookClientConfig",
                "Required value: required when strategy is set to Webhook",
            ),
            ("spec.conversion.conversionReviewVersions", "Required value"),
        ],
    ),
    "a protected group": (
        {"group": "boats.k8s.io", "names": {"plural": "boats", "kind": "Boat"}},
        [
            (
                "metadata.name",
                'Invalid value: "boats.example.com": must be spec.names.plural+"."+spec.group',
            ),
            (
                "metadata.annotations[api-approved.kubernetes.io]",
                (
                    "Required value: protected groups must have approval annotation "
                    '"api-approved.kubernetes.io", see '
                    "https://github.com/kubernetes/enhancements/pull/1111"
                ),
            ),
        ],
    ),
}


@pytest.mark.parametrize(("spec", "causes"), IN_SPEC.values(), ids=IN_SPEC)
def test_the_spec_is_checked(spec, causes):
    assert said(crds.validate_create(crd(spec=spec))) == causes


IN_VERSION = {
    "a column of another type": (
        {"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}]},
        [
            (
                "spec.additionalPrinterColumns[0].type",
                'Invalid value: "text": must be one of boolean,date,integer,number,string',
            )
        ],
    ),
    "a column without anything": (
        {"additionalPrinterColumns": [{}]},
        [
            ("spec.additionalPrinterColumns[0].name", "Required value"),
            (
                "spec.additionalPrinterColumns[0].type",
                "Required value: must be one of boolean,date,integer,number,string",
            ),
            ("spec.additionalPrinterColumns[0].JSONPath", "Required value"),
        ],
    ),
    "scale paths": (
        {
            "subresources": {
                "scale": {"specReplicasPath": ".status.n", "statusReplicasPath": "status.n"}
            }
        },
        [
            (
                "spec.subresources.scale.specReplicasPath",
                'Invalid value: ".status.n": should be a json path under .spec',
            ),
            (
                "spec.subresources.scale.statusReplicasPath",
                'Invalid value: "status.n": must be a simple json path starting with .',
            ),
        ],
    ),
    "a warning for what is not deprecated": (
        {"deprecationWarning": "x"},
        [
            (
                "spec.versions[0].deprecationWarning",
                'Invalid value: "x": can only be set for deprecated versions',
            )
        ],
    ),
    "a warning with a bell": (
        {"deprecated": True, "deprecationWarning": "é\a"},
        [
            (
                "spec.versions[0].deprecationWarning",
                (
                    'Invalid value: "é\\a": must only contain printable UTF-8 characters; '
                    "non-printable character found at index 2"
                ),
            )
        ],
    ),
    "a selectable field in a list": (
        {
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {"a": {"type": "array", "items": {"type": "string"}}},
                }
            },
            "selectableFields": [{"jsonPath": ".a[0]"}, {"jsonPath": ".a"}, {"jsonPath": "a"}],
        },
        [
            (
                "spec.selectableFields[0].jsonPath",
                'Invalid value: ".a[0]": is an invalid path: array notation is not allowed',
            ),
            (
                "spec.selectableFields[1].jsonPath",
                (
                    'Invalid value: ".a": must point to a field of type string, boolean or '
                    "integer. Enum string fields and strings with formats are allowed."
                ),
            ),
            (
                "spec.selectableFields[2].jsonPath",
                'Invalid value: "a": is an invalid path: expected [ or . but got: a',
            ),
        ],
    ),
}


@pytest.mark.parametrize(("version", "causes"), IN_VERSION.values(), ids=IN_VERSION)
def test_columns_and_subresources_of_a_definition_are_checked(version, causes):
    assert said(crds.validate_create(crd(**version))) == causes


def test_versions_that_differ_are_named_each():
    other = version_named("v2", storage=False)
    other["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}
    found = crds.validate_create(crd(spec={"versions": [version_named("v1"), other]}))
    assert [error.field for error in found] == [
        "spec.versions[1].schema.openAPIV3Schema.properties[a].type"
    ]


def test_an_established_definition_keeps_scope_and_kind():
    old = crd()
    old["status"] |= crds.next_status(old, [], "2026-01-01T00:00:00Z")
    new = copy.deepcopy(old)
    new["spec"]["scope"] = "Cluster"
    new["spec"]["names"]["kind"] = "Ship"
    assert said(crds.validate_update(new, old)) == [
        ("spec.scope", 'Invalid value: "Cluster": field is immutable'),
        ("spec.names.kind", 'Invalid value: "Ship": field is immutable'),
    ]


def test_a_stored_version_cannot_leave():
    old = crd(spec={"versions": [version_named("v1"), version_named("v2", storage=False)]})
    new = copy.deepcopy(old)
    new["spec"]["versions"] = [version_named("v2")]
    crds.prepare_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    (error,) = crds.validate_update(new, old)
    assert error.field == "status.storedVersions[0]"
    assert error.detail.startswith(
        "missing from spec.versions; v1 was previously a storage version"
    )


def test_an_unchanged_lack_of_approval_is_let_pass():
    old = crd(spec={"group": "boats.k8s.io"})
    old["metadata"]["name"] = "boats.boats.k8s.io"
    assert crds.validate_update(copy.deepcopy(old), old) == []
    old["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/pull/1"}
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {"api-approved.kubernetes.io": "trust me"}
    (error,) = crds.validate_update(new, old)
    assert error.field == "metadata.annotations[api-approved.kubernetes.io]"
