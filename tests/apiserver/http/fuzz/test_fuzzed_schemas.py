"""Random schemas and rules: refused, or served without errors.

`INKUBE_FUZZ=20000 pytest …` runs longer; `INKUBE_FUZZ_SEED` repeats a run.
"""

import copy
import os
import random
from typing import Any

import boats
import pytest

ROUNDS = int(os.environ.get("INKUBE_FUZZ", "150"))
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300 + ROUNDS / 10)]
SEED = int(os.environ.get("INKUBE_FUZZ_SEED", "1"))
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

RULES = [
    "true", "self.size() < 3", "has(self.a)", "self.a == oldSelf.a", "self.all(x, x > 1)",
    "self.exists_one(k, k == 'a')", "self.map(x, x + 1).sum() < 9", "string(self) == ''", "self.",
    "quantity(self).isGreaterThan(quantity('1'))", "self.matches('^(a+)+$')", "1/0 == 1", "(",
    "self == null", "dyn(self).b == 1", "[self, self, self].all(a, a == self)",
    "'a'.format([self])",
    "duration(self) < duration('1h')", "self.a.b.c.d", "oldSelf.hasValue()", "cel.bind(x, 1, x)",
    "self.replace('a', 'b', -1) == ''", "sets.contains([1], [self])", "ip(self).family() == 4",
    "url(self).getHost() == ''", "lists.range(9999999).size() > 1", "self.split('')[99] == 'a'",
]  # fmt: skip
PATTERNS = ["^a$", "(", "(a+)+$", "[", "\\d{1,1000}", "(?i)x", "\\pL", "a{1001}", "(?=a)", ""]
NUMBERS = [0, -1, 1, 3, 2**31, 2**63, -0.5, 1e308, 0.1, 5e-324]
VALUES = [None, True, 0, -1, 3, 1.5, 2**63, 1e308, "", "a", "aaaaaaaaaaaa!", "1", "10Mi", "1h",
          "2024-01-01T00:00:00Z", "::1", "http://a", [], [1], ["a", "a"], [{}], [None], {},
          {"a": 1},
          {"a": {"a": 1}}, {"a": None, "b": [1]}, {"a": [], "b": {}, "c": "x"}]  # fmt: skip
FORMATS = ["date-time", "date", "int32", "int64", "byte", "ipv4", "email", "uri", "duration",
           "uuid", "quantity", "no-such", "float", "double", "hostname", "password"]  # fmt: skip


def schema(rng, depth=0):
    """Return a random schema, mostly valid."""
    kind = rng.choice(["object", "array", "string", "integer", "number", "boolean"])
    kind = kind if depth < 4 else "string"
    found = {"type": kind}
    if kind == "object" and rng.random() < 0.8:
        inner = {name: schema(rng, depth + 1) for name in rng.sample("abcd", rng.randrange(1, 4))}
        found["properties"] = inner
        if rng.random() < 0.3:
            found["required"] = rng.sample("abcd", rng.randrange(3))
    elif kind == "object":
        found["additionalProperties"] = schema(rng, depth + 1) if rng.random() < 0.8 else True
    elif kind == "array":
        found["items"] = schema(rng, depth + 1)
        if rng.random() < 0.4:
            found["x-kubernetes-list-type"] = rng.choice(["set", "map", "atomic", "odd"])
            found["x-kubernetes-list-map-keys"] = rng.choice([["a"], ["a", "b"], [], ["zz"]])
    for _ in range(rng.randrange(3)):
        name, value = extra(rng, depth)
        found[name] = value
    return found


