"""An object that leaves out what has a default in Python is accepted: a default that the schema of
its field refuses is an error of the declaration."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from inkube.controllers.checks import check
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource, Status, to_crd


class Inner(Model):
    n: int | None = None
    items: list["Inner"] = Field(default_factory=list)
    name: str = "x"


class Outer(Model):
    inner: Inner = Inner()
    maybe: Inner | None = None
    many: list[Inner] = Field(default=[Inner(), Inner(n=1, items=[Inner()])])
    mapped: dict[str, Inner] = Field(default={"a": Inner()})


class Box(Resource, group="example.com", version="v1", plural="boxes"):
    spec: Outer = Outer()


async def test_a_default_with_optional_members_is_accepted(running):
    head = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a"}}
    async with running(KindModule(Box)) as server:
        created = await server.client.create({**head, "metadata": {"name": "a", "namespace": "ns"}})
    inner = {"items": [], "name": "x"}
    assert created["spec"]["inner"] == inner
    assert created["spec"]["many"] == [inner, {"n": 1, "items": [inner], "name": "x"}]
    assert created["spec"]["mapped"] == {"a": inner}
    assert "maybe" not in created["spec"]


async def test_the_crd_of_a_kind_with_optional_defaults_is_accepted(running):
    async with running() as server:
        await server.client.create(to_crd(Box.definition))


class Part(Model):
    n: int = Field(1, ge=1)


def declare(kind: Any, value: Any) -> type[Resource]:
    """Declare a kind whose spec has a field of a type with a default."""
    members = {"__annotations__": {"a_field": kind}, "a_field": value, "__module__": __name__}
    spec = type("BoxSpec", (Model,), members)
    members = {"__annotations__": {"spec": spec}, "spec": spec(), "__module__": __name__}
    return type("Box", (Resource,), members, group="example.com", version="v1")


SET: Any = {"x-kubernetes-list-type": "set"}
SMALL: Any = {"x-kubernetes-validations": [{"rule": "self < 5", "message": "must be small"}]}
REFUSED = [
    (int, Field(0, ge=1), "0", "should be greater than or equal to 1"),
    (int, Field(0, gt=0), "0", "should be greater than 0"),
    (float, Field(0.5, multiple_of=1), "0.5", "should be a multiple of 1"),
    (Literal["a"], "b", '"b"', 'supported values: "a"'),
    (str, Field("", pattern="^a"), '""', "should match '^a'"),
    (str, Field("", min_length=1), '""', "should be at least 1 chars long"),
    (str, Field("abc", max_length=2), '"abc"', "Too long"),
    (list[int], Field(default_factory=list, min_length=1), "[]", "should have at least 1 items"),
    (list[int], Field(default_factory=lambda: [1, 2], max_length=1), "[1,2]", "Too many"),
    (dict[str, int], Field({}, min_length=1), "{}", "should have at least 1 properties"),
    (list[str], Field(["a", "a"], json_schema_extra=SET), '["a","a"]', "[1]: Duplicate value"),
    (int, Field(7, json_schema_extra=SMALL), "7", "must be small"),
    (Part, Part.model_construct(n=0), '{"n":0}', "n: Invalid value: 0"),
    (list[Part], [Part.model_construct(n=0)], '[{"n":0}]', "[0].n: Invalid value: 0"),
    (dict[str, Part], {"a": Part.model_construct(n=0)}, '{"a":{"n":0}}', "a.n: Invalid value: 0"),
]


@pytest.mark.parametrize(("kind", "default", "shown", "rule"), REFUSED)
def test_a_default_that_the_schema_refuses_is_found_at_the_declaration(kind, default, shown, rule):
    with pytest.raises(ValueError, match=r"BoxSpec\.aField has the default") as refused:
        declare(kind, default)
    assert f" {shown}, which its schema refuses: " in str(refused.value)
    assert rule in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "default"),
    [(int | None, Field(None, ge=1)), (list[int], Field([], max_length=1)), (Part, Part(n=1))],
)
def test_a_default_that_fits_or_stands_for_nothing_is_accepted(kind, default):
    declare(kind, default)


@given(low=st.integers(-3, 3), high=st.integers(-3, 3), default=st.integers(-4, 4))
def test_a_kind_can_be_declared_if_a_client_could_send_its_default(low, high, default):
    adapter = TypeAdapter(Annotated[int, Field(ge=low, le=high)])
    try:
        adapter.validate_python(default)
    except ValidationError:
        with pytest.raises(ValueError, match="which its schema refuses"):
            declare(int, Field(default, ge=low, le=high))
    else:
        declare(int, Field(default, ge=low, le=high))


class NeedyStatus(Status):
    moored: bool


class Boat(Resource, group="example.com", version="v1"):
    spec: Part = Part(n=1)
    status: NeedyStatus


@check(Boat, field="spec.n")
async def floats(boat):
    return
    yield


def test_a_status_that_the_controller_of_checks_cannot_write_is_found_at_the_declaration():
    with pytest.raises(ValueError, match=r"Boat\.status .* moored: Required value"):
        KindModule(Boat, checks=[floats])


def test_a_zero_status_fits_the_schema():
    members = {"__annotations__": {"status": NeedyStatus}, "__module__": __name__}
    with pytest.raises(ValueError, match=r"Ship\.status .* moored: Required value"):
        type("Ship", (Resource,), members, group="example.com", version="v1", zero_status={})
