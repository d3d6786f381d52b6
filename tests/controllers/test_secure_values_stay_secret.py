"""Secure values: found nowhere but in their own store, kept, replaced, removed and swept."""

import json
import logging

import pytest

from inkube.controllers.informer import Key
from inkube.controllers.secure import LAST_APPLIED, Entry, MemorySecretStore, SecureValues

PROVISIONING = "provisioning.grafana.app/v0alpha1"
SECRET = "hunter2-hunter2"


def repository(secure=None, **metadata):
    obj = {
        "apiVersion": PROVISIONING,
        "kind": "Repository",
        "metadata": {"name": "a", "namespace": "ns", **metadata},
        "spec": {
            "title": "Title",
            "type": "git",
            "git": {"url": "https://git.example/o/r", "branch": "main"},
        },
    }
    if secure is not None:
        obj["secure"] = secure
    return obj


def token(value=SECRET):
    return {"token": {"create": value}}


@pytest.fixture
async def server(provisioned):
    async with provisioned() as made:
        yield made


async def value_of(server, obj):
    """What the checks would read."""
    vaults = server.cluster.env.services["vaults"]
    name = obj["secure"]["token"]["name"]
    return await vaults.repositories.read(server.client, Key("ns", "a"), "token", name)


async def test_a_value_is_found_nowhere_outside_its_store(server, caplog):
    caplog.set_level(logging.DEBUG)
    manifest = json.dumps(repository(token()))
    answers = [
        await server.dry_run(repository(token())),
        await server.create(repository(token(), annotations={LAST_APPLIED: manifest})),
    ]
    await server.settled()
    answers.append(await server.get("repositories"))
    answers.append([str(event) for *_, event in server.client.history])
    answers.append((await server.client.list("v1/events")).items)
    assert SECRET not in str(answers)
    assert SECRET not in caplog.text
    assert SECRET not in repr(server.store._entries)
    assert await value_of(server, await server.get("repositories")) == SECRET


async def test_a_dry_run_checks_with_the_value_and_stores_nothing(server):
    host = {"tokens": [{"value": SECRET}], "repositories": [{"path": "o/r", "branches": ["main"]}]}
    metadata = {"name": "git.example"}
    await server.create(
        {
            "apiVersion": "world.inkube.dev/v1",
            "kind": "GitHost",
            "metadata": metadata,
            "spec": host,
        }
    )
    assert await server.dry_run(repository(token())) == []
    assert len(await server.dry_run(repository(token("other")))) == 1
    assert server.store._entries == {}


async def test_left_out_means_keep_and_remove_means_remove(server):
    created = await server.create(repository(token()))
    kept = await server.client.update(repository())
    assert kept["secure"] == created["secure"]
    kept = await server.client.update(repository({}))
    assert kept["secure"] == created["secure"]
    kept = await server.client.update(repository({"webhookSecret": {"create": "w"}}))
    assert kept["secure"]["token"] == created["secure"]["token"]
    removed = await server.client.update(repository({"token": {"remove": True}}))
    assert set(removed["secure"]) == {"webhookSecret"}


async def test_the_same_value_again_changes_nothing_and_another_one_moves_the_generation(server):
    first = await server.create(repository(token()))
    again = await server.client.update(repository(token()))
    assert again["metadata"]["generation"] == first["metadata"]["generation"]
    other = await server.client.update(repository(token("other")))
    assert other["metadata"]["generation"] == first["metadata"]["generation"] + 1
    assert await value_of(server, other) == "other"


async def test_values_that_no_object_names_are_swept(server):
    await server.create(repository(token()))
    await server.client.update(repository(token("other")))
    await server.recheck(61)
    assert [entry.value for entry in server.store._entries.values()] == ["other"]
    await server.client.delete(f"{PROVISIONING}/repositories", "a", "ns")
    await server.recheck(61)
    assert server.store._entries == {}


async def test_a_name_may_stand_for_a_core_secret(server):
    await server.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "mine", "namespace": "ns"},
            "data": {"token": "aHVudGVyMi1odW50ZXIy"},
        }
    )
    created = await server.create(repository({"token": {"name": "mine"}}))
    assert await value_of(server, created) == SECRET


async def test_the_value_of_another_object_cannot_be_borrowed(server):
    created = await server.create(repository(token()))
    name = created["secure"]["token"]["name"]
    thief = repository({"token": {"name": name}}, name="b")
    thief["spec"]["git"]["url"] = "https://git.example/o/other"
    [cause] = await server.dry_run(thief)
    assert (cause["reason"], cause["field"]) == ("FieldValueNotFound", "secure.token")


async def test_an_unreadable_manifest_of_kubectl_is_dropped(clock):
    secure = SecureValues("repositories", MemorySecretStore(), clock)
    obj = repository(token(), annotations={LAST_APPLIED: '{"secure": ' + SECRET})
    secure.take(obj, None)
    assert SECRET not in str(obj)


def test_an_entry_hides_its_value(clock):
    assert SECRET not in repr(Entry("ns", "a", "o", SECRET, clock.now()))


@pytest.mark.parametrize(
    "secure", [[], "x", 1, {"token": 1}, {"token": {"create": 1}}, {"x": None}]
)
async def test_nonsense_is_left_to_validation(clock, secure):
    values = SecureValues("repositories", MemorySecretStore(), clock)
    values.take(repository(secure), None)
