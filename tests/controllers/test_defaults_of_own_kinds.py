"""An object that leaves out what has a default in Python is accepted."""

from pydantic import Field

from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource, to_crd


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


async def test_its_crd_is_accepted_too(running):
    async with running() as server:
        await server.client.create(to_crd(Box.definition))
