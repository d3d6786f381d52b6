"""managedFields of new objects are the same, whether computed before or after validation."""

from typing import Any

import boats
import pytest
import pytest_asyncio

from inkube import APIServer
from inkube.schemas.status import StatusError

PATH = "/apis/example.com/v1/namespaces/default/boats"
TEXT = {"type": "string"}
ITEM = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "size": TEXT}}
SPEC = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["Sail", "Row"], "default": "Sail"},
        "masts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": ITEM,
        },
        "flags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "notes": {"type": "object", "additionalProperties": TEXT},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"spec": SPEC, "status": {"type": "object", "properties": {"at": TEXT}}},
}
POLICY = "admissionregistration.k8s.io/v1"
BINDING = {
    "apiVersion": POLICY,
    "kind": "MutatingAdmissionPolicyBinding",
    "metadata": {"name": "nobodys"},
    "spec": {"policyName": "nobodys"},
}
"""With the first binding a policy may change every write, so owners are computed early."""
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}
ENTRY = {
    "manager": "m", "operation": "Update", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:mode": {}}},
}  # fmt: skip
NEW: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a spec": {"spec": {
        "mode": "Row", "masts": [{"name": "b"}, {"name": "a", "size": "1"}], "flags": ["x", "y"],
        "notes": {"k": "v"}}},
    "a status": {"spec": {}, "status": {"at": "sea"}},
    "a status of a wrong type": {"spec": {"mode": "Row"}, "status": "text"},
    "a wrong type in a status": {"spec": {"mode": "Row"}, "status": {"at": 1}},
    "labels": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}},
    "a deletion": {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
    "seconds of grace": {"metadata": {"deletionGracePeriodSeconds": 3}},
    "a link": {"metadata": {"selfLink": "/a"}},
    "an owner twice": {"metadata": {"ownerReferences": [OWNER, OWNER]}},
    "a finalizer": {"metadata": {"finalizers": ["example.com/hold"]}},
    "no entries": {"metadata": {"managedFields": []}},
    "entries": {"metadata": {"managedFields": [ENTRY]}},
    "broken entries": {"metadata": {"managedFields": [{**ENTRY, "operation": "Sing"}]}},
    "what is not allowed": {"spec": {"mode": "Dive"}},
    "that, and broken entries": {
        "spec": {"mode": "Dive"}, "metadata": {"managedFields": [{**ENTRY, "fieldsType": "V0"}]}},
    "a mast twice": {"spec": {"masts": [{"name": "a"}, {"name": "a"}]}},
    "a flag twice": {"spec": {"flags": ["x", "y", "x"]}},
}  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=[{}, {"status": {}}])
async def answers(request):
    """The responses of two servers to all requests; the second has a policy binding."""
    found: list[dict[str, Any]] = []
    for first in ((), (BINDING,)):
        async with APIServer(seed=1) as server:
            for made in (boats.definition(SCHEMA, subresources=request.param), *first):
                await server.client.create(made)
            await server.settled()
            found.append({what: await _made(server, body) for what, body in NEW.items()})
    return found


async def _made(server: APIServer, body: dict[str, Any]) -> Any:
    head = {"apiVersion": "example.com/v1", "kind": "Boat"}
    meta = {"generateName": "boat-", "namespace": "default", **body.get("metadata", {})}
    try:
        made = await server.client.create({**head, **body, "metadata": meta})
    except StatusError as refused:
        return refused.details
    entries = made["metadata"].get("managedFields")
    return [{**entry, "time": ""} for entry in entries or ()], made.get("spec")


@pytest.mark.parametrize("what", NEW)
@pytest.mark.asyncio(loop_scope="module")
async def test_managed_fields_do_not_depend_on_when_they_are_computed(answers, what):
    late, early = (_unnamed(each[what]) for each in answers)
    assert late == early


def _unnamed(answer: Any) -> Any:
    """Return the response without the generated name."""
    if isinstance(answer, dict):
        return {name: value for name, value in answer.items() if name != "name"}
    return answer


@pytest.mark.asyncio(loop_scope="module")
async def test_a_refused_create_has_the_same_error_either_way(answers):
    for each in answers:
        wrong = {"a status of a wrong type", "a wrong type in a status"}
        taken = [each[what] for what in wrong if not isinstance(each[what], dict)]
        assert taken in ([], [([], {"mode": "Row"})] * 2)  # a subresource drops both
        refused = {what for what, answer in each.items() if isinstance(answer, dict)}
        assert refused == {
            "what is not allowed", "that, and broken entries", "a mast twice", "a flag twice",
            *(() if taken else wrong),
        }  # fmt: skip