def extra(rng, depth):
    """Return a random additional keyword, suitable or not."""
    chosen = rng.randrange(10)
    if chosen < 2 and depth < 4:
        if rng.random() < 0.3:
            return "not", schema(rng, depth + 2)
        return rng.choice(["allOf", "anyOf", "oneOf"]), [schema(rng, depth + 2)]
    if chosen < 4:
        return "x-kubernetes-validations", [rule(rng) for _ in range(rng.randrange(1, 3))]
    return rng.choice([
        ("default", copy.deepcopy(rng.choice(VALUES))),
        ("enum", copy.deepcopy(rng.sample(VALUES, rng.randrange(4)))),
        ("pattern", rng.choice(PATTERNS)),
        ("format", rng.choice(FORMATS)),
        ("nullable", rng.random() < 0.5),
        ("x-kubernetes-preserve-unknown-fields", True),
        ("x-kubernetes-int-or-string", True),
        ("x-kubernetes-embedded-resource", True),
        (rng.choice(["minimum", "maximum", "multipleOf"]), rng.choice(NUMBERS)),
        (rng.choice(["minLength", "maxLength", "minItems", "maxItems"]), rng.choice(NUMBERS)),
        (rng.choice(["uniqueItems", "exclusiveMinimum", "exclusiveMaximum"]), rng.random() < 0.5),
    ])  # fmt: skip


def rule(rng):
    """Return a CEL rule."""
    found = {"rule": rng.choice(RULES)}
    if rng.random() < 0.3:
        found["messageExpression"] = rng.choice(["'a'", "string(self)", "self.a", "1", "(", "''"])
    if rng.random() < 0.2:
        found["fieldPath"] = rng.choice([".a", ".a.b", "['a']", ".a[0]", "a", "["])
    if rng.random() < 0.2:
        found["optionalOldSelf"] = True
    if rng.random() < 0.2:
        found["reason"] = rng.choice(["FieldValueInvalid", "FieldValueForbidden", "Odd"])
    return found


def crd(rng, plural):
    """Return a CRD with a random schema."""
    top = {"type": "object", "properties": {"spec": schema(rng), "status": schema(rng, 2)}}
    version: dict[str, Any] = {}
    if rng.random() < 0.5:
        version["subresources"] = {"status": {}}
    if rng.random() < 0.3:
        paths = [
            ".spec.a",
            ".spec",
            ".spec.a[*].b",
            ".spec..a",
            "{",
            ".metadata.name",
            ".spec['a']",
        ]
        column = {"name": "A", "type": rng.choice(["string", "integer", "date", "odd"])}
        version["additionalPrinterColumns"] = [{**column, "jsonPath": rng.choice(paths)}]
        version["selectableFields"] = [{"jsonPath": rng.choice(paths)}]
    names = {
        "plural": plural,
        "singular": plural,
        "kind": plural.title(),
        "listKind": "ListOf" + plural,
    }
    return boats.definition(top, group="fuzz.example.com", scope="Cluster", names=names, **version)


async def one(rng, web, number):
    """Create a CRD; if it is accepted, write, read and list its objects, and delete it."""
    plural = f"fuzz{number}"
    path = f"/apis/fuzz.example.com/v1/{plural}"
    created = await web.ask("POST", CRDS, crd(rng, plural))
    answers = [created]
    if created.code == 201:
        await web.server.settled()
        body = {
            "apiVersion": "fuzz.example.com/v1",
            "kind": plural.title(),
            "metadata": {"name": "a"},
        }
        for _ in range(4):
            body |= {part: copy.deepcopy(rng.choice(VALUES)) for part in ("spec", "status")}
            answers += [
                await web.ask("POST", path, body),
                await web.patch(f"{path}/a", {"spec": rng.choice(VALUES)}),
                await web.patch(f"{path}/a?fieldManager=m&force=1", body, "apply"),
                await web.patch(f"{path}/a/status", {"status": rng.choice(VALUES)}),
            ]
        table = "application/json;as=Table;g=meta.k8s.io;v=v1"
        answers.append(await web.ask("GET", path, Accept=table))
        if rng.random() < 0.1:
            answers.append(await web.ask("GET", "/openapi/v3/apis/fuzz.example.com/v1"))
        answers.append(await web.ask("DELETE", f"{CRDS}/{plural}.fuzz.example.com"))
        await web.server.settled()
    return answers


async def test_any_schema_is_accepted_or_refused_with_causes(web):
    rng = random.Random(SEED)
    taken = 0
    for number in range(ROUNDS):
        answers = await one(rng, web, number)
        taken += answers[0].code == 201
        for answer in answers:
            assert b"see the log" not in answer.body, (number, answer.body)
    assert taken > ROUNDS // 20
