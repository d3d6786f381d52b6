"""Secure values: stored only in their own store, kept, replaced, removed and swept."""

import json
import logging

import pytest
from secretstores import MemorySecretStore
from worlds import PROVISIONING

from inkube.controllers.clock import FakeClock
from inkube.controllers.informer import Key
from inkube.controllers.secure import Entry, SecureValues
from inkube.schemas.lastapplied import LAST_APPLIED

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


def vault(server):
    return server.api.parts.environment().services["vaults"].repositories


async def value_of(server, obj):
    """Return the value that checks would read."""
    name = obj["secure"]["token"]["name"]
    return await vault(server).read(server.client, Key("ns", "a"), "token", name)


async def entries(server):
    """Return the stored secure values of the repository."""
    owner = "repositories.provisioning.grafana.app/a"
    return await vault(server)._store.owned("ns", owner)


async def test_a_value_is_found_nowhere_outside_its_store(provisioned, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    data = tmp_path / "inkube.db"
    async with provisioned(data=data) as server:
        stored, told = await everything_told(server)
        assert await value_of(server, stored) == SECRET
        assert SECRET not in repr(await entries(server))
    assert "a-token-" in told
    assert SECRET not in told
    assert SECRET not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert data in files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
    assert (tmp_path / "inkube.db.key").stat().st_mode & 0o077 == 0


async def everything_told(server):
    """Return the stored object, and the text of all responses that may contain it."""
    path = f"/apis/{PROVISIONING}/namespaces/ns/repositories"
    start = (await server.client.list(f"{PROVISIONING}/repositories")).resource_version
    manifest = json.dumps(repository(token()))
    annotated = repository(token(), annotations={LAST_APPLIED: manifest})
    told = [await server.request("POST", f"{path}?dryRun=All", json=repository(token()))]
    told.append(await server.request("POST", path, json=annotated))
    told.append(await server.request("POST", path, json=annotated))
    told.append(
        await server.request("POST", path, json={**annotated, "spec": {"type": "nonsense"}})
    )
    applied = {"Content-Type": "application/apply-patch+yaml"}
    query = "?fieldManager=me&force=true"
    body = json.dumps(repository(token()))
    told.append(await server.request("PATCH", f"{path}/a{query}", data=body, headers=applied))
    await server.settled()
    stored = await server.get("repositories")
    watch = server.client.watch(f"{PROVISIONING}/repositories", resource_version=start)
    told.append(await anext(watch))
    await watch.aclose()
    shown = (path, f"{path}/a", f"{path}/a/status", "/api/v1/events")
    told.extend([await server.request("GET", where) for where in shown])
    return stored, str(told)


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
    assert await entries(server) == []


async def test_left_out_means_keep_and_remove_means_remove(server):
    created = await server.create(repository(token()))
    kept = await server.replace(repository())
    assert kept["secure"] == created["secure"]
    kept = await server.replace(repository({}))
    assert kept["secure"] == created["secure"]
    kept = await server.replace(repository({"webhookSecret": {"create": "w"}}))
    assert kept["secure"]["token"] == created["secure"]["token"]
    removed = await server.replace(repository({"token": {"remove": True}}))
    assert set(removed["secure"]) == {"webhookSecret"}


async def test_the_same_value_again_changes_nothing_and_another_one_moves_the_generation(server):
    first = await server.create(repository(token()))
    again = await server.replace(repository(token()))
    assert again["metadata"]["generation"] == first["metadata"]["generation"]
    other = await server.replace(repository(token("other")))
    assert other["metadata"]["generation"] == first["metadata"]["generation"] + 1
    assert await value_of(server, other) == "other"


async def test_values_that_no_object_names_are_swept(server):
    await server.create(repository(token()))
    await server.replace(repository(token("other")))
    await server.recheck(61)
    assert [entry.value for entry in await entries(server)] == ["other"]
    await server.delete("repositories", "a")
    await server.recheck(61)
    assert await entries(server) == []


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


async def test_an_unreadable_manifest_of_kubectl_is_dropped():
    secure = SecureValues("repositories", MemorySecretStore(), FakeClock())
    obj = repository(token(), annotations={LAST_APPLIED: '{"secure": ' + SECRET})
    secure.take(obj, None)
    assert SECRET not in str(obj)


def test_an_entry_hides_its_value():
    assert SECRET not in repr(Entry("ns", "a", "o", SECRET, FakeClock().now()))


@pytest.mark.parametrize(
    ("secure", "left"),
    [
        ([], []),
        ("x", ""),
        (1, 0),
        ({"token": 1}, {"token": 0}),
        ({"token": SECRET}, {"token": ""}),
        ({"token": {"create": 1}}, {"token": {"create": 0}}),
        ({"token": {"create": [SECRET]}}, {"token": {"create": []}}),
        ({"x": None}, None),
    ],
)
async def test_invalid_secure_values_reach_validation_without_their_content(secure, left):
    values = SecureValues("repositories", MemorySecretStore(), FakeClock())
    obj = repository(secure)
    values.take(obj, None)
    assert obj.get("secure") == left
