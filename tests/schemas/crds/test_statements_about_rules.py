"""Every row about ValidationRule in docs/documents.md matches the behavior of the server.

Each case is a schema of the spec with rules, and the specs that are sent: the first one is created,
the others change it. A definition that is refused is the response.
"""

import json
from typing import Any

import aiohttp
import boats
import pytest
import statements

from inkube import APIServer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALL = "/apis/rules.example/v1/namespaces/default/ships"
TEXT = {"type": "string", "maxLength": 20}
NUMBER = {"type": "integer"}
SET = {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "set", "items": TEXT}
LIST = {"type": "array", "maxItems": 9, "items": NUMBER}
MAP = {"type": "object", "maxProperties": 9, "additionalProperties": NUMBER}
KEYED = {
    "type": "array",
    "maxItems": 9,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": TEXT, "n": NUMBER},
    },
}


def ruled(rule: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the schema with one rule."""
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def spec(rule: str = "", *, more: dict[str, Any] | None = None, **properties: Any) -> Any:
    """Return the schema of a spec with properties, and a rule for the whole."""
    schema = {"type": "object", "properties": properties}
    return ruled(rule, schema, **(more or {})) if rule else schema


class Root(dict[str, Any]):
    """The schema of the whole object, instead of the spec. Then whole objects are sent."""


def root(rule: str, **more: Any) -> Root:
    """Return a whole schema with a rule."""
    numbers = {"type": "object", "properties": {"n": NUMBER}}
    schema = {"type": "object", "properties": {"spec": numbers, "status": numbers}}
    return Root(ruled(rule, schema, **more))


SMALL = "self.n < 5"
RESERVED = (
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
    "if", "import", "let", "loop", "package", "namespace", "return",
)  # fmt: skip
PARTS = {"type": "object", "properties": {"priority": NUMBER}}
CASES: dict[str, tuple[Any, list[Any]]] = {
    "J1": (spec(n=ruled("self < 5", NUMBER)), [{"n": 7}]),
    "J2": (spec("has(self.n) && self.n < 5", n=NUMBER), [{}]),
    "J3": (
        spec("!has(self.n)", n={**NUMBER, "nullable": True}),
        [{"n": None}],
    ),
    "J4": (spec(m=ruled("'a' in self && self['a'] < 5", MAP)), [{"m": {"b": 1}}]),
    "J5": (spec(m=ruled("self.all(k, self[k] < 5)", MAP)), [{"m": {"b": 7}}]),
    "J6": (spec(l=ruled("self[0] < 5 && self.exists(x, x == 2)", LIST)), [{"l": [1, 3]}]),
    "J7": (spec(t=ruled("self.startsWith('kube')", TEXT)), [{"t": "cube"}]),
    "J8": (
        spec(e={
            "type": "object", "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('a')"}],
        }),
        [{"e": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}}],
    ),
    "J9": (
        spec(e={
            "type": "object", "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-validations": [{"rule": "self.metadata.labels['a'] == 'b'"}],
        }),
        [],
    ),
    "J10": (
        spec("self.u.a == 1", u={"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        [],
    ),
    "J11": (
        spec("self.redact__d == 1 && self.x__dash__prop == 1 && self.__namespace__ == 1",
             **{"redact__d": NUMBER, "x-prop": NUMBER, "namespace": NUMBER}),
        [],
    ),
    "J12": (
        spec("self.redact__underscores__d == 1 && self.x__dash__prop == 1 && "
             "self.a__dot__b == 1 && self.a__slash__b == 1 && self.__namespace__ == 1",
             **{"redact__d": NUMBER, "x-prop": NUMBER, "a.b": NUMBER, "a/b": NUMBER,
                "namespace": NUMBER}),
        [{"redact__d": 1, "x-prop": 1, "a.b": 1, "a/b": 1, "namespace": 1}],
    ),
    "J13": (spec(s=ruled("self == ['a', 'b']", SET)), [{"s": ["b", "a"]}]),
    "J14": (spec(s=ruled("self + ['c'] == ['a', 'b', 'c']", SET)), [{"s": ["a", "b", "c"]}]),
    "J15": (spec(k=ruled("size(self + self) == size(self)", KEYED)), [{"k": [{"name": "a"}]}]),
    "J16": (spec(k=ruled("self == oldSelf", KEYED)),
            [{"k": [{"name": "a"}, {"name": "b"}]}, {"k": [{"name": "b"}, {"name": "a"}]}]),
    "J17": (spec(n=ruled("self >= oldSelf", NUMBER, message="never less")),
            [{"n": 5}, {"n": 4}]),
    "J18": (spec(n=ruled("self >= oldSelf", NUMBER)), [{}, {"n": 4}]),
    "J19": (
        spec(l={"type": "array", "maxItems": 9, "items": ruled("self >= oldSelf", NUMBER)}),
        [],
    ),
    "J20": (spec(n=ruled("self >= oldSelf.orValue(3)", NUMBER, optionalOldSelf=True)), [{"n": 2}]),
    "J21": (spec(n=ruled("self <\n5", NUMBER)), []),
    "J22": (spec(n=ruled("self < 5", NUMBER, message="a\nb")), []),
    "J23": (spec(n=ruled("self < 5", NUMBER)), [{"n": 7}]),
    "J24": (spec(SMALL, n=NUMBER, more={"messageExpression": "self.n"}), []),
    "J25": (
        spec("self.n < self.max", n=NUMBER, max=NUMBER,
             more={"message": "too large",
                   "messageExpression": '"n must be less than max ("+string(self.max)+")"'}),
        [{"n": 7, "max": 5}],
    ),
    "J26": (spec(SMALL, n=NUMBER, more={"message": "plain", "messageExpression": "' '"}),
            [{"n": 7}]),
    "J27": (spec(SMALL, n=NUMBER, more={"message": "plain", "messageExpression": "'a\\nb'"}),
            [{"n": 7}]),
    "J28": (spec(SMALL, n=NUMBER, more={
        "message": "plain", "messageExpression": "'was %d'.format([oldSelf.n])"}), [{"n": 7}]),
    "J29": (spec(SMALL, n=NUMBER, more={"reason": "FieldValueDuplicate"}), [{"n": 7}]),
    "J30": (spec(SMALL, n=NUMBER, more={"reason": "FieldValueOdd"}), []),
    "J31": (spec("!('foo' in self.testMap)", testMap=MAP, more={"fieldPath": ".testMap.foo"}),
            [{"testMap": {"foo": 1}}]),
    "J32": (spec("size(self.testList) < 2", testList=LIST, more={"fieldPath": ".testList"}),
            [{"testList": [1, 2]}]),
    "J33": (spec("size(self.testList) < 2", testList=LIST, more={"fieldPath": ".testList[0]"}), []),
    "J34": (
        spec("size(self.testList) < 2", testList=LIST, more={"fieldPath": ".testList['foo.34$']"}),
        [],
    ),
    "J35": (
        spec("!('foo.34$' in self.testMap)", testMap=MAP,
             more={"fieldPath": ".testMap['foo.34$']"}),
        [{"testMap": {"foo.34$": 1}}],
    ),
    "J36": (spec(SMALL, n=NUMBER, more={"fieldPath": ".nope"}), []),
    "J37": (spec("self.l.all(x, self.l.all(y, x != y || x == y))",
                 l={"type": "array", "items": {"type": "string"}}), []),
    "J38": (spec("self.n / self.n == 1", n=NUMBER), [{"n": 0}]),
    "J39": (spec(SMALL, n=NUMBER), [{"n": "x"}]),
    "J40": (
        spec("self.n < self.max", n=NUMBER, max=NUMBER, more={
            "messageExpression": "'n must be less than max (%d)'.format([self.max])"}),
        [{"n": 7, "max": 5}],
    ),
    "J41": (spec(SMALL, n=NUMBER), [{"n": 7}]),
    "J42": (spec(SMALL, n=NUMBER, more={"reason": "FieldValueForbidden"}), [{"n": 7}]),
    "J43": (spec(SMALL, n=NUMBER, more={
        "message": "plain", "messageExpression": "'n is %d'.format([self.n])"}), [{"n": 7}]),
    "J44": (spec("self.n >= oldSelf.n", n=NUMBER, more={
        "messageExpression": "'%d was %d'.format([self.n, oldSelf.n])"}), [{"n": 5}, {"n": 4}]),
    "J45": (spec(SMALL, n=NUMBER, more={"optionalOldSelf": True}), []),
    "J46": (root("self.status.n <= self.spec.n"), [{"spec": {"n": 1}, "status": {"n": 2}}]),
    "J47": (
        spec("self.parts['Widget'].priority < 10",
             parts={"type": "object", "maxProperties": 9, "additionalProperties": PARTS}),
        [{"parts": {"Widget": {"priority": 10}}}],
    ),
    "J48": (spec("self.l.all(x, x >= 0 && x < 100)", l=LIST), [{"l": [5, 100]}]),
    "J49": (
        root("self.apiVersion == 'rules.example/v1' && self.kind == 'Ship' && "
             "self.metadata.name == 'a' && !has(self.metadata.generateName)"),
        [{}],
    ),
    "J50": (
        spec("self.u[0] == 1", u={
            "type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}),
        [],
    ),
    "J51": (
        spec("self.u.a == 1", u={
            "type": "object",
            "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}}),
        [],
    ),
    "J52": (spec("self.a__space__b == 1", **{"a b": NUMBER}), []),
    "J53": (
        spec(" && ".join(f"self.__{word}__ == 1" for word in RESERVED),
             **dict.fromkeys(RESERVED, NUMBER)),
        [dict.fromkeys(RESERVED, 1)],
    ),
    "J54": (spec(s=ruled("(self + ['x', 'a'])[0] == 'b'", SET)), [{"s": ["b", "a"]}]),
    "J55": (
        spec(k=ruled("(oldSelf + self)[0].n == 9 && size(oldSelf + self) == 2", KEYED)),
        [{"k": [{"name": "a", "n": 1}, {"name": "b"}]}, {"k": [{"name": "a", "n": 9}]}],
    ),
    "J56": (
        spec(n=ruled("!oldSelf.hasValue() || self > oldSelf.value()", NUMBER,
                     optionalOldSelf=True)),
        [{"n": 5}, {"n": 5}],
    ),
    "J57": (
        spec(k={**KEYED, "items": ruled("self.n >= oldSelf.n", {**KEYED["items"]})}),
        [{"k": [{"name": "a", "n": 5}]}, {"k": [{"name": "b", "n": 1}, {"name": "a", "n": 5}]},
         {"k": [{"name": "b", "n": 1}, {"name": "a", "n": 4}]}],
    ),
    "J58": (spec(l={**LIST, "items": ruled("self < 5", NUMBER)}), [{"l": [1, 7]}]),
    "J59": (spec("self.in1.n < 5", in1={"type": "object", "properties": {"n": NUMBER}},
                 more={"fieldPath": ".in1.n"}), [{"in1": {"n": 7}}]),
    "J60": (spec("has(self.n)", n=NUMBER, m=NUMBER,
                 more={"reason": "FieldValueRequired", "fieldPath": ".n"}), [{"m": 1}]),
    "J61": (spec("self.n < 5 && nothing", n=NUMBER), []),
    "J62": (spec("self.n + 1", n=NUMBER), []),
    "J63": (spec(" ", n=NUMBER), []),
    "J64": (
        spec(m=ruled("self == oldSelf", {"type": "object", "maxProperties": 9,
                                         "additionalProperties": SET})),
        [{"m": {"a": ["x", "y"]}}, {"m": {"a": ["y", "x"]}}],
    ),
}  # fmt: skip


def definition(schema: Any) -> dict[str, Any]:
    """Return a CRD of ships with the schema of their spec."""
    whole = isinstance(schema, Root)
    top = schema if whole else {"type": "object", "properties": {"spec": schema}}
    return boats.definition(top, "Ship", group="rules.example")


async def responses(server: APIServer, schema: Any, specs: list[Any]) -> tuple[list[int], str]:
    """Return the codes and the text of the responses."""
    codes, text = [], ""
    ship = {"apiVersion": "rules.example/v1", "kind": "Ship", "metadata": {"name": "a"}}
    async with aiohttp.ClientSession(server.url) as http:
        async with http.post(CRDS, json=definition(schema)) as answer:
            if answer.status != 201 or not specs:
                return [answer.status], await answer.text()
        await server.settled()
        for number, sent in enumerate(specs):
            sent = sent if isinstance(schema, Root) else {"spec": sent}
            body = json.dumps({**ship, **sent})
            headers = {
                "Content-Type": "application/merge-patch+json" if number else "application/json"
            }
            call = (
                http.patch(f"{ALL}/a", data=body, headers=headers)
                if number
                else http.post(ALL, data=body, headers=headers)
            )
            async with call as answer:
                codes.append(answer.status)
                text += await answer.text()
    return codes, text


ROWS = statements.rows("Custom resources: ValidationRule", "J", (";",))


def test_every_statement_has_a_row_and_every_row_is_tested():
    assert sorted(ROWS) == sorted(CASES)


@pytest.fixture
async def server():
    async with APIServer(controllers=False) as made:
        yield made


@pytest.mark.parametrize("name", CASES)
async def test_the_server_answers_as_the_row_requires(server, name):
    codes, texts = ROWS[name]
    found, text = await responses(server, *CASES[name])
    text = text.replace('\\"', '"').replace("\\\\", "\\")
    assert list(dict.fromkeys(found)) == codes, text
    for each in texts:
        assert each in text, text
