"""What a form needs of a kind: items are checked beside a wrong one, no endpoint validates, and
health can be selected."""

import aiohttp
import pytest

from inkube.kinds import (
    Invalid,
    KindModule,
    Model,
    NotFound,
    Reply,
    Resource,
    Subresource,
    check,
    validator,
)
from inkube.schemas.status import StatusError


class Spec(Model):
    topics: list[str] = []  # noqa: RUF012 - pydantic copies it


class Bus(
    Resource,
    group="example.com",
    version="v1",
    plural="buses",
    selectable_fields=["status.health.healthy"],
):
    spec: Spec = Spec()


@validator(Bus, field="spec.topics")
def topics_in_lower_case(bus, old):
    for index, topic in enumerate(bus.spec.topics):
        if topic != topic.lower():
            yield Invalid("must be in lower case", field=f"spec.topics[{index}]")


@check(Bus, field="spec.topics")
async def topics_exist(bus):
    for index, topic in enumerate(bus.spec.topics):
        if topic == "Explodes":
            raise ValueError(topic)
        if topic not in ("news", "weather"):
            yield NotFound(f"no topic {topic} here", field=f"spec.topics[{index}]")


def bus(*topics, name="a"):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Bus",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"topics": list(topics)},
    }


async def refused(server, obj):
    with pytest.raises(StatusError) as error:
        await server.client.create(obj, dry_run=True)
    causes = error.value.details["causes"]
    return [(cause["field"], cause["detail"]) for cause in causes]


@pytest.fixture
async def server(running):
    module = KindModule(Bus, validators=[topics_in_lower_case], checks=[topics_exist])
    async with running(module) as made:
        yield made


async def test_a_static_error_of_an_item_leaves_the_live_check_of_the_others(server):
    assert await refused(server, bus("news", "odd", "News", "sports")) == [
        ("spec.topics[2]", "must be in lower case"),
        ("spec.topics[1]", "no topic odd here"),
        ("spec.topics[3]", "no topic sports here"),
    ]


async def test_an_item_that_static_rules_refuse_does_not_break_the_check(server):
    wrong = [("spec.topics[0]", "must be in lower case")]
    assert await refused(server, bus("Explodes", "odd")) == wrong


async def test_health_can_be_selected(server):
    await server.client.create(bus("news"))
    await server.client.create(bus("odd", name="b"))
    await server.settled()
    path = f"{server.url}/apis/example.com/v1/buses?fieldSelector=status.health.healthy%3D"
    async with aiohttp.ClientSession() as session:
        for value, name in (("true", "a"), ("false", "b")):
            async with session.get(f"{path}{value}") as answer:
                items = (await answer.json())["items"]
            assert [item["metadata"]["name"] for item in items] == [name]


async def flags(question, env):
    return Reply({"apiVersion": question.api_version, "kind": "Flags"})


@pytest.mark.parametrize("name", ["test", "validate", "check"])
def test_an_endpoint_for_validation_is_refused_at_its_declaration(name):
    with pytest.raises(ValueError, match="a second way to validate an object: declare a @check"):
        Subresource(name, flags, kind="Flags")


async def test_a_deprecated_subresource_is_marked_and_warns(running):
    subresources = [
        Subresource("flags", flags, kind="Flags"),
        Subresource("old", flags, kind="Flags", deprecated=True),
    ]
    async with (
        running(KindModule(Bus, subresources=subresources)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        path = "/apis/example.com/v1/namespaces/ns/buses/a"
        async with session.get(f"{path}/flags") as answer:
            assert "Warning" not in answer.headers
        async with session.get(f"{path}/old") as answer:
            assert answer.headers["Warning"] == '299 - "example.com/v1 buses/old is deprecated"'
        async with session.get("/openapi/v3/apis/example.com/v1") as answer:
            paths = (await answer.json())["paths"]
        below = (
            path.replace("/ns/", "/{namespace}/")
            .replace("/a", "/{name}", 2)
            .replace("/{name}pis", "/apis", 1)
        )
        assert paths[f"{below}/old"]["get"]["deprecated"] is True
        assert "deprecated" not in paths[f"{below}/flags"]["get"]


class LineSpec(Model):
    number: str = ""


class Line(Resource, group="example.com", version="v1"):
    spec: LineSpec = LineSpec()


def line(name, number):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Line",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"number": number},
    }


async def errors_of(server, name):
    await server.settled()
    obj = await server.client.get("example.com/v1/lines", name, "ns")
    return [
        (error["type"], error["field"], error["detail"]) for error in obj["status"]["fieldErrors"]
    ]


TAKEN = ("FieldValueDuplicate", "spec.number", "Line a already has this value")


async def test_of_two_objects_with_a_unique_value_the_older_one_keeps_it(running, clock):
    async with running(KindModule(Line, unique=["spec.number"])) as server:
        await server.client.create(line("a", "1"))
        clock.advance(1)
        assert await refused(server, line("b", "1")) == [TAKEN[1:]]
        await server.client.create(line("b", "1"))
        await server.client.create(line("c", "2"))
        await server.client.create(line("d", ""))
        await server.client.create(line("e", ""))
        assert await errors_of(server, "b") == [TAKEN]
        for name in "acde":
            assert await errors_of(server, name) == []


@pytest.mark.parametrize("way", ["delete", "change"])
async def test_the_other_object_learns_at_once_that_a_value_is_free(running, clock, way):
    async with running(KindModule(Line, unique=["spec.number"])) as server:
        await server.client.create(line("a", "1"))
        clock.advance(1)
        await server.client.create(line("b", "1"))
        assert await errors_of(server, "b") == [TAKEN]
        if way == "delete":
            await server.client.delete("example.com/v1/lines", "a", "ns")
        else:
            patch = {"spec": {"number": "3"}}
            await server.client.patch("example.com/v1/lines", "a", "ns", patch=patch)
        assert await errors_of(server, "b") == []


def test_a_unique_field_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match=r"Line has no field 'spec\.nope'"):
        _ = KindModule(Line, unique=["spec.nope"]).definition
