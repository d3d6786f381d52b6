"""Random invalid bodies, patches, applies, schemas and queries: every response is a Status.

`INKUBE_FUZZ=20000 pytest …` runs longer; `INKUBE_FUZZ_SEED` repeats a run.
"""

import copy
import os
import random
from typing import Any

import pytest
from mutations import ACCEPT, MEDIA, PROTOBUF, QUERIES, encode, mutate, packed

ROUNDS = int(os.environ.get("INKUBE_FUZZ", "250"))
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300 + ROUNDS / 10)]
SEED = int(os.environ.get("INKUBE_FUZZ_SEED", "1"))

BOATS = "/apis/example.com/v1/namespaces/default/boats"
FUZZ = "/apis/example.com/v1/namespaces/default/fuzz"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
META = {"name": "f", "namespace": "default", "labels": {"a": "b"}, "annotations": {"a": "b"},
        "finalizers": ["a.example.com/x"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}],
        "managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1",
                           "time": "2024-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                           "fieldsV1": {"f:data": {"f:a": {}}}}]}  # fmt: skip
BOAT = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": META,
        "spec": {"replicas": 1, "size": 2.5, "name": "a", "any": {"a": [1]},
                 "crew": [{"name": "a", "port": 1}, {"name": "b", "port": "x"}]},
        "status": {"replicas": 1, "selector": "a=b"}}  # fmt: skip
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
    {"name": "c", "image": "i", "ports": [{"containerPort": 80}],
     "env": [{"name": "A", "value": "b"}],
     "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}}]}}  # fmt: skip
OBJECTS = {
    BOATS: BOAT,
    FUZZ: {**BOAT, "kind": "Fuzz"},
    MAPS: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"a": "b"},
           "binaryData": {"c": "AAAA"}, "immutable": False},
    DEPLOYMENTS: {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": META, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
}  # fmt: skip
OPTIONS = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "dryRun": ["All"],
           "propagationPolicy": "Background",
           "preconditions": {"uid": "u", "resourceVersion": "1"}}  # fmt: skip
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "f"},
         "spec": {"replicas": 2}}  # fmt: skip
STEPS = [{"op": "add", "path": "/spec/any", "value": {"b": 1}},
         {"op": "test", "path": "/metadata/name", "value": "f"},
         {"op": "move", "from": "/spec/size", "path": "/spec/any/b"},
         {"op": "copy", "from": "/spec/any", "path": "/spec/any/c"},
         {"op": "remove", "path": "/spec/crew/0"}]  # fmt: skip


def seeds(crd):
    """Return valid requests, to be mutated: method, path, media type, body."""
    found = [("POST", CRDS, MEDIA[0], crd), ("PUT", f"{CRDS}/fuzz.example.com", MEDIA[0], crd),
             ("PATCH", f"{CRDS}/fuzz.example.com", MEDIA[2], crd),
             ("PATCH", f"{CRDS}/fuzz.example.com", MEDIA[4], crd)]  # fmt: skip
    for place, body in OBJECTS.items():
        metadata = {**META, "name": "", "generateName": "f-", "finalizers": []}
        one = f"{place}/f"
        found += [("POST", place, MEDIA[0], {**body, "metadata": metadata}),
                  ("PUT", one, MEDIA[0], body)]  # fmt: skip
        found += [("PATCH", one, media, body) for media in (*MEDIA[2:3], *MEDIA[4:6])]
        found += [("PATCH", one, MEDIA[3], STEPS), ("DELETE", one, MEDIA[0], OPTIONS),
                  ("PUT", f"{one}/status", MEDIA[0], body), ("GET", place, MEDIA[0], None),
                  ("PUT", f"{one}/scale", MEDIA[0], SCALE), ("GET", one, MEDIA[0], None),
                  ("PATCH", f"{one}/scale", MEDIA[2], SCALE),
                  ("DELETE", place, MEDIA[0], OPTIONS)]  # fmt: skip
    return found


def crd_of(base):
    """Return the CRD of another kind, with more features of schemas."""
    crd = copy.deepcopy(base)
    crd["metadata"]["name"] = "fuzz.example.com"
    crd["spec"]["names"] = {"plural": "fuzz", "kind": "Fuzz"}
    version = crd["spec"]["versions"][0]
    version["additionalPrinterColumns"] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    ]
    version["selectableFields"] = [{"jsonPath": ".spec.name"}]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["more"] = {
        "type": "object",
        "additionalProperties": {"type": "string", "format": "date-time", "maxLength": 9},
        "maxProperties": 3,
        "x-kubernetes-validations": [
            {"rule": "self.size() < 3 || 'a' in self", "message": "short"},
            {
                "rule": "self.size() >= oldSelf.size()",
                "messageExpression": "self.size() > 1 ? 'a' : 'b'",
            },
        ],
    }  # fmt: skip
    properties["spec"]["anyOf"] = [{"required": ["name"]}, {"not": {"required": ["size"]}}]
    return crd


async def one(rng, web, requests):
    """Send one mutated request; return it and its response."""
    method, path, media, body = rng.choice(requests)
    if body is not None:
        body = copy.deepcopy(body)
        for _ in range(rng.randrange(4)):
            body = mutate(rng, body)
    if rng.random() < 0.05:
        media = rng.choice(MEDIA)
    if rng.random() < 0.03:
        method = rng.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    query = rng.choice(QUERIES)
    data = None if body is None else encode(rng, body)
    if body is not None and method in ("POST", "PUT", "DELETE") and rng.random() < 0.15:
        media, data = PROTOBUF, packed(rng, body)
    if query == "" and media == MEDIA[4]:
        query = "fieldManager=f"
    url = f"{path}?{query}" if query else path
    accept = rng.choice(ACCEPT) if rng.random() < 0.2 else "*/*"
    answer = await web.ask(method, url, data, Content_Type=media, Accept=accept)
    return (method, url, media, data), answer


async def restore(rng, web, crd, path):
    """Create the object of a request again if the response was 404."""
    if path.startswith((CRDS, FUZZ)):
        await web.ask("POST", CRDS, crd)
    for place, body in OBJECTS.items():
        if path.startswith(place):
            metadata: dict[str, Any] = {"name": "f", "labels": {"a": "b"}}
            if rng.random() < 0.3:
                metadata["finalizers"] = META["finalizers"]
            await web.ask("POST", place, {**body, "metadata": metadata})


async def clear(web):
    """Delete everything stored."""
    for place in OBJECTS:
        found = await web.ask("GET", place)
        for item in found.json["items"] if found.code == 200 else ():
            path = f"{place}/{item['metadata']['name']}"
            await web.patch(path, {"metadata": {"finalizers": None}})
            await web.ask("DELETE", path)
    await web.ask("DELETE", f"{CRDS}/fuzz.example.com")


async def test_any_body_gets_a_valid_response(web, crd, memory):
    rng = random.Random(SEED)
    requests = seeds(crd)
    for number in range(ROUNDS):
        if memory.due(number):
            await clear(web)
            memory.begin()
        sent, answer = await one(rng, web, requests)
        assert b"see the log" not in answer.body, (number, sent, answer.body)
        assert answer.code < 505, (number, sent, answer.body)
        if answer.code == 404:
            await restore(rng, web, crd, sent[1])
    assert (await web.ask("GET", "/readyz")).body == b"ok"
    await clear(web)
    memory.check()


@pytest.fixture
def crd(boat_crd):
    return crd_of(boat_crd)


@pytest.fixture(scope="module")
def server(apart):
    return apart
