"""Laws of all admission plugins together: their order, dry runs, and writes that change nothing."""

import copy
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import samples
from patience import within

from inkube import APIServer, StatusError
from inkube.apiserver.admission import names
from inkube.apiserver.registry import Plugin
from inkube.apiserver.registry.plugins import LatePlugin
from inkube.schemas.builtin import definitions

ENABLED = ["ServiceAccount"]
KINDS = [
    pytest.param(name, definition, id=name)
    for definition in definitions()
    for name in (f"{_version}/{definition.names.kind}".lstrip("/") for _version in [
        f"{definition.group}/{definition.storage_version.name}".lstrip("/")
    ])
    if name in samples.OBJECTS and name != "v1/Namespace"
]  # fmt: skip
OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
"""Members of metadata that differ between two writes of the same object."""
CHOSEN = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|kube-api-access-\w{5}|10\.0\.\d+\.\d+"
)
"""Uids, names of volumes with tokens, addresses of Services."""
QUOTA = {
    "apiVersion": "v1", "kind": "ResourceQuota",
    "metadata": {"name": "quota", "namespace": "default"},
    "spec": {"hard": {"count/configmaps": "20", "pods": "20", "count/jobs.batch": "20"}},
}  # fmt: skip
LIMITS = {
    "apiVersion": "v1", "kind": "LimitRange",
    "metadata": {"name": "limits", "namespace": "default"},
    "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]},
}  # fmt: skip
CLASSES = (
    {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p.example.com",
        "metadata": {
            "name": "usual",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
    },
    {
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {
            "name": "usual",
            "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"},
        },
        "spec": {"controller": "example.com/c"},
    },
)  # fmt: skip


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server with every plugin, and objects that each of them reads."""
    async with (
        APIServer(enable_admission_plugins=ENABLED, controllers=False, modules="none") as started,
        within(),
    ):
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        await started.client.create(
            {**account, "metadata": {"name": "default", "namespace": "default"}}
        )
        for obj in (QUOTA, LIMITS, *CLASSES):
            await started.client.create(copy.deepcopy(obj))
        yield started


def sample(name: str, definition: Any) -> dict[str, Any]:
    made: dict[str, Any] = copy.deepcopy(samples.make(*name.rsplit("/", 1)))
    if definition.namespaced:
        made["metadata"]["namespace"] = "default"
    return made


def without_own(obj: dict[str, Any]) -> Any:
    """Return an object without the values that the server chooses for each write."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in OWN}
    return json.loads(CHOSEN.sub("chosen", json.dumps({**obj, "metadata": metadata})))


@pytest.mark.parametrize(("name", "definition"), KINDS)
async def test_a_dry_run_writes_nothing_and_shows_what_the_write_stores(server, name, definition):
    obj = sample(name, definition)
    before = server.store.revision
    shown = await server.client.create(copy.deepcopy(obj), dry_run=True)
    assert server.store.revision == before
    stored = await server.client.create(copy.deepcopy(obj))
    assert without_own(shown) == without_own(stored)
    before = server.store.revision
    changed = copy.deepcopy(stored)
    changed["metadata"]["labels"] = {"app": "a", "more": "b"}
    assert (await server.client.update(changed, dry_run=True))["metadata"]["labels"]["more"] == "b"
    assert server.store.revision == before


@pytest.mark.parametrize(("name", "definition"), KINDS)
async def test_admission_of_what_is_stored_changes_nothing(server, name, definition):
    stored = await server.client.create(sample(name, definition))
    again = await server.client.update(copy.deepcopy(stored))
    # a client that sends what plugins have set owns it: the owners of fields may change once
    assert without_own(again) == without_own(stored)
    before = server.store.revision
    assert await server.client.update(copy.deepcopy(again)) == again
    assert server.store.revision == before


async def test_every_mutation_precedes_every_validation_in_the_order_of_the_plugins(
    server, monkeypatch
):
    chain = server.parts.core.registry.chain
    plugins = [each.plugin() if isinstance(each, LatePlugin) else each for each in chain.plugins]
    called: list[tuple[str, Plugin]] = []

    def note(step: str, plugin: Plugin) -> None:
        original = getattr(plugin, step)

        async def noted(attributes: Any) -> None:
            called.append((step, plugin))
            await original(attributes)

        monkeypatch.setattr(plugin, step, noted)

    for plugin in plugins:
        note("mutate", plugin)
        note("validate", plugin)
    await server.client.create(
        sample("v1/Pod", next(d for d in definitions() if d.names.kind == "Pod"))
    )
    steps = [step for step, _ in called]
    assert steps == sorted(steps), "mutations come first"
    for step in ("mutate", "validate"):
        order = [plugins.index(plugin) for each, plugin in called if each == step]
        assert len(order) > 2
        assert order == sorted(order)


@pytest.mark.parametrize("name", sorted(names.KNOWN))
async def test_a_disabled_plugin_and_no_other_is_missing_in_the_chain(server, name):
    every = {each.name for each in server.parts.core.registry.chain.plugins}
    async with APIServer(
        disable_admission_plugins=[name], enable_admission_plugins=ENABLED, modules="none"
    ) as other:
        assert {each.name for each in other.parts.core.registry.chain.plugins} == every - {name}


async def test_a_write_that_a_later_plugin_refuses_leaves_nothing_of_earlier_ones(server):
    limit = copy.deepcopy(QUOTA)
    limit["metadata"]["name"] = "none"
    limit["spec"] = {"hard": {"pods": "0"}}
    await server.client.create(limit)
    before = server.store.revision
    [pod] = [each for each in definitions() if each.names.kind == "Pod"]
    with pytest.raises(StatusError, match="exceeded quota: none"):
        await server.client.create(sample("v1/Pod", pod))
    assert server.store.revision == before
    used = (await server.client.get("v1/resourcequotas", "quota", "default")).get("status", {})
    assert used.get("used", {}).get("pods", "0") == "0"
