"""Each address of an object writes and owns its own part, the spec or the status, in every kind."""

import copy

import pytest
import samples

from inkube.schemas.builtin.kinddefinitions import by_name

CONDITION = {
    "type": "example.com/Own", "status": "True", "reason": "Told", "message": "m",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}  # fmt: skip


OWN = {
    "customresourcedefinitions": {"kube-apiserver"},
    "flowschemas": {"api-priority-and-fairness-config-consumer-v1"},
    "servicecidrs": {"service-cidr-controller"},
    "validatingadmissionpolicies": {"validatingadmissionpolicy-status"},
}
"""The managers of a new object's status, for kinds to whose status the server writes."""


def kinds():
    """(path of the collection, sample) of the kinds whose status has an address of its own and a
    list of conditions."""
    for definition in by_name().values():
        version = definition.storage_version
        api = f"{definition.group}/{version.name}" if definition.group else version.name
        status = version.schema["properties"].get("status", {}).get("properties", {})
        if f"{api}/{definition.names.kind}" not in samples.OBJECTS or not version.status:
            continue
        if "conditions" in status:
            root = f"/apis/{api}" if definition.group else f"/api/{api}"
            namespace = "/namespaces/default" if definition.namespaced else ""
            sample = samples.make(api, definition.names.kind, "two-parts")
            yield f"{root}{namespace}/{definition.names.plural}", sample


KINDS = dict(kinds())


def managers(obj):
    """Subresource → the members that its managers own."""
    found = {}
    for entry in obj["metadata"].get("managedFields", ()):
        found.setdefault(entry.get("subresource", ""), set()).update(entry["fieldsV1"])
    return found


def test_most_kinds_are_compared():
    assert len(KINDS) > 10


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", KINDS)
async def test_each_address_writes_its_own_part(web, path):
    made = await web.ask("POST", path, KINDS[path])
    assert made.code == 201, made.json
    await web.server.settled()  # the server itself writes the status of some kinds
    place = f"{path}/{made.json['metadata']['name']}"
    before = (await web.ask("GET", place)).json
    own = {each["manager"] for each in before["metadata"]["managedFields"] if "subresource" in each}
    assert own == OWN.get(path.rpartition("/")[2], set())
    whole = copy.deepcopy(before)
    whole["metadata"]["annotations"] = {"a": "b"}
    whole["status"] = {**(whole.get("status") or {}), "conditions": [CONDITION]}

    written = await web.ask("PUT", place, whole)
    assert written.code == 200, written.json
    assert written.json.get("status") == before.get("status")
    assert "f:status" not in managers(written.json).get("", ())

    changed = {**whole, "metadata": written.json["metadata"]}
    changed["spec"] = {"odd": 1} if "spec" in whole else changed.get("spec")
    answer = await web.ask("PUT", f"{place}/status", changed)
    if answer.code == 422:  # the conditions of this kind have rules
        return
    assert answer.code == 200, answer.json
    assert answer.json.get("spec") == before.get("spec")
    told = {each["type"]: each for each in answer.json["status"]["conditions"]}
    assert CONDITION["type"] in told
    assert managers(answer.json)["status"] <= {"f:status", "f:metadata"}
