"""A server loads CRDs and objects from files and folders at its start, or reports errors in
them."""

import pytest
import yaml
from widgets import CRD

from inkube import APIServer
from inkube.apiserver.manifests import ManifestError

WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: %s}\nspec: {size: %s}\n"
WIDGETS = "example.com/v1/widgets"


async def test_crds_are_served_before_their_objects_are_made(tmp_path):
    (tmp_path / "a-objects.yaml").write_text(f"{WIDGET % ('a', 1)}---\n{WIDGET % ('b', 2)}")
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "widget.yml").write_text(CRD)
    (tmp_path / "notes.txt").write_text("no manifest")
    async with APIServer(definitions=[tmp_path]) as server:
        found = await server.client.list(WIDGETS)
        assert [(w["metadata"]["name"], w["metadata"]["namespace"]) for w in found.items] == [
            ("a", "default"),
            ("b", "default"),
        ]


async def test_a_second_start_follows_changed_crds_and_keeps_objects(tmp_path):
    data, crd = tmp_path / "inkube.db", tmp_path / "crd.yaml"
    (tmp_path / "object.yaml").write_text(WIDGET % ("a", 1))
    crd.write_text(CRD)
    definitions = [crd, tmp_path / "object.yaml"]
    async with APIServer(definitions=definitions, data=data) as server:
        await server.client.patch(WIDGETS, "a", "default", patch={"spec": {"size": 5}})
    crd.write_text(CRD.replace("size: {type: integer}", "size: {type: integer, maximum: 9}"))
    async with APIServer(definitions=definitions, data=data) as server:
        found = await server.client.get(WIDGETS, "a", "default")
        assert found["spec"] == {"size": 5}
        stored = await server.client.get(
            "apiextensions.k8s.io/v1/customresourcedefinitions", "widgets.example.com"
        )
        [version] = stored["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        assert properties["size"]["maximum"] == 9


async def test_manifests_can_be_objects_and_lists_of_python():
    widget = yaml.safe_load(WIDGET % ("a", 1))
    listed = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(CRD), widget]}
    async with APIServer(definitions=[listed]) as server:
        assert (await server.client.get(WIDGETS, "a", "default"))["spec"] == {"size": 1}
    assert "namespace" not in widget["metadata"]


async def test_items_of_a_list_of_an_api_have_its_kind():
    maps = [{"metadata": {"name": name}} for name in ("a", "b")]
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "items": maps}
    async with APIServer(definitions=[listed]) as server:
        for name in ("a", "b"):
            assert await server.client.get("v1/configmaps", name, "default")
    assert maps[0] == {"metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\n---\nkind: [", r"x\.yaml: document 1, line 1: .*kind is missing"),
        (f"{CRD}---\n{{", r"x\.yaml: document 2, line 20: .*yaml"),
        (f"{CRD}---\n{WIDGET % ('a', 'big')}", r"x\.yaml: document 2, line 20: .*spec\.size"),
        (WIDGET % ("a", 1), r"x\.yaml: document 1, line 1: the server could not find"),
        (
            CRD.replace("plural: widgets", "plural: gadgets"),
            r"document 1, line 1: .*metadata\.name",
        ),
    ],
)
async def test_errors_name_file_and_document(tmp_path, text, told):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ManifestError, match=told):
        async with APIServer(definitions=[tmp_path]):
            pass


async def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: no such file or folder"):
        async with APIServer(definitions=[tmp_path / "nowhere"]):
            pass
