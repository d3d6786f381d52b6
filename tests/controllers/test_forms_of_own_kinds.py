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
