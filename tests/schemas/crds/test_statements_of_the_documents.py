"""Every row about custom resources in docs/documents.md matches the behavior of the server."""

import json

import aiohttp
import boats
import pytest
import statements

from inkube import APIServer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALL = "/apis/documents.example/v1/namespaces/default/ships"
MERGE = {"Content-Type": "application/merge-patch+json"}
FEWER = "fewer replicas than the least"
RULE = {"rule": "self.replicas >= self.least"}


def definition(*rules, color_rules=()):
    """Return a CRD of ships with the rules."""
    numbers = {"replicas": {"type": "integer"}, "least": {"type": "integer"}}
    color = {"type": "string", "default": "white", "maxLength": 20}
    if color_rules:
        color["x-kubernetes-validations"] = list(color_rules)
    spec = {"type": "object", "properties": {**numbers, "color": color}}
    if rules:
        spec["x-kubernetes-validations"] = list(rules)
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return boats.definition(schema, "Ship", group="documents.example", subresources={"status": {}})


def ship(name="a", **spec):
    return {
        "apiVersion": "documents.example/v1",
        "kind": "Ship",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "least": 2, **spec},
    }


class Requests:
    """The responses so far: their codes and texts."""

    def __init__(self, server, http):
        self._server = server
        self._http = http
        self.codes = []
        self.text = ""

    async def __call__(self, method, path, body=None, *, quiet=False, **headers):
        url = self._server.url + path
        async with self._http.request(method, url, json=body, headers=headers) as answer:
            text = await answer.text()
            if not quiet:
                self.codes.append(answer.status)
                told = text + str(answer.headers.getall("Warning", []))
                self.text += told.replace("\\", "")
            return json.loads(text)

    async def declare(self, *rules, **more):
        made = await self("POST", CRDS, definition(*rules, **more), quiet=True)
        assert made["kind"] == "CustomResourceDefinition", made["message"]
        await self._server.settled()

    async def change(self, body, path=f"{ALL}/a"):
        return await self("PATCH", path, body, **MERGE)


async def h1(ask):
    await ask.declare(RULE)
    await ask("POST", ALL, ship())


async def h2(ask):
    await ask.declare({**RULE, "message": FEWER})
    await ask("POST", ALL, ship())


async def h3(ask):
    text = "'%d replicas are fewer than %d'.format([self.replicas, self.least])"
    await ask.declare({**RULE, "messageExpression": text})
    await ask("POST", ALL, ship())


async def h4(ask):
    text = "string(1 / (self.replicas - 1))"
    await ask.declare({**RULE, "message": FEWER, "messageExpression": text})
    await ask("POST", ALL, ship())


async def h5(ask):
    await ask.declare({**RULE, "reason": "FieldValueForbidden"})
    await ask("POST", ALL, ship())


async def h6(ask):
    await ask.declare({**RULE, "fieldPath": ".replicas"})
    refused = await ask("POST", ALL, ship())
    assert refused["details"]["causes"][0]["field"] == "spec.replicas"


async def h7(ask):
    await ask("POST", CRDS, definition({"rule": "self.replica > 0"}))


async def h8(ask):
    found = definition()
    spec = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["names"] = {"type": "array", "items": {"type": "string"}}
    rule = "self.names.all(x, self.names.all(y, x == y))"
    spec["x-kubernetes-validations"] = [{"rule": rule}]
    await ask("POST", CRDS, found)


async def h9(ask):
    await ask.declare(color_rules=[{"rule": "self == oldSelf", "message": "the color stays"}])
    await ask("POST", ALL, ship(color="red"))
    await ask.change({"spec": {"color": "blue"}})


async def h10(ask):
    rule = "oldSelf.hasValue() || self != 'red'"
    message = "red only later"
    rules = [{"rule": rule, "message": message, "optionalOldSelf": True}]
    await ask.declare(color_rules=rules)
    await ask("POST", ALL, ship(color="red"))


async def h11(ask):
    await ask.declare()
    await ask("POST", ALL, ship())
    stored = await ask("GET", f"{CRDS}/ships.documents.example", quiet=True)
    await ask("PUT", f"{CRDS}/ships.documents.example", {**stored, **spec_of(RULE)}, quiet=True)
    await ask._server.settled()
    await ask.change({"metadata": {"labels": {"a": "b"}}})


def spec_of(*rules):
    return {"spec": definition(*rules)["spec"]}


async def h12(ask):
    await ask.declare()
    made = await ask("POST", ALL, ship(other=1))
    assert "other" not in made["spec"]


async def h13(ask):
    await ask.declare()
    await ask("POST", f"{ALL}?fieldValidation=Strict", ship(other=1))


async def h14(ask):
    await ask.declare()
    await ask("POST", ALL, ship())
    made = await ask("POST", ALL, ship("b", color=None))
    assert made["spec"]["color"] == "white"


async def h15(ask):
    await ask.declare()
    made = await ask("POST", ALL, {**ship(), "status": {"phase": "at sea"}})
    assert "status" not in made
    body = {"spec": {"replicas": 9}, "status": {"phase": "at sea"}}
    found = await ask.change(body, f"{ALL}/a/status")
    assert (found["spec"]["replicas"], found["status"]) == (1, {"phase": "at sea"})


async def h16(ask):
    await ask.declare()
    await ask("POST", ALL, ship())
    for body, path, generation in (
        ({"metadata": {"labels": {"a": "b"}}}, ALL, 1),
        ({"status": {"phase": "x"}}, f"{ALL}/a/status", 1),
        ({"spec": {"replicas": 5}}, ALL, 2),
    ):
        found = await ask.change(body, path if path != ALL else f"{ALL}/a")
        assert found["metadata"]["generation"] == generation


async def h17(ask):
    await ask.declare()
    held = ship()
    held["metadata"]["finalizers"] = ["documents.example/stays"]
    await ask("POST", ALL, held, quiet=True)
    await ask("DELETE", f"{CRDS}/ships.documents.example", quiet=True)
    await ask._server.settled()
    await ask("POST", ALL, ship("b"))
    apply = {"Content-Type": "application/apply-patch+yaml"}
    await ask("PATCH", f"{ALL}/b?fieldManager=m", ship("b"), **apply)


ROWS = statements.rows("Custom resources: schemas and CEL rules", "H", (";",))
STATEMENTS = statements.functions(globals())


def test_every_statement_has_a_row_and_every_row_is_tested():
    assert sorted(ROWS) == sorted(STATEMENTS)


@pytest.mark.parametrize("name", STATEMENTS)
async def test_the_server_answers_as_the_row_requires(name):
    codes, texts = ROWS[name]
    async with APIServer() as server, aiohttp.ClientSession() as http:
        ask = Requests(server, http)
        await STATEMENTS[name](ask)
    assert list(dict.fromkeys(ask.codes)) == codes, ask.text
    for text in texts:
        assert text in ask.text, ask.text
