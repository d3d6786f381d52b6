"""Parts of a kind combine: a converter with static rules in Python."""

from dataclasses import replace
from functools import partial

import pytest

from inkube import APIServer
from inkube.apiserver.registry.renewals import MAX_OBJECTS, Renewals
from inkube.apiserver.registry.resource import Resource
from inkube.schemas import crds, fielderrors
from inkube.schemas.crds.definition import to_definition
from inkube.schemas.definitions import Origin
from inkube.schemas.status import StatusError
from inkube.storage.entry import Entry

V1, V2 = "example.com/v1/boats", "example.com/v2/boats"
SIZES = {"example.com/v1": "length", "example.com/v2": "meters"}


class Sizes:
    """Converts as a webhook might, and counts the batches."""

    def __init__(self):
        self.batches = []

    async def convert(self, objects, api_version, anew=False):
        self.batches.append(len(objects))
        return [
            {
                **obj,
                "apiVersion": api_version,
                "spec": {SIZES[api_version]: obj["spec"][SIZES[obj["apiVersion"]]]},
            }
            for obj in objects
        ]


def rules(obj, old):
    if obj["spec"].get("length", 0) > 100 or obj["spec"].get("meters", 0) > 100:
        return [fielderrors.invalid("spec", "", "longer than any harbour")]
    return []


def version(name):
    spec = {"type": "object", "properties": {SIZES[f"example.com/{name}"]: {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema},
    }


def definition():
    names = {"kind": "Boat", "plural": "boats"}
    crd = {
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": names,
            "versions": [version("v1"), version("v2")],
        },
        "status": {"acceptedNames": names},
    }
    return replace(to_definition(crd), origin=Origin.PYTHON)


def boat(name, length):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": name},
        "spec": {"length": length},
    }


async def test_a_kind_with_rules_in_python_can_have_its_versions_converted_by_somebody_else():
    sizes = Sizes()
    async with APIServer(controllers=False) as server:
        server.resources.install(
            Resource(definition(), partial(crds.CustomStrategy, rules), converter=sizes)
        )
        await server.client.create(boat("argo", 7))
        await server.client.create(boat("fram", 8))
        sizes.batches.clear()
        found = await server.client.list(V2)
        assert [obj["spec"] for obj in found.items] == [{"meters": 7}, {"meters": 8}]
        assert sizes.batches == [2]
        await server.client.patch(V2, "argo", patch={"spec": {"meters": 9}})
        assert (await server.client.get(V1, "argo"))["spec"] == {"length": 9}
        with pytest.raises(StatusError, match="longer than any harbour"):
            await server.client.patch(V2, "argo", patch={"spec": {"meters": 101}})


def entry(number):
    return Entry(f"/k/{number}", 1, 1, b'{"n":%d}' % number)


def test_no_more_than_a_few_renewed_objects_are_kept_and_nothing_of_those_that_did_not_change():
    renewals, made = Renewals(), []
    entries = [entry(number) for number in range(3 * MAX_OBJECTS)]

    def fresh(one):
        made.append(one.key)
        return {"fresh": one.key}

    for one in entries:
        renewals.of(one, partial(fresh, one))
    last = entries[-1]
    assert renewals.of(last, partial(fresh, last)) == {"fresh": last.key}
    assert len(made) == len(entries)
    assert renewals.of(entries[0], lambda: {"fresh": "again"}) == {"fresh": "again"}


def test_a_state_that_did_not_differ_is_not_looked_at_again_and_another_one_is():
    renewals, other = Renewals(), Entry("/k/0", 1, 1, b'{"n":1}')
    assert renewals.of(entry(0), lambda: None) is None
    assert renewals.of(entry(0), lambda: {"never": "asked"}) is None
    assert renewals.of(other, lambda: {"fresh": 1}) == {"fresh": 1}
