"""A forced apply takes atomic values for good: no later write gives one back to its earlier owner.

Also where the server completes the values with defaults, in every kind with a template of pods.
"""

import json

import pytest
import samples

from inkube.schemas.builtin import resources

pytestmark = pytest.mark.asyncio(loop_scope="module")
KINDS = {
    each.kind: each
    for each in resources.read()
    if each.kind in samples.TEMPLATES and each.kind not in ("Pod", "Job")  # which do not change
}
ATOMIC = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
"""Structs that are owned as a whole; the server gives the first two defaults."""
LISTS = ("command", "tolerations", "requiredDuringSchedulingIgnoredDuringExecution")


def template(second):
    """Return one template of two: they differ in each atomic value."""
    path = "metadata.uid" if second else "metadata.name"
    amount = {"containerName": "c", "resource": f"limits.{'memory' if second else 'cpu'}"}
    name = "two" if second else "one"
    key = {"name": name, "key": "k"}
    items = [
        {"path": "a", "fieldRef": {"fieldPath": path}}, {"path": "b", "resourceFieldRef": amount},
    ]  # fmt: skip
    env = [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}},
        {"name": "B", "valueFrom": {"resourceFieldRef": amount}},
        {"name": "C", "valueFrom": {"configMapKeyRef": key}},
        {"name": "D", "valueFrom": {"secretKeyRef": key}},
    ]
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": name}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {
        "containers": [{"name": "c", "image": "i", "env": env, "command": [name]}],
        "volumes": [{"name": "v", "downwardAPI": {"items": items}}],
        "tolerations": [{"key": name, "operator": "Exists"}],
        "affinity": affinity,
    }
    return {"metadata": {"labels": {"app": "a"}}, "spec": spec}


def configured(kind, second):
    """Return a valid object of a kind whose template is one of the two."""
    resource = KINDS[kind]
    api = f"{resource.group}/v1" if resource.group else "v1"
    obj = json.loads(json.dumps(samples.make(api, kind, "atomic")))
    *above, last = samples.TEMPLATES[kind].split(".")
    inner = obj
    for part in above:
        inner = inner[part]
    policy = inner[last]["spec"].get("restartPolicy")
    inner[last] = template(second)
    if policy is not None:
        inner[last]["spec"]["restartPolicy"] = policy
    root = f"/apis/{api}" if resource.group else "/api/v1"
    return f"{root}/namespaces/default/{resource.plural}/atomic", obj


def sets(answer):
    assert answer.code < 300, answer.json
    entries = answer.json["metadata"]["managedFields"]
    return {each["manager"]: each["fieldsV1"] for each in entries if each["manager"] in ("a", "b")}


@pytest.mark.parametrize("kind", KINDS)
async def test_no_write_gives_an_atomic_value_back_to_an_earlier_owner(web, kind):
    path, first = configured(kind, second=False)
    _, second = configured(kind, second=True)
    await web.patch(f"{path}?fieldManager=a", first, "apply")
    taken = await web.patch(f"{path}?fieldManager=b&force=true", second, "apply")
    owned = sets(taken)
    for member in (*ATOMIC, *LISTS):
        found = {manager: f'"f:{member}"' in json.dumps(owned[manager]) for manager in "ab"}
        assert found == {"a": False, "b": True}, member

    labeled = {"metadata": {"labels": {"more": "1"}}}
    assert sets(await web.patch(f"{path}?fieldManager=c", labeled)) == owned
    live = (await web.ask("GET", path)).json
    live["metadata"]["annotations"] = {"more": "1"}
    assert sets(await web.ask("PUT", f"{path}?fieldManager=d", live)) == owned
    other = {**{name: first[name] for name in ("apiVersion", "kind")}, **labeled}
    other["metadata"] = {**other["metadata"], "name": "atomic"}
    assert sets(await web.patch(f"{path}?fieldManager=c", other, "apply")) == owned
    again = await web.patch(f"{path}?fieldManager=a", first, "apply")
    assert again.code == 409
    assert sets(await web.patch(f"{path}?fieldManager=b", second, "apply")) == owned
