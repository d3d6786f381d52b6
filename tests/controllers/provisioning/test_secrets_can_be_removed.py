"""`remove: true` removes a secure value by every kind of write; a contradiction is refused."""

import pytest
from worlds import PROVISIONING, connection

PATH = f"/apis/{PROVISIONING}/namespaces/ns/repositories/a"
MERGE, STEPS = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def repository(secure):
    return {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"title": "T", "type": "git", "git": {"url": "https://git.example/o/r"}},
        "secure": secure,
    }


async def write(server, method, body, media="application/json", query=""):
    headers = {"Content-Type": media}
    code, _, answer = await server.request(method, f"{PATH}{query}", json=body, headers=headers)
    return code, answer


async def read_and_marked(server):
    obj = await server.get("repositories")
    obj["secure"]["token"]["remove"] = True
    return await write(server, "PUT", obj)


WAYS = {
    "merge": lambda s: write(s, "PATCH", {"secure": {"token": {"remove": True}}}, MERGE),
    "null": lambda s: write(s, "PATCH", {"secure": {"token": None}}, MERGE),
    "add": lambda s: write(
        s, "PATCH", [{"op": "add", "path": "/secure/token/remove", "value": True}], STEPS
    ),
    "remove": lambda s: write(s, "PATCH", [{"op": "remove", "path": "/secure/token"}], STEPS),
    "apply": lambda s: write(
        s, "PATCH", repository({"token": {"remove": True}}), APPLY, "?fieldManager=me&force=true"
    ),
    "put": lambda s: write(s, "PUT", repository({"token": {"remove": True}})),
    "read and put": read_and_marked,
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_value_is_removed(server, way):
    await server.create(repository({"token": {"create": "good"}, "webhookSecret": {"create": "w"}}))
    code, answer = await WAYS[way](server)
    assert code == 200, answer
    assert set(answer["secure"]) == {"webhookSecret"}
    assert set((await server.get("repositories"))["secure"]) == {"webhookSecret"}


@pytest.mark.parametrize(
    "value",
    [
        {"create": "x", "remove": True},
        {"name": "other", "remove": True},
        {"remove": "true"},
        {"remove": 1},
    ],
)
async def test_a_contradiction_is_refused(server, value):
    created = await server.create(repository({"token": {"create": "good"}}))
    code, answer = await write(server, "PUT", repository({"token": value}))
    assert code == 422
    [cause] = answer["details"]["causes"]
    assert cause["field"].startswith("secure.token")
    assert (await server.get("repositories"))["secure"] == created["secure"]


async def test_a_required_value_cannot_be_removed(server):
    await server.create(connection())
    path = f"/apis/{PROVISIONING}/namespaces/ns/connections/conn"
    patch = {"secure": {"privateKey": {"remove": True}}}
    code, _, answer = await server.request(
        "PATCH", path, json=patch, headers={"Content-Type": MERGE}
    )
    assert code == 422
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["secure.privateKey"]
