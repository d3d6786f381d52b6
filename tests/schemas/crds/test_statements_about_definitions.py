"""Every row about definitions in docs/documents.md matches the behavior of the server.

Each case is a definition and the requests that follow it. Without requests, the response to the
definition counts; with some, the definition is accepted and their responses count.
"""

import copy
from typing import Any

import aiohttp
import pytest
import statements

from inkube import APIServer
from inkube.controllers.clock import FakeClock

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/definitions.example/v1"
ALL = f"{GROUP}/namespaces/default/ships"
A = f"{ALL}/a"
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PRESERVED = {"x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
STATUS = {"subresources": {"status": {}}}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
Request = tuple[str, str, Any, dict[str, str]]


def crd(
    spec: Any = None,
    *,
    schema: Any = None,
    root: Any = None,
    version: Any = None,
    names: Any = None,
    metadata: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a definition of ships: with properties of the spec, or a whole schema, or more
    members."""
    properties = {
        "spec": {"type": "object", "properties": spec or {"replicas": NUMBER}},
        "status": {"type": "object", "properties": {"replicas": NUMBER, "selector": TEXT}},
    }
    whole = schema or {"type": "object", "properties": properties, **(root or {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.definitions.example", **(metadata or {})},
        "spec": {
            "group": "definitions.example",
            "scope": "Namespaced",
            "names": {"plural": "ships", "kind": "Ship", **(names or {})},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": whole},
                    **(version or {}),
                }
            ],
            **more,
        },
    }


def versions(*named: tuple[str, bool, bool]) -> dict[str, Any]:
    """Return a definition with versions: the name of each, whether it is served and stored."""
    found = crd()
    [one] = found["spec"]["versions"]
    found["spec"]["versions"] = [
        {**one, "name": name, "served": served, "storage": stored} for name, served, stored in named
    ]
    return found


def ship(name: str = "a", status: Any = None, finalizers: Any = (), **spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "apiVersion": "definitions.example/v1",
        "kind": "Ship",
        "metadata": {"name": name, **({"finalizers": list(finalizers)} if finalizers else {})},
        "spec": spec,
    }
    return found if status is None else {**found, "status": status}


def send(method: str, path: str, body: Any = None, **headers: str) -> Request:
    return method, path, body, headers


def post(path: str = ALL, /, **spec: Any) -> Request:
    return send("POST", path, ship(**spec))


def get(path: str = A, **headers: str) -> Request:
    return send("GET", path, None, **headers)


def merge(body: Any, path: str = A) -> Request:
    return send("PATCH", path, body, **{"Content-Type": MERGE})


def columns(*named: tuple[str, str, str, int]) -> dict[str, Any]:
    """Return a version with printer columns: name, type, path and priority of each."""
    return {
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path, "priority": priority}
            for name, kind, path, priority in named
        ]
    }


def scaled(**scale: Any) -> dict[str, Any]:
    """Return a version with /status and /scale, with other paths of /scale."""
    merged = {name: path for name, path in {**SCALE, **scale}.items() if path}
    return {"subresources": {"status": {}, "scale": merged}}


def spec_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


AS_TABLE = {"Accept": TABLE}
CRON = {"cron": {**TEXT, "pattern": r"^\d+$"}, "replicas": {**NUMBER, "maximum": 10}}
FOO = {"type": "object", "properties": {"foo": TEXT}}
HELD = ["definitions.example/stays"]
OWN_CRD = f"{CRDS}/ships.definitions.example"
LATER = crd({"replicas": NUMBER, "color": {**TEXT, "default": "white"}})
STRICTER = crd({"replicas": {**NUMBER, "minimum": 5}}, version=STATUS)
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour"}}
IN_HARBOUR = f"{GROUP}/namespaces/harbour/ships"
CASES: dict[str, tuple[Any, list[Request]]] = {
    "K1": (crd(metadata={"name": "boats.definitions.example"}), []),
    "K2": (versions(("v1", True, True), ("v2", True, True)), []),
    "K3": (versions(("v1", True, False)), []),
    "K4": (crd(), [post(), get(OWN_CRD)]),
    "K5": (crd(scope="Cluster"), [post(f"{GROUP}/ships"), post()]),
    "K6": (versions(("v1", True, True), ("v2", False, False)), [get(ALL.replace("v1", "v2"))]),
    "K7": (crd(names={"singular": "ship", "shortNames": ["sh"], "categories": ["all"]}),
           [get(GROUP)]),
    "K8": (crd(), [post(), send("DELETE", OWN_CRD), get(ALL)]),
    "K9": (crd(), [post(), send("DELETE", OWN_CRD), send("POST", CRDS, crd()), get(ALL)]),
    "K10": (crd(), [send("POST", "/api/v1/namespaces", NAMESPACE), post(IN_HARBOUR),
                    send("DELETE", "/api/v1/namespaces/harbour"), get(f"{IN_HARBOUR}/a")]),
    "K11": (crd(), [post(), send("POST", ALL, {**ship("b"), "kind": "Boat"})]),
    "K12": (crd(version={"schema": None}), []),
    "K13": (crd(schema={"properties": {"spec": {"type": "object"}}}), []),
    "K14": (crd({"foo": {"pattern": "abc"}}), []),
    "K15": (crd({"foo": {"type": "array", "items": {"pattern": "abc"}}}), []),
    "K16": (crd({"foo": INT_OR_STRING}), [post(foo=1), post(name="b", foo="1"),
                                          post(name="c", foo=[])]),
    "K17": (crd({"foo": {**INT_OR_STRING, "anyOf": [NUMBER, TEXT]}}), [post(foo=1)]),
    "K18": (crd({"foo": PRESERVED}), [post(foo={"a": [1, {"b": None}]})]),
    "K19": (crd(root={"allOf": [{"properties": {"foo": {"minimum": 1}}}]}), []),
    "K20": (crd(root={"anyOf": [{"properties": {"spec": {"description": "d"}}}]}), []),
    "K21": (crd(root={"anyOf": [{"properties": {"spec": {"type": "object"}}}]}), []),
    "K22": (crd(schema={"type": "object", "properties": {"metadata": {
        "type": "object", "properties": {"finalizers": {"type": "array", "items": TEXT}}}}}), []),
    "K23": (crd(schema={"type": "object", "properties": {"metadata": {
        "type": "object", "properties": {"name": {**TEXT, "pattern": "^b"}}}}}), [post()]),
    "K24": (crd({"json": {**PRESERVED, "type": "object"}}), [post(json=[1])]),
    "K25": (crd({"json": {**PRESERVED, "type": "object", "properties": {"spec": FOO}}}),
            [post(json={"spec": {"foo": "x", "gone": 1}, "kept": 2})]),
    "K26": (crd({"foo": {**EMBEDDED, **PRESERVED}}), [post(foo={"spec": {}})]),
    "K27": (crd({"foo": {**EMBEDDED, **PRESERVED}}),
            [post(foo={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}})]),
    "K28": (crd({"foo": {**EMBEDDED, **PRESERVED}}),
            [post(foo={"apiVersion": "v1", "kind": "Pod", "spec": {"kept": 1}})]),
    "K29": (crd(), [post(finalizers=["stays"])]),
    "K30": (crd(), [post(finalizers=HELD), send("DELETE", A), get()]),
    "K31": (crd(), [post(finalizers=HELD), send("DELETE", A),
                    merge({"metadata": {"finalizers": [*HELD, "definitions.example/more"]}})]),
    "K32": (crd(), [post(finalizers=HELD), send("DELETE", f"{A}?gracePeriodSeconds=0"), get()]),
    "K33": (crd(), [post(finalizers=HELD), send("DELETE", A),
                    merge({"metadata": {"finalizers": None}}), get()]),
    "K34": (crd({"foo": {"$ref": "#/x"}}), []),
    "K35": (crd({"foo": {"type": "array", "items": TEXT, "uniqueItems": True}}), []),
    "K36": (crd({"foo": {"type": "object", "additionalProperties": False}}), []),
    "K37": (crd({"foo": {**FOO, "additionalProperties": TEXT}}), []),
    "K38": (crd(CRON), [post(cron="* *", replicas=15)]),
    "K39": (crd(CRON), [post(cron="5", replicas=5)]),
    "K40": (crd({"e": {**TEXT, "enum": ["x"]}, "o": {**FOO, "required": ["foo"]}}),
            [post(e="y", o={})]),
    "K41": (crd({"cron": {**TEXT, "default": "5"}, "replicas": {**NUMBER, "default": 1}}),
            [post()]),
    "K42": (crd({"replicas": {**NUMBER, "maximum": 10, "default": 11}}), []),
    "K43": (crd({"foo": {**FOO, "default": {"gone": 1}}}), []),
    "K44": (crd({"foo": {**TEXT, "default": "d"}, "bar": {**TEXT, "nullable": True}, "baz": TEXT}),
            [post(foo=None, bar=None, baz=None)]),
    "K45": (crd(), [post(), send("PUT", OWN_CRD, LATER), get()]),
    "K46": (crd({"foo": {**TEXT, "description": "d"}}), [get("/openapi/v2")]),
    "K47": (crd({"foo": INT_OR_STRING}), [get("/openapi/v3/apis/definitions.example/v1")]),
    "K48": (crd({"foo": {**TEXT, "nullable": True, "description": "d"}}), [get("/openapi/v2")]),
    "K49": (crd(root={"anyOf": [{"required": ["spec"]}]}), [get("/openapi/v2")]),
    "K50": (crd(version=columns(("Replicas", "integer", ".spec.replicas", 0))),
            [post(replicas=7), get(ALL, **AS_TABLE)]),
    "K51": (crd(version=columns(("Wide", "integer", ".spec.replicas", 1))),
            [post(replicas=7), get(ALL, **AS_TABLE)]),
    "K52": (crd({"foo": PRESERVED}, version=columns(("Foo", "integer", ".spec.foo", 0))),
            [post(foo="x"), get(ALL, **AS_TABLE)]),
    "K53": (crd(version=columns(("Born", "date", ".metadata.creationTimestamp", 0))),
            [post(), get(ALL, **AS_TABLE)]),
    "K54": (crd(version=columns(("Foo", "odd", ".spec.foo", 0))), []),
    "K55": (crd(), [post(), get(f"{A}/status")]),
    "K56": (crd(version=STATUS), [post(replicas=1), send("PUT", f"{A}/status", {
        **ship(replicas=9, status={"replicas": 3}),
        "metadata": {"name": "a", "labels": {"l": "m"}}})]),
    "K57": (crd(version=STATUS), [post(replicas=1, status={"replicas": 3})]),
    "K58": (crd(version=STATUS), [post(replicas=1), send("PUT", OWN_CRD, STRICTER),
                                  merge({"status": {"replicas": 3}}, f"{A}/status"),
                                  merge({"status": {"replicas": "x"}}, f"{A}/status")]),
    "K59": (crd(root={"anyOf": [{"required": ["spec"]}]}, version=STATUS), []),
    "K60": (crd(version=scaled()), [post(replicas=3), get(f"{A}/scale")]),
    "K61": (crd(version=scaled()), [post(), get(f"{A}/scale")]),
    "K62": (crd(version=scaled()), [
        post(replicas=3), merge({"status": {"replicas": 2, "selector": "a=b"}}, f"{A}/status"),
        get(f"{A}/scale")]),
    "K63": (crd(version=scaled(specReplicasPath=".status.replicas")), []),
    "K64": (crd(version=scaled(specReplicasPath="")), []),
    "K65": (crd(version=scaled(statusReplicasPath=".spec.replicas")), []),
    "K66": (crd(version=scaled(labelSelectorPath=".metadata.name")), []),
    "K67": (crd(version=scaled()), [
        post(replicas=3), merge({"spec": {"replicas": 5}}, f"{A}/scale"), get()]),
    "K68": (crd({"color": TEXT}, version={"selectableFields": [{"jsonPath": ".spec.color"}]}),
            [post(color="red"), post(name="b", color="blue"),
             get(f"{ALL}?fieldSelector=spec.color%3Dred")]),
    "K69": (crd({"color": TEXT}), [get(f"{ALL}?fieldSelector=spec.color%3Dred")]),
    "K70": (crd({"color": PRESERVED}, version={
        "selectableFields": [{"jsonPath": ".spec.color"}]}), []),
    "K71": (crd({"foo": EMBEDDED}), []),
}  # fmt: skip
ABSENT = {
    "K9": '"name":"a"',
    "K25": '"gone":1',
    "K44": '"baz":',
    "K49": '"anyOf":[{"required":["spec"]}]',
    "K57": '"status":',
    "K68": '"blue"',
}
"""What the last response must not contain."""


async def responses(
    server: APIServer, definition: Any, requests: list[Request]
) -> tuple[list[int], str]:
    """Return the codes and the texts of the responses."""
    codes, texts = [], []
    async with aiohttp.ClientSession(server.url) as http:

        async def ask(method: str, path: str, body: Any, headers: dict[str, str]) -> int:
            if method == "PUT":
                stored = await (await http.get(path.removesuffix("/status"))).json()
                version = {"resourceVersion": stored["metadata"]["resourceVersion"]}
                body = {**body, "metadata": {**body["metadata"], **version}}
            async with http.request(method, path, json=body, headers=headers) as answer:
                codes.append(answer.status)
                text = await answer.text()
                texts.append(text + str(answer.headers.getall("Warning", [])))
            await server.settled()
            return answer.status

        code = await ask("POST", CRDS, copy.deepcopy(definition), {})
        if not requests:
            return codes, texts[-1]
        assert code == 201, texts
        codes.clear()
        for request in requests:
            await ask(*request)
    return codes, texts[-1]


ROWS = statements.rows("Custom resources: definitions", "K", (";", ": the "))


def test_every_statement_has_a_row_and_every_row_is_tested():
    assert sorted(ROWS) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
async def test_the_server_answers_as_the_row_requires(name):
    codes, texts = ROWS[name]
    async with APIServer(clock=FakeClock()) as server:
        found, text = await responses(server, *CASES[name])
    assert list(dict.fromkeys(found)) == codes, text
    text = text.replace('\\"', '"').replace("\\\\", "\\")
    for each in texts:
        assert each in text, text
    assert name not in ABSENT or ABSENT[name] not in text, text
