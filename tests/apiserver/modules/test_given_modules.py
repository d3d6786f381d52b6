"""Modules that are given as objects, without a package: in a server, in a fixture, and refused."""

from typing import Any

import pytest

from inkube import APIServer, BadOption, Options
from inkube.kinds import (
    Invalid,
    KindModule,
    Model,
    ModuleHost,
    ModuleOption,
    ModuleParts,
    Resource,
    SecureValue,
    check,
)
from inkube.testing import BlockingClient

TOPICS = "given.example/v1/topics"


class TopicSpec(Model):
    broker: str = "main"


class TopicSecure(Model):
    password: SecureValue | None = None


class Topic(Resource, group="given.example", version="v1"):
    spec: TopicSpec = TopicSpec()
    secure: TopicSecure = TopicSecure()


class Broker:
    def __init__(self, password: str) -> None:
        self.password = password


@check(Topic, field="secure.password")
async def password_accepted(topic: Topic, secrets: Any, broker: Broker) -> Any:
    if await secrets.read("password") != broker.password:
        yield Invalid("the broker does not accept this password")


class Bus:
    """A module with a kind that has a secret, and a service that its check uses."""

    groups = ("given.example",)
    needs = ()
    options = (ModuleOption("bus_password", "sesame", "The password that the broker accepts."),)

    def build(self, host: ModuleHost) -> ModuleParts:
        broker = Broker(host.settings["bus_password"])
        kind = KindModule(Topic, checks=[password_accepted])
        return ModuleParts(kinds=[kind], services={"broker": broker})


class Stop:
    """A module that needs the bus."""

    groups = ("stops.example",)
    needs = ("bus", "world")
    options = ()

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def build(self, host: ModuleHost) -> ModuleParts:
        self.seen += sorted(host.services)
        return ModuleParts()


def topic(password: str) -> dict[str, Any]:
    return {
        "apiVersion": "given.example/v1",
        "kind": "Topic",
        "metadata": {"name": "a", "namespace": "default"},
        "secure": {"password": {"create": password}},
    }


@pytest.mark.parametrize(("password", "found"), [("sesame", []), ("guess", ["secure.password"])])
async def test_a_given_module_has_its_kinds_services_and_a_store_of_secrets(password, found):
    async with APIServer(modules=[Bus()]) as server:
        await server.client.create(topic(password))
        await server.settled()
        stored = await server.client.get(TOPICS, "a", "default")
    assert [error["field"] for error in stored["status"]["fieldErrors"]] == found


async def test_options_of_a_given_module_are_options_of_modules():
    async with APIServer(modules=[Bus()], module_options={"bus_password": "guess"}) as server:
        await server.client.create(topic("guess"))
        await server.settled()
        stored = await server.client.get(TOPICS, "a", "default")
    assert stored["status"]["fieldErrors"] == []


async def test_given_modules_are_built_after_those_they_need_whatever_their_order():
    seen: list[str] = []
    options = Options(modules=["default", Stop(seen), Bus()], offline=True)
    assert options.module_names == ("provisioning", "world", "bus", "stop")
    async with APIServer(options) as server:
        assert (await server.client.list(TOPICS)).items == []
    assert "broker" in seen


@pytest.mark.kube_options(modules=[Bus()])
def test_the_fixture_serves_a_given_module(kube_client: BlockingClient):
    created = kube_client.create(topic("guess"))
    assert list(created["secure"]["password"]) == ["name"]


class Bare:
    groups = ()


class Named(Bus):
    name = "world"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([Bus], r"Bus is a class; give an object: Bus\(\)"),
        ([Bare()], "the module 'bare' .Bare. has no needs, options, build"),
        ([5], "has no groups, needs, options, build"),
        ([Bus(), Bus()], "the name 'bus' is taken"),
        ([Named()], "the name 'world' is taken"),
        ([Stop([])], "there is no module 'bus'"),
    ],
)
def test_other_objects_are_refused_with_the_reason(given: Any, told: str) -> None:
    with pytest.raises(BadOption, match=told) as raised:
        Options(modules=given)
    assert raised.value.name == "modules"
