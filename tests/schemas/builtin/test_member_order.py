"""Members of patched objects in messages: sorted on the way to a change, elsewhere as they were."""

import json
from typing import Any

import pytest

from inkube.schemas.builtin import memberorder
from inkube.schemas.meta import GVK

MAP = GVK("", "v1", "ConfigMap")
OLD: dict[str, Any] = {
    "apiVersion": "v1",
    "data": {"b": "1", "a": "2"},
    "kind": "ConfigMap",
    "metadata": {
        "finalizers": ["x/y"],
        "labels": {"z": "1", "k": "2"},
        "managedFields": [
            {"apiVersion": "v1", "fieldsV1": {"f:b": {}, "f:a": {}}, "manager": "m", "time": "t"}
        ],
        "name": "n",
        "namespace": "ns",
        "uid": "u",
    },
}
IN_STRUCT_ORDER = (
    '"metadata": {"name": "n", "namespace": "ns", "uid": "u", "labels": {"k": "2", "z": "1"}, '
    '"finalizers": ["x/y"], "managedFields": [{"manager": "m", "apiVersion": "v1", "time": "t", '
    '"fieldsV1": {"f:b": {}, "f:a": {}}}]}'
)


def text(new: Any, unpacked: memberorder.Unpacked) -> str:
    return json.dumps(memberorder.patched(OLD, new, unpacked, MAP))


@pytest.mark.parametrize(
    ("operations", "change", "part"),
    [
        ([{"path": "/immutable"}], {"immutable": 1}, IN_STRUCT_ORDER),
        ([{"path": "/data/c"}], {}, '"data": {"a": "2", "b": "1"}'),
        (
            [{"path": "/metadata/labels/k"}],
            {},
            '{"finalizers": ["x/y"], "labels": {"k": "2", "z": "1"}, "managedFields": [{"manager"',
        ),
        (
            [{"path": "/metadata/managedFields/0/time"}],
            {},
            '"managedFields": [{"apiVersion": "v1", "fieldsV1": {"f:b": {}, "f:a": {}}, "manager"',
        ),
        ([{"path": "/data"}], {"data": {"z": 1, "y": 2}}, '"data": {"z": 1, "y": 2}'),
        ([{"path": "/a", "from": "/data/b"}], {}, IN_STRUCT_ORDER),
        (
            [{"path": "/more", "from": "/data"}],
            {"more": {"b": "1", "a": "2"}},
            '"more": {"a": "2", "b": "1"}',
        ),
    ],
)
def test_only_objects_on_the_way_to_a_change_are_sorted(operations, change, part):
    shown = text({**OLD, **change}, memberorder.of_json_patch(operations))
    assert shown.startswith('{"apiVersion"')
    assert part in shown


def test_a_merge_patch_unpacks_what_it_merges():
    patch = {"metadata": {"labels": {"k": None}, "new": {"b": 1, "a": 1}}, "data": None}
    assert memberorder.of_merge_patch(OLD, patch).paths == {
        (),
        ("metadata",),
        ("metadata", "labels"),
        ("metadata", "new"),
    }


def test_moved_and_compared_values_of_a_json_patch():
    """A moved struct keeps its order, an item of a list also at another index, and a comparison
    unpacks all of its value."""
    owner = OLD["metadata"]["managedFields"][0]
    moved = {**OLD, "data": [{"b": 1, "a": 1}, *OLD["metadata"]["managedFields"]]}
    operations = [{"op": "move", "from": "/metadata/managedFields", "path": "/data"}]
    found = memberorder.patched(OLD, moved, memberorder.of_json_patch(operations), MAP)["data"]
    assert list(found[1]) == ["manager", "apiVersion", "time", "fieldsV1"]
    metadata = {**OLD["metadata"], "managedFields": [{"b": 1, "a": 1}, owner]}
    operations = [{"op": "add", "path": "/metadata/managedFields/0"}]
    unpacked = memberorder.of_json_patch(operations)
    found = memberorder.patched(OLD, {**OLD, "metadata": metadata}, unpacked, MAP)["metadata"]
    assert [list(each) for each in found["managedFields"]] == [
        ["b", "a"], ["manager", "apiVersion", "time", "fieldsV1"],
    ]  # fmt: skip
    operations = [{"op": "test", "path": "/metadata", "value": OLD["metadata"]}]
    found = memberorder.patched(OLD, OLD, memberorder.of_json_patch(operations), MAP)["metadata"]
    assert list(found) == sorted(OLD["metadata"])
    assert list(found["managedFields"][0]["fieldsV1"]) == ["f:a", "f:b"]


def test_a_merge_patch_unpacks_new_values_to_remove_their_nulls():
    """An object in the place of a list, or a list in that of an object, keeps its text."""
    new = {"z": [{"b": 1, "a": [{"d": 1, "c": 1}]}], "y": {"b": 1, "a": 1}}
    patch = {"new": new, "metadata": {"finalizers": new["z"], "labels": [{"b": 1, "a": 1}]}}
    shown = text(
        {**OLD, **patch, "metadata": {**OLD["metadata"], **patch["metadata"]}},
        memberorder.of_merge_patch(OLD, patch),
    )
    assert '"new": {"y": {"a": 1, "b": 1}, "z": [{"a": [{"c": 1, "d": 1}], "b": 1}]}' in shown
    assert '"finalizers": [{"a": [{"c": 1, "d": 1}], "b": 1}]' in shown
    assert '"labels": [{"b": 1, "a": 1}]' in shown


def test_objects_inside_objects_begin_with_kind_and_version():
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"}}
    stateful = {"spec": {"volumeClaimTemplates": [claim]}}
    gvk = GVK("apps", "v1", "StatefulSet")
    found = memberorder.patched(stateful, stateful, memberorder.Unpacked(), gvk)["spec"]
    assert list(found["volumeClaimTemplates"][0]) == ["kind", "apiVersion", "metadata"]


@pytest.mark.parametrize("operations", [None, "x", [None, 1, {"path": 3}], [{"path": ""}]])
def test_patches_of_any_form_have_a_way(operations):
    assert memberorder.of_json_patch(operations).paths == {()}


def test_members_are_in_the_order_of_the_struct_not_of_field_numbers():
    container = {
        "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "restartPolicy": "Always",
        "name": "c",
    }  # fmt: skip
    volume = {"name": "v", "csi": {"driver": "d"}, "emptyDir": {}}
    pod = {"spec": {"volumes": [volume], "containers": [container]}}
    found = memberorder.patched(pod, pod, memberorder.Unpacked(), GVK("", "v1", "Pod"))["spec"]
    assert list(found["containers"][0]) == [
        "name", "restartPolicy", "terminationMessagePolicy", "imagePullPolicy",
    ]  # fmt: skip
    assert list(found["volumes"][0]) == ["name", "emptyDir", "csi"]


def test_every_struct_of_the_file_is_listed_with_all_its_members():
    for name, members in memberorder._orders().items():
        assert sorted(members) == sorted(dict(memberorder._members(f"io.k8s.{name}"))), name
