"""Every field has a description, for kubectl explain and the pages of fields."""

import pytest

from inkube.controllers.provisioning.types import Connection, Repository


def undescribed(schema, path):
    """Yield paths of fields without a description."""
    for name, member in schema.get("properties", {}).items():
        if "description" not in member:
            yield f"{path}.{name}"
        yield from undescribed(member, f"{path}.{name}")
        yield from undescribed(member.get("items", {}), f"{path}.{name}[]")


@pytest.mark.parametrize("model", [Repository, Connection])
def test_every_member_is_described(model):
    for version in model.definition.versions:
        properties = version.schema["properties"]
        for part in ("spec", "secure", "status"):
            assert list(undescribed(properties[part], part)) == []


async def test_explain_describes_every_member_of_field_errors(server):
    _, _, paths = await server.request("GET", "/openapi/v3")
    url = paths["paths"]["apis/provisioning.grafana.app/v0alpha1"]["serverRelativeURL"]
    _, _, document = await server.request("GET", url)
    [repository] = [
        schema
        for name, schema in document["components"]["schemas"].items()
        if name.endswith(".Repository")
    ]
    status = repository["properties"]["status"]["properties"]
    members = status["fieldErrors"]["items"]["properties"]
    assert set(members) == {
        "type", "field", "detail", "origin", "badValue", "supportedValues",
    }  # fmt: skip
    assert all(member["description"] for member in members.values())
    assert status["fieldErrors"]["description"]
    assert status["observedGeneration"]["description"]
