"""Features of kinds declared in Python that custom resources do not have."""

import aiohttp
import pytest

from inkube import APIServer
from inkube.controllers.endpoints import Endpoint, Reply, Subresource
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource, Status

ALL = "/apis/lamps.example/v1/namespaces/default/lamps"
ZERO = {"lit": False, "socket": None, "told": {}}


class LampSpec(Model):
    color: str = ""


class Socket(Model):
    volts: int


class LampStatus(Status):
    lit: bool = False
    socket: Socket | None = None
    told: dict[str, str] | None = None


class Lamp(
    Resource, group="lamps.example", version="v1", also_served=["v1beta1"], zero_status=ZERO
):
    spec: LampSpec
    status: LampStatus = LampStatus()


async def echo(question, env):
    return Reply({"path": list(question.rest), "got": question.document()}, code=202)


async def picture(question, env):
    return Reply(b"<svg/>", media="image/svg+xml")


async def count(question, env):
    found = (await env.client.list(Lamp.gvr)).items
    here = [lamp for lamp in found if lamp["metadata"]["namespace"] == question.namespace]
    return Reply({"apiVersion": question.api_version, "kind": "LampCount", "count": len(here)})


LAMPS = KindModule(
    Lamp,
    create_on_update=True,
    unconditional_update=True,
    make_name=lambda obj: f"{obj['spec']['color']}-",
    subresources=[
        Subresource("echo", echo, kind="Echo", verbs=("create",)),
        Subresource("picture", picture, kind="Picture"),
    ],
    endpoints=[Endpoint("count", count)],
)


@pytest.fixture
async def ask():
    """`await ask(method, path, body)`: returns code and body from a server with lamps."""
    async with (
        APIServer(kinds=[LAMPS]) as server,
        aiohttp.ClientSession() as http,
    ):

        async def request(method, path, body=None, *, headers=None):
            options = {"json": body} if headers is None else {"data": body, "headers": headers}
            async with http.request(method, server.url + path, **options) as answer:
                is_json = "json" in answer.content_type
                return answer.status, await (answer.json() if is_json else answer.text())

        yield request


def lamp(name="a", color="red", **metadata):
    named = {"name": name} if name else {}
    return {"metadata": {**named, **metadata}, "spec": {"color": color}}


async def test_a_zero_status_stands_in_every_answer(ask):
    for query in ("?dryRun=All", ""):
        code, made = await ask("POST", ALL + query, lamp())
        assert (code, made["status"]) == (201, ZERO)
    assert (await ask("GET", f"{ALL}/a"))[1]["status"] == ZERO
    assert (await ask("GET", ALL))[1]["items"][0]["status"] == ZERO


async def test_members_that_a_status_write_leaves_out_are_zero(ask):
    await ask("POST", ALL, lamp())
    made = (await ask("GET", f"{ALL}/a"))[1]
    code, put = await ask("PUT", f"{ALL}/a/status", {**made, "status": {"lit": True}})
    assert (code, put["status"]) == (200, {"lit": True, "told": {}})  # no null defaults
    assert put["metadata"]["generation"] == 1


async def test_bodies_may_omit_version_and_kind(ask):
    code, made = await ask("POST", ALL, lamp())
    assert (code, made["apiVersion"], made["kind"]) == (201, "lamps.example/v1", "Lamp")
    assert (await ask("PUT", f"{ALL}/a", lamp(color="blue")))[0] == 200


@pytest.mark.parametrize(
    ("head", "code"),
    [({"apiVersion": "other.example/v1"}, 400), ({"kind": "Torch"}, 422)],
    ids=["version", "kind"],
)
async def test_another_version_or_kind_in_a_body_is_refused(ask, head, code):
    assert (await ask("POST", ALL, {**lamp(), **head}))[0] == code


async def test_put_of_an_unknown_name_creates_it(ask):
    code, made = await ask("PUT", f"{ALL}/a", lamp())
    assert (code, made["metadata"]["generation"], made["status"]) == (201, 1, ZERO)
    assert (await ask("PUT", f"{ALL}/b?dryRun=All", lamp("b")))[0] == 201
    assert (await ask("GET", f"{ALL}/b"))[0] == 404
    assert (await ask("PUT", f"{ALL}/b/status", lamp("b")))[0] == 404


