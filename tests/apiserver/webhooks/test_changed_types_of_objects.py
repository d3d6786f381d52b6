"""What a mutating webhook may make of the apiVersion and kind of an object.

The law: a patch of one member and a patch that replaces the whole object are the same, and so are
a new object and a changed one. A custom resource may come in another version of its kind; without
a kind or in another group it is refused.
"""

import base64
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from aiohttp import web
from endpoints import BUNDLE, configuration, serving

from inkube import APIServer

MERGE = "application/merge-patch+json"
NO_KIND = "Internal error occurred: Object 'Kind' is missing in '{"
NOT_SUITABLE = 'is unstructured and is not suitable for converting to "example.com/v1"'
UNREADABLE = "Internal error occurred: couldn't get version/kind; json parse error: json: cannot"
SLASHES = "Internal error occurred: unexpected GroupVersion string: a/b/c"
UNKNOWN = 'Internal error occurred: no kind "ConfigMap" is registered for version'
ANSWERS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "configmaps": [
        ({}, ""), ({"kind": ""}, ""), ({"kind": 3}, UNREADABLE), ({"apiVersion": 3}, UNREADABLE),
        ({"apiVersion": "a/b/c"}, SLASHES), ({"apiVersion": "v2"}, UNKNOWN),
        ({"apiVersion": "apps/v1"}, UNKNOWN),
    ],
    "boats": [
        ({}, ""), ({"kind": ""}, NO_KIND), ({"kind": 3}, UNREADABLE),
        ({"apiVersion": 3}, UNREADABLE), ({"apiVersion": "a/b/c"}, SLASHES),
        ({"apiVersion": "v2"}, f"/v2, Kind=Boat {NOT_SUITABLE}"),
        ({"apiVersion": ""}, f"/, Kind=Boat {NOT_SUITABLE}"),
        ({"apiVersion": "example.com/v9"},
         "request to convert CR from an invalid group/version: example.com/v9"),
        ({"apiVersion": "example.com/v2"}, ""),
    ],
}  # fmt: skip
"""Members that a webhook changes, and the beginning of the message of the 500 ("" for success)."""
WHOLE = [
    (None, "Internal error occurred: replace operation value must be object or array: %!w(<nil>)"),
    ("x", "Internal error occurred: replace operation value must be object or array: %!w(<nil>)"),
]


def in_members(members):
    """Return a function: object → the operations that set each of its members."""
    return lambda obj: [
        {"op": "add", "path": f"/{name}", "value": value} for name, value in members.items()
    ]


def as_whole(make):
    """Return a function: object → the operation that replaces it."""
    return lambda obj: [{"op": "replace", "path": "", "value": make(obj)}]


def instead(whole, _obj):
    """Return what replaces an object."""
    return whole


class Changer:
    """A webhook that answers with the operations that `make` returns for an object."""

    def __init__(self):
        self.make = in_members({})

    async def __call__(self, request):
        review = await request.json()
        asked = review["request"]
        patch = base64.b64encode(json.dumps(self.make(asked["object"])).encode()).decode()
        response = {
            "uid": asked["uid"], "allowed": True, "patch": patch, "patchType": "JSONPatch",
        }  # fmt: skip
        return web.json_response({**review, "response": response})


@asynccontextmanager
async def changed_by(changer, boat_crd):
    rule = {"apiGroups": ["", "example.com"], "apiVersions": ["v1"],
            "resources": list(ANSWERS), "operations": ["CREATE", "UPDATE"]}  # fmt: skip
    async with serving(changer) as url, APIServer() as server:
        [first] = boat_crd["spec"]["versions"]
        second = {**first, "name": "v2", "storage": False}
        spec = {**boat_crd["spec"], "versions": [first, second]}
        await server.client.create({**boat_crd, "spec": spec})
        hook = configuration({"url": url, "caBundle": BUNDLE}, "Mutating", rules=[rule])
        await server.client.create(hook)
        await server.settled()
        yield server


def requests_for(plural):
    """Yield method, path, body and media type of a create and a merge patch."""
    api, kind = ("v1", "ConfigMap") if plural == "configmaps" else ("example.com/v1", "Boat")
    root = "/api" if api == "v1" else "/apis"
    path = f"{root}/{api}/namespaces/default/{plural}"
    yield "POST", path, {"apiVersion": api, "kind": kind, "metadata": {"name": "new"}}, None
    yield "PATCH", f"{path}/old", {"metadata": {"labels": {"a": "b"}}}, MERGE


async def asked(client, request):
    method, path, body, media = request
    headers = {"Content-Type": media} if media else {}
    answer = await client.ask(method, f"{path}?dryRun=All", body, **headers)
    return answer.code, answer.json


async def test_a_changed_type_is_the_same_in_a_member_and_in_a_whole_object(boat_crd, web_of):
    changer = Changer()
    async with changed_by(changer, boat_crd) as server, web_of(server) as client:
        for plural, changes in ANSWERS.items():
            made, change = requests_for(plural)
            method, path, body, _ = made
            changer.make = in_members({})
            await client.ask(method, path, {**body, "metadata": {"name": "old"}})
            for request in (made, change):
                for members, text in changes:
                    changer.make = in_members(members)
                    code, found = await asked(client, request)
                    assert code == 500 if text else code < 300, (request, members, found)
                    assert found.get("message", "").startswith(text), (request, members)
                    assert text or found["apiVersion"] == body["apiVersion"]
                    changer.make = as_whole(partial(dict, **members))
                    again, same = await asked(client, request)
                    assert (again, same.get("message")) == (code, found.get("message"))
                for whole, text in WHOLE:
                    changer.make = as_whole(partial(instead, whole))
                    code, found = await asked(client, request)
                    assert (code, found["message"]) == (500, text)
