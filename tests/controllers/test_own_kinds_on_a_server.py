"""User-defined kinds on a real server: checks, admission functions, reconcilers."""

import aiohttp
import pytest

from inkube import APIServer
from inkube.controllers.checks import Duplicate, Invalid, check, mutator, validator
from inkube.controllers.environment import Environment, Service
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Controller, Result
from inkube.schemas.models import Model, Resource, Status


class ProbeSpec(Model):
    url: str
    owner: str = ""


class ProbeStatus(Status):
    seen: int = 0


class Probe(Resource, group="example.com", version="v1"):
    spec: ProbeSpec
    status: ProbeStatus = ProbeStatus()


@check(Probe, field="spec.url")
async def answers(probe, phone_book):
    if probe.spec.url not in phone_book:
        yield Invalid("nobody answers there; see the phone book")


@check(Probe, field="spec.url", after=[answers])
async def is_alone(probe, client):
    for other in (await client.list(Probe.gvr)).items:
        same = other["spec"]["url"] == probe.spec.url
        if same and other["metadata"]["name"] != probe.metadata.name:
            yield Duplicate(f"probe {other['metadata']['name']} calls there already")


@mutator(Probe)
def owner_defaults_to_name(probe, old):
    probe.spec.owner = probe.spec.owner or probe.metadata.name


@validator(Probe, field="spec.owner")
def owner_stays(probe, old):
    if old is not None and old.spec.owner != probe.spec.owner:
        yield Invalid("field is immutable")


async def count(probe, env):
    if probe.status.seen:
        return Result(requeue_after=3600)
    patch = {"status": {"seen": 1}}
    name, namespace = probe.metadata.name, probe.metadata.namespace
    await env.client.patch(Probe.gvr, name, namespace, patch=patch, subresource="status")
    return None


PROBES = KindModule(
    Probe,
    checks=[answers, is_alone],
    mutators=[owner_defaults_to_name],
    validators=[owner_stays],
    reconciler=count,
)


def probe(url, name="a", **spec):
    metadata = {"name": name, "namespace": "default"}
    spec = {"url": url, **spec}
    return {"apiVersion": "example.com/v1", "kind": "Probe", "metadata": metadata, "spec": spec}


async def test_one_check_answers_dry_runs_and_fills_the_status():
    book = {"x"}
    async with (
        APIServer(kinds=[PROBES], services={"phone_book": book}) as server,
        aiohttp.ClientSession() as http,
    ):
        url = f"{server.url}/apis/example.com/v1/namespaces/default/probes"
        async with http.post(f"{url}?dryRun=All", json=probe("y")) as answer:
            assert answer.status == 422
            causes = (await answer.json())["details"]["causes"]
        assert [(cause["reason"], cause["field"]) for cause in causes] == [
            ("FieldValueInvalid", "spec.url")
        ]
        await server.client.create(probe("y"))
        await server.settled()
        stored = await server.client.get(Probe.gvr, "a", "default")
        assert stored["spec"]["owner"] == "a"
        assert stored["status"]["seen"] == 1
        assert [error["origin"] for error in stored["status"]["fieldErrors"]] == ["answers"]


async def test_validators_see_the_old_object():
    async with (
        APIServer(kinds=[PROBES], services={"phone_book": {"x"}}) as server,
        aiohttp.ClientSession() as http,
    ):
        await server.client.create(probe("x"))
        url = f"{server.url}/apis/example.com/v1/namespaces/default/probes/a"
        kind = {"Content-Type": "application/merge-patch+json"}
        async with http.patch(url, data='{"spec": {"owner": "b"}}', headers=kind) as answer:
            body = await answer.json()
        assert answer.status == 422
        assert [cause["field"] for cause in body["details"]["causes"]] == ["spec.owner"]


async def test_a_service_that_nobody_provides_is_reported_at_the_start():
    with pytest.raises(TypeError, match=r"checks of Probe need services .*: phone_book"):
        await APIServer(kinds=[PROBES]).__aenter__()


PHONES: Service[set[str]] = Service("phones")


async def test_a_service_that_the_code_of_a_kind_needs_is_missed_at_the_start():
    quiet = KindModule(Probe, needs=[PHONES])
    with pytest.raises(TypeError, match="services that the server does not have: phones"):
        async with APIServer(kinds=[quiet]):
            raise AssertionError("the server must not start")


async def test_code_of_a_kind_gets_a_service_by_its_typed_key():
    seen: list[set[str]] = []

    def controllers(env: Environment) -> list[Controller]:
        seen.append(env.service(PHONES))
        return []

    module = KindModule(Probe, needs=[PHONES], extra_controllers=controllers)
    async with APIServer(kinds=[module], services={"phones": {"a"}}):
        assert seen == [{"a"}]
    with pytest.raises(LookupError, match="no service named 'phones'"):
        PHONES.of({})