async def test_the_last_put_wins_and_a_stale_one_conflicts(ask):
    first = (await ask("POST", ALL, lamp()))[1]["metadata"]["resourceVersion"]
    assert (await ask("PUT", f"{ALL}/a", lamp(color="blue")))[0] == 200
    assert (await ask("PUT", f"{ALL}/a", lamp(color="x", resourceVersion=first)))[0] == 409
    code, refused = await ask("PUT", f"{ALL}/a/status", {**lamp(), "status": {"lit": True}})
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


async def test_the_server_names_what_has_no_name(ask):
    code, dry = await ask("POST", f"{ALL}?dryRun=true", lamp(""))
    assert (code, dry["metadata"]["name"].startswith("red-")) == (201, True)
    made = (await ask("POST", ALL, lamp("")))[1]["metadata"]
    assert made["name"].startswith("red-")
    assert "generateName" not in made
    other = (await ask("POST", ALL, lamp("", generateName="l")))[1]["metadata"]
    assert (other["name"][0], other["generateName"]) == ("l", "l")


async def test_causes_have_a_type_beside_the_reason(ask):
    code, refused = await ask("POST", ALL, {"metadata": {"name": "a"}, "spec": {"color": 1}})
    assert code == 422
    assert refused["details"]["causes"][0]["type"] == "FieldValueTypeInvalid"
    assert refused["details"]["causes"][0]["reason"] == "FieldValueTypeInvalid"


async def test_subresources_need_not_be_objects(ask):
    code, told = await ask("POST", f"{ALL}/a/echo/x/y", {"z": 1})
    assert (code, told) == (202, {"path": ["x", "y"], "got": {"z": 1}})
    yaml = {"Content-Type": "application/yaml"}
    assert (await ask("POST", f"{ALL}/a/echo", "z: 1", headers=yaml))[1]["got"] == {"z": 1}
    assert (await ask("POST", f"{ALL}/a/echo", "{", headers=yaml))[0] == 400
    assert await ask("GET", f"{ALL}/a/picture") == (200, "<svg/>")
    code, refused = await ask("GET", f"{ALL}/a/echo")
    assert (code, refused["reason"]) == (405, "MethodNotAllowed")
    listed = (await ask("GET", "/apis/lamps.example/v1"))[1]["resources"]
    assert {each["name"]: each["verbs"] for each in listed if "/" in each["name"]} == {
        "lamps/status": ["get", "patch", "update"],
        "lamps/echo": ["create"],
        "lamps/picture": ["get"],
    }


async def test_a_selector_by_an_unknown_field_is_refused(ask):
    code, refused = await ask("GET", f"{ALL}?fieldSelector=spec.color%3Dred")
    assert (code, refused["message"]) == (400, "field label not supported: spec.color")


async def test_endpoints_of_a_namespace_are_no_resources(ask):
    await ask("POST", ALL, lamp())
    for version in ("v1", "v1beta1"):
        base = f"/apis/lamps.example/{version}/namespaces/default/count"
        code, told = await ask("GET", base)
        assert (code, told["count"], told["apiVersion"]) == (200, 1, f"lamps.example/{version}")
        assert (await ask("GET", f"{base}/x"))[0] == 404
        assert (await ask("POST", base, {}))[0] == 405
    assert (await ask("GET", "/apis/lamps.example/v1/count"))[0] == 404
    listed = (await ask("GET", "/apis/lamps.example/v1"))[1]["resources"]
    assert not [each for each in listed if each["name"].startswith("count")]


async def test_objects_are_stamped_with_the_version_of_the_request(ask):
    await ask("POST", ALL.replace("v1", "v1beta1"), lamp())
    for version in ("v1", "v1beta1"):
        path = ALL.replace("v1", version)
        assert (await ask("GET", f"{path}/a"))[1]["apiVersion"] == f"lamps.example/{version}"
        [item] = (await ask("GET", path))[1]["items"]
        assert (item["apiVersion"], item["status"]) == (f"lamps.example/{version}", ZERO)
    group = (await ask("GET", "/apis/lamps.example"))[1]
    assert group["preferredVersion"]["version"] == "v1"
