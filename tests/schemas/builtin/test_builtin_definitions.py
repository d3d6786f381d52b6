"""The definitions of built-in kinds."""

import subprocess
import sys

import pytest

from inkube.schemas import builtin
from inkube.schemas.builtin import resources
from inkube.schemas.definitions import Origin
from inkube.schemas.gotypes import table


def definition(group, plural):
    return next(d for d in builtin.definitions() if (d.group, d.names.plural) == (group, plural))


def test_every_kind_has_a_schema_for_every_version():
    for found in builtin.definitions():
        assert found.origin is Origin.BUILTIN
        for version in found.versions:
            assert "metadata" in version.schema["properties"] or "create" in found.verbs, found


def test_names_and_verbs_are_those_of_discovery():
    pods = definition("", "pods")
    assert pods.names.short_names == ("po",)
    assert pods.names.categories == ("all",)
    assert pods.names.singular == "pod"
    assert pods.storage_version.status
    assert pods.storage_version.subresource("exec") is not None
    assert "deletecollection" not in definition("", "namespaces").verbs
    assert definition("apps", "deployments").storage_version.scale is not None
    assert not definition("", "namespaces").namespaced


def test_a_group_of_two_versions_stores_one():
    scaler = definition("autoscaling", "horizontalpodautoscalers")
    assert [version.name for version in scaler.versions] == ["v2", "v1"]
    assert scaler.storage_version.name == "v2"


@pytest.mark.parametrize(
    ("path", "key", "strategy"),
    [
        (("spec", "template", "spec", "containers"), "name", "merge"),
        (("spec", "template", "spec", "tolerations"), None, None),
        (("spec", "template", "spec", "volumes"), "name", "merge,retainKeys"),
        (("spec", "strategy"), None, "retainKeys"),
        (("metadata", "finalizers"), None, "merge"),
    ],
)
def test_schemas_carry_merge_keys(path, key, strategy):
    node = definition("apps", "deployments").storage_version.schema
    for name in path:
        node = node["properties"][name]
    assert node.get("x-kubernetes-patch-merge-key") == key
    assert node.get("x-kubernetes-patch-strategy") == strategy


def test_recursive_types_are_cut():
    schema = definition("apiextensions.k8s.io", "customresourcedefinitions").versions[0].schema
    version = schema["properties"]["spec"]["properties"]["versions"]["items"]
    props = version["properties"]["schema"]["properties"]["openAPIV3Schema"]["properties"]
    assert props["not"] == {"x-kubernetes-preserve-unknown-fields": True, "x-recursive": True}


def test_schemas_carry_nothing_of_go():
    def walk(node):
        assert "x-go" not in node
        assert "$ref" not in node
        for child in node.values():
            if isinstance(child, dict):
                walk(child)

    walk(definition("", "pods").versions[0].schema)


def test_openapi_components_refer_to_each_other():
    name = "io.k8s.api.core.v1.ConfigMap"
    found = table.components([name])
    metadata = found[name]["properties"]["metadata"]
    target = metadata["allOf"][0]["$ref"].rpartition("/")[2]
    assert target in found
    assert found[name]["properties"]["data"]["description"].startswith("Data contains")
    assert "$ref" not in found[name]["properties"]["data"]


def test_the_types_are_not_unpacked_for_the_index():
    program = (
        "from inkube.schemas import builtin; from inkube.schemas.gotypes import table;"
        "builtin.definitions(); print(table.table.cache_info().currsize)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"


def test_subresources_with_kinds_of_their_own():
    pods = resources.by_name()["", "pods"]
    eviction = next(sub for sub in pods.subresources if sub.name == "eviction")
    assert (eviction.group, eviction.version, eviction.kind) == ("policy", "v1", "Eviction")
    assert eviction.verbs == ("create",)
