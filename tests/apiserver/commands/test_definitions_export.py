"""Export of kinds declared in Python: as CRDs, and as descriptions of fields for generated
forms."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main
from inkube.apiserver.commands import export
from inkube.apiserver.declared import exporting

DOCS = Path(__file__).parents[3] / "docs" / "fields"
MODULE = """
from pydantic import Field
from inkube.schemas.models import Model, Resource

class Item(Model):
    size: int = Field(ge=1, description="How\\nbig | wide.")

class BoxSpec(Model):
    items: list[Item] = []
    labels: dict[str, str] = {}

class Box(Resource, group="example.com", version="v1", namespaced=False):
    spec: BoxSpec
"""


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """`exported(*arguments)`: run the command next to a user's module `exported_boxes`."""
    (tmp_path / "exported_boxes.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["definitions", "export", *arguments])


async def test_a_server_takes_exported_crds(exported):
    crds = list(yaml.safe_load_all(exported().stdout))
    assert {crd["spec"]["names"]["kind"] for crd in crds} >= {"Repository", "Connection", "GitHost"}
    for crd in crds:
        group = crd["spec"]["group"]
        renamed = f"copy.{group}"
        crd["metadata"]["name"] = f"{crd['spec']['names']['plural']}.{renamed}"
        crd["spec"]["group"] = renamed
    async with APIServer(definitions=crds) as server:
        found = await server.client.list("copy.world.inkube.dev/v1/githosts")
        assert found.items == []


def test_fields_of_lists_and_maps_have_paths(exported, tmp_path):
    result = exported("exported_boxes", "--docs", "out")
    assert result.exit_code == 0, result.output
    described = json.loads((tmp_path / "out" / "boxs.example.com.json").read_text())
    fields = {field.pop("path"): field for field in described["fields"]}
    assert fields["spec.items[].size"] == {
        "type": "integer",
        "required": True,
        "description": "How big | wide.",
        "minimum": 1,
    }
    assert fields["spec.labels"]["type"] == "map"
    assert fields["spec.labels{}"]["type"] == "string"
    assert fields["status.fieldErrors[].detail"]["readOnly"]
    page = (tmp_path / "out" / "boxs.example.com.md").read_text()
    row = r"| `spec.items[].size` | integer | yes | How big \| wide. minimum: `1` |"
    assert row in page.splitlines()
    assert (tmp_path / "out" / "boxs.example.com.yaml").exists()


@pytest.mark.parametrize(
    ("module", "told"),
    [("no_such_module", "no_such_module: No module"), ("json", "no kind is declared in json")],
)
def test_kinds_that_cannot_be_exported_are_named(exported, module, told):
    result = exported(module)
    assert result.exit_code == 1
    assert told in result.output


def test_the_exported_files_in_the_repository_are_current():
    expected = {
        path: text
        for definition in exporting.kinds(export.HOMES)
        for path, text in exporting.pages(definition, DOCS)
    }
    stored = {path: path.read_text() for path in DOCS.iterdir()}
    assert stored == expected, "run `make docs`"
