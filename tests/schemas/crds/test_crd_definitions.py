"""A CRD is converted to the definition that the registry serves."""

from inkube.schemas import crds, versions
from inkube.schemas.definitions import Column, Scale


def version(name, **changes):
    return {"name": name, "served": True, "storage": False, **changes}


def crd(*found, status=None):
    return {
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "boats", "kind": "Boat", "shortNames": ["wanted"]},
            "versions": list(found),
        },
        "status": status or {},
    }


def test_all_that_is_served_is_in_the_definition():
    schema = {"type": "object"}
    made = crds.to_definition(
        crd(
            version(
                "v1",
                storage=True,
                schema={"openAPIV3Schema": schema},
                subresources={
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                },
                additionalPrinterColumns=[{"name": "N", "type": "integer", "jsonPath": ".spec.n"}],
                selectableFields=[{"jsonPath": ".spec.n"}],
            ),
            version("v2", served=False),
        )
    )
    found = made.storage_version
    assert (made.group, made.namespaced, made.terminating) == ("example.com", False, False)
    assert (made.names.singular, made.names.list_kind) == ("boat", "BoatList")
    assert found.schema is schema
    assert found.status
    assert found.scale == Scale(".spec.n", ".status.n")
    assert found.columns == (Column("N", "integer", ".spec.n"),)
    assert [field.label for field in found.selectable_fields] == [
        "metadata.name",
        "spec.n",
    ]
    assert made.version("v2") is None


def test_accepted_names_come_before_wanted_ones():
    names = {"plural": "boats", "kind": "Boat", "shortNames": ["had"]}
    made = crds.to_definition(crd(version("v1", storage=True), status={"acceptedNames": names}))
    assert made.names.short_names == ("had",)


def test_a_deprecated_version_recommends_the_best_that_is_better():
    made = crds.to_definition(
        crd(
            version("v1beta1", deprecated=True),
            version("v1", storage=True),
            version("v2alpha1", deprecated=True),
            version("v3", deprecated=True, deprecationWarning="sunk"),
            version("v4", served=False),
        )
    )
    assert [found.deprecation_warning for found in made.versions] == [
        "example.com/v1beta1 Boat is deprecated; use example.com/v1 Boat",
        "",
        "example.com/v2alpha1 Boat is deprecated; use example.com/v1 Boat",
        "sunk",
        "",
    ]
    alone = crds.to_definition(crd(version("v1", storage=True, deprecated=True), version("v0")))
    assert alone.versions[0].deprecation_warning == "example.com/v1 Boat is deprecated"


def test_versions_are_preferred_as_kubernetes_prefers_them():
    stable, trial = ["v10", "v2", "v1"], ["v11beta2", "v10beta3", "v3beta1", "v12alpha1"]
    unlike = ["foo1", "foo10"]
    mixed = [*unlike, *trial, *stable]
    assert sorted(mixed, key=versions.preference) == [*stable, *trial, *unlike]
