"""Kinds declared as pydantic models: their schema, definition, CRD and typed objects."""

from typing import Any, Literal

import pytest
from pydantic import Field

from inkube.controllers.provisioning.outside.world_types import GitHost, GitHubApp
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.schemas.definitions import Column, Origin, Scale
from inkube.schemas.models import Model, Resource, Unreadable, dump, parse, to_crd


class Part(Model):
    """A part of the machine."""

    serial_number: str = Field(min_length=3, pattern="^[A-Z]")
    parts: list["Part"] = Field(default_factory=list)


class MachineSpec(Model):
    model_name: str
    color: Literal["red", "blue"] = "red"
    power: int = Field(1, gt=0, le=9)
    ratio: float | None = None
    part: Part | None = None
    extra: Any = None
    port: int | str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    app_id: str = Field("", alias="appID")


class Machine(
    Resource,
    group="example.com",
    version="v1",
    short_names=["mc"],
    namespaced=False,
    columns=[
        Column("Color", "string", ".spec.color"),
        Column("Errors", "integer", ".status.fieldErrors", counts=True),
    ],
    selectable_fields=["spec.color"],
    scale=Scale(".spec.power", ".status.power"),
):
    spec: MachineSpec


SPEC = Machine.definition.storage_version.schema["properties"]["spec"]


@pytest.mark.parametrize(
    ("member", "schema"),
    [
        ("modelName", {"type": "string"}),
        ("color", {"type": "string", "enum": ["red", "blue"], "default": "red"}),
        (
            "power",
            {
                "type": "integer",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 9,
                "default": 1,
            },
        ),
        ("ratio", {"type": "number"}),
        ("extra", {"x-kubernetes-preserve-unknown-fields": True}),
        ("port", {"x-kubernetes-int-or-string": True}),
        ("labels", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("appID", {"type": "string"}),
    ],
)
def test_members_become_structural_schemas(member, schema):
    assert SPEC["properties"][member] == schema
    assert SPEC["required"] == ["modelName"]


def test_a_model_inside_itself_ends_as_an_open_object():
    part = SPEC["properties"]["part"]
    assert part["properties"]["serialNumber"]["minLength"] == 3
    inner = part["properties"]["parts"]["items"]
    assert inner == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_the_definition_has_the_class_arguments():
    definition = Machine.definition
    assert definition.origin is Origin.PYTHON
    assert definition.names.plural == "machines"
    assert definition.names.short_names == ("mc",)
    assert not definition.namespaced
    assert definition.storage_version.selectable_fields[-1].label == "spec.color"
    assert str(Machine.gvr.api_version) == "example.com/v1"


def test_a_kind_needs_a_version():
    with pytest.raises(TypeError, match="needs a version"):

        class Nameless(Resource, group="example.com"):
            pass


def test_typed_objects_read_and_dump_outside_names():
    machine = parse(Machine, {"metadata": {"name": "m"}, "spec": {"modelName": "x", "appID": "7"}})
    assert (machine.spec.model_name, machine.spec.app_id, machine.spec.power) == ("x", "7", 1)
    assert dump(machine.spec) == {"modelName": "x", "appID": "7"}


def test_errors_of_an_invalid_object_have_their_fields():
    with pytest.raises(Unreadable) as unreadable:
        parse(Machine, {"spec": {"power": "much", "part": {"serialNumber": "Ab"}}})
    assert [(error.type.value, error.field) for error in unreadable.value.errors] == [
        ("FieldValueRequired", "spec.modelName"),
        ("FieldValueInvalid", "spec.power"),
        ("FieldValueInvalid", "spec.part.serialNumber"),
    ]


@pytest.mark.parametrize("model", [Machine, Repository, Connection, GitHost, GitHubApp])
async def test_the_exported_definition_is_accepted_as_a_crd(model):
    from inkube import APIServer

    crd = to_crd(model.definition)
    crd["spec"]["group"] = "copy.example.com"
    crd["metadata"]["name"] = f"{model.gvr.resource}.copy.example.com"
    async with APIServer() as server:
        created = await server.client.create(crd)
        assert created["spec"]["names"]["kind"] == model.gvk.kind
        assert created["spec"]["versions"][0]["schema"] == crd["spec"]["versions"][0]["schema"]


def test_columns_that_count_stay_out_of_the_crd():
    [version] = to_crd(Machine.definition)["spec"]["versions"]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == ["Color"]
