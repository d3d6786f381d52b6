"""A kind with secret values needs nothing but a model: the server stores them, checks read them."""

import logging

import pytest

from inkube import APIServer
from inkube.controllers.kinds import KindModule
from inkube.controllers.secure import SecureValue
from inkube.kinds import Duplicate, Invalid, Model, NotFound, Resource, check
from inkube.schemas.status import StatusError

SECRET = "hunter2-Swordfish"


class Spec(Model):
    topic: str = "news"


class Secure(Model):
    token: SecureValue | None = None


class Bus(Resource, group="example.com", version="v1", plural="buses"):
    spec: Spec = Spec()
    secure: Secure = Secure()


@check(Bus, field="secure.token")
async def token_accepted(bus, secrets):
    token = await secrets.read("token")
    if token is None:
        yield NotFound("no token; set one")
    elif token == "broken-token":
        raise ValueError(f"https://user:{token}@bus")
    elif token != SECRET:
        yield Invalid(f"the token {token} is refused", value=token)


def bus(secure=None, **spec):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Bus",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": spec,
        "secure": secure or {},
    }


def token(value):
    return {"token": {"create": value}}


async def stored(server):
    await server.settled()
    return await server.client.get("example.com/v1/buses", "a", "ns")


def told(obj):
    return [(error["type"], error["detail"]) for error in obj["status"]["fieldErrors"]]


@pytest.fixture
async def server(running):
    async with running(KindModule(Bus, checks=[token_accepted])) as made:
        yield made


async def test_checks_read_the_value_in_both_phases(server):
    await server.client.create(bus(token(SECRET)), dry_run=True)
    created = await server.client.create(bus(token(SECRET)))
    assert set(created["secure"]["token"]) == {"name"}
    assert told(await stored(server)) == []
    with pytest.raises(StatusError, match="no token; set one"):
        await server.client.create(bus(), dry_run=True)


async def test_a_value_is_in_no_finding_and_no_log(server, caplog):
    caplog.set_level(logging.DEBUG)
    for value in ("other-token", "broken-token"):
        with pytest.raises(StatusError) as refused:
            await server.client.create(bus(token(value)), dry_run=True)
        assert value not in f"{refused.value} {refused.value.details}"
    await server.client.create(bus(token("other-token")))
    assert told(await stored(server)) == [("FieldValueInvalid", "the token [REDACTED] is refused")]
    await server.client.patch(
        "example.com/v1/buses", "a", "ns", patch={"secure": token("broken-token")}
    )
    assert "broke, see the server's log" in told(await stored(server))[0][1]
    events = (await server.client.list("v1/events")).items
    lines = [record.getMessage() + str(record.exc_info) for record in caplog.records]
    assert any("the check token_accepted broke on a" in line for line in lines)
    for text in ("other-token", "broken-token"):
        assert text not in str(events)
        assert not [line for line in lines if text in line]


async def test_a_change_of_a_core_secret_is_looked_at_at_once(server):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mine", "namespace": "ns"},
        "stringData": {"token": "other"},
    }
    await server.client.create(bus({"token": {"name": "mine"}}))
    assert told(await stored(server)) == [("FieldValueNotFound", "no token; set one")]
    await server.client.create(secret)
    assert [kind for kind, _ in told(await stored(server))] == ["FieldValueInvalid"]
    await server.client.patch("v1/secrets", "mine", "ns", patch={"stringData": {"token": SECRET}})
    assert told(await stored(server)) == []
    await server.client.delete("v1/secrets", "mine", "ns")
    assert told(await stored(server)) == [("FieldValueNotFound", "no token; set one")]


async def test_a_missing_service_is_an_error_of_the_start():
    @check(Bus, field="spec.topic")
    async def topic_exists(bus, broker):
        yield Duplicate(f"the broker {broker} has this topic")

    with pytest.raises(TypeError, match=r"need services .*: broker \(topic_exists\); pass them as"):
        async with APIServer(kinds=[KindModule(Bus, checks=[topic_exists])]):
            pass
    async with APIServer(kinds=[KindModule(Bus, checks=[topic_exists])], services={"broker": "b"}):
        pass


class Plain(Resource, group="example.com", version="v1"):
    spec: Spec = Spec()


async def test_a_kind_without_secrets_cannot_read_them(running, caplog):
    @check(Plain, field="spec.topic")
    async def reads(plain, secrets):
        await secrets.read("token")
        yield Invalid("never reached")

    obj = {**bus(), "kind": "Plain"}
    del obj["secure"]
    async with running(KindModule(Plain, checks=[reads])) as server:
        with pytest.raises(StatusError, match="the check reads broke"):
            await server.client.create(obj, dry_run=True)
    assert "its model has no member `secure`" in caplog.text
