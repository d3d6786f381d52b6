"""Informers of client libraries reach the server's state again after hundreds of random faults.

Watches are closed, cut or expired; lists are refused, reset or stale; writes are applied although
their connection is cut. The seed determines the faults. INKUBE_FAULTS sets their number; `make
exams` causes a thousand for each client.
"""

import asyncio
import contextlib
import json
import logging
import os
import random
import shutil
from pathlib import Path

import patience
import pytest
from patience import within

import inkube

FAULTS = int(os.environ.get("INKUBE_FAULTS", "60"))
SEEDS = range(int(os.environ.get("INKUBE_FAULT_SEEDS", "1")))
PATIENCE = (60 + FAULTS / 5) * patience.PATIENCE
TOUCHES = 8
FOLDER = Path(__file__).parent / "node"
INSTALLED = shutil.which("node") and (FOLDER / "node_modules/@kubernetes/client-node").exists()
CONFIG_MAPS = "v1/configmaps"


LISTS, WATCHES, BOTH = ("list",), ("watch",), ("list", "watch")


def effects(chance):
    """Yield random verbs that fail, how often, and how. No watch stays open for long."""
    for turn, end in enumerate(("Close", "Cut", "Expired"), 1):  # the last matching fault applies
        often = {"every": turn}
        bookmarks = chance.random() < 0.5
        yield WATCHES, often, {"events": chance.randrange(5), "end": end, "bookmarks": bookmarks}
    seldom = {"probability": 0.08}
    yield BOTH, seldom, {"cut": True}
    yield BOTH, seldom, {"code": 429}
    yield BOTH, seldom, {"code": 503}
    yield LISTS, seldom, {"stale": chance.randrange(1, 6)}
    yield BOTH, seldom, {"delay": 0.001, "jitter": 0.01}
    operators = {"probability": 0.15, "user_agent": "*kopf*"}
    yield ("patch",), operators, {"cut": True, "applied": True}
    yield ("patch",), operators, {"cut": True}
    yield ("patch",), operators, {"code": 429}


@contextlib.asynccontextmanager
async def weather(kube, resource, namespace, seed):
    """Apply random faults to a resource in a namespace; returns a function that counts the failed
    requests."""
    chance = random.Random(seed)
    async with contextlib.AsyncExitStack() as stack:
        failing = []
        wanted = list(effects(chance))
        if resource == CONFIG_MAPS:  # kopf ends at a 410 that is not an event of a watch
            wanted.append((WATCHES, {"probability": 0.08}, {"code": 410}))
        for verbs, often, effect in wanted:
            where = {"namespace": namespace, "seed": chance.randrange(1000)}
            fault = kube.aio.fail(verbs, resource, **where, **often, **effect)
            failing.append(await stack.enter_async_context(fault))
        yield lambda: sum(fault.injected for fault in failing)


async def write_at_random(kube, namespace, seed, body, resource, struck):
    """Create, change and delete objects with a few names until enough requests failed. Return the
    names of the existing ones."""
    chance = random.Random(seed)
    living = set()
    async with asyncio.timeout(PATIENCE):
        while (before := struck()) < FAULTS:
            for _ in range(chance.randrange(1, 6)):
                await write(kube, chance, living, (resource, namespace), body)
            with contextlib.suppress(TimeoutError):
                await kube.aio.wait_for(lambda before=before: struck() > before, within=1.0)
    return living


async def write(kube, chance, living, place, body):
    """Make one change."""
    resource, namespace = place
    name = f"o-{chance.randrange(12)}"
    if name not in living:
        await kube.aio.create(body(name, chance.randrange(1000)))
        living.add(name)
    elif chance.random() < 0.3:
        await kube.aio.delete(resource, name, namespace)
        await nudged(kube, resource, namespace, gone(kube, resource, name, namespace), {name})
        living.discard(name)
    else:
        patch = {"spec": {"size": chance.randrange(1000)}}
        if resource == CONFIG_MAPS:
            patch = {"data": {"k": str(chance.randrange(1000))}}
        await kube.aio.patch(resource, name, namespace, patch=patch)


async def nudged(kube, resource, namespace, condition, names):
    """Wait for a condition. Some clients act only at the next change of an object (see the test of
    kopf), so the objects are touched while it is not true."""
    for touch in range(TOUCHES):
        with contextlib.suppress(TimeoutError):
            await kube.aio.wait_for(condition, within=PATIENCE / TOUCHES)
            return
        patch = {"metadata": {"labels": {"touched": str(touch)}}}
        for name in names:
            with contextlib.suppress(inkube.StatusError):  # it is gone
                await kube.aio.patch(resource, name, namespace, patch=patch)
    await kube.aio.wait_for(condition, within=PATIENCE)


def gone(kube, resource, name, namespace):
    async def is_gone():
        names = {each["metadata"]["name"] for each in await kube.aio.list(resource, namespace)}
        return name not in names

    return is_gone


async def held_by_server(kube, namespace):
    found = await kube.aio.list(CONFIG_MAPS, namespace)
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}


@pytest.fixture
def config_map(namespace):
    def make(name, value):
        meta = {"name": name, "namespace": namespace}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta,
            "data": {"k": str(value)},
        }

    return make


class Reflector:
    """A cache built with kubernetes_asyncio as in its examples: list, watch, and list again after
    410."""

    def __init__(self, api, namespace):
        from kubernetes_asyncio import client

        self.held = {}
        self._core = client.CoreV1Api(api)
        self._namespace = namespace
        self._refused = client.ApiException

    async def run(self):
        import aiohttp

        version = None
        while True:
            try:
                version = version or await self._list()
                version = await self._watch(version)
            except self._refused as error:
                version = None if error.status == 410 else version
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(0.001)

    async def _list(self):
        found = await self._core.list_namespaced_config_map(self._namespace)
        self.held = {one.metadata.name: one.metadata.resource_version for one in found.items}
        return found.metadata.resource_version

    async def _watch(self, version):
        from kubernetes_asyncio import watch

        listed = self._core.list_namespaced_config_map
        async with watch.Watch().stream(
            listed, self._namespace, resource_version=version, timeout_seconds=30
        ) as events:
            async for event in events:
                metadata = event["object"].metadata
                version = metadata.resource_version
                if event["type"] == "DELETED":
                    self.held.pop(metadata.name, None)
                else:
                    self.held[metadata.name] = version
        return version


@pytest.mark.timeout(2 * PATIENCE + 60)
@pytest.mark.parametrize("seed", SEEDS)
async def test_kubernetes_asyncio_holds_what_the_server_holds(
    kube, namespace, kubeconfig, config_map, seed
):
    kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio")
    await kubernetes_asyncio.config.load_kube_config(config_file=str(kubeconfig))
    async with kubernetes_asyncio.client.ApiClient() as api:
        reflector = Reflector(api, namespace)
        task = asyncio.create_task(reflector.run())
        async with weather(kube, CONFIG_MAPS, namespace, seed) as struck:
            await write_at_random(kube, namespace, seed, config_map, CONFIG_MAPS, struck)
        held = await held_by_server(kube, namespace)
        try:
            await kube.aio.wait_for(lambda: reflector.held == held, within=PATIENCE)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.skipif(not INSTALLED, reason="npm install was not run in tests/apiserver/clients/node")
@pytest.mark.timeout(2 * PATIENCE + 60)
@pytest.mark.parametrize("seed", SEEDS)
async def test_client_node_holds_what_the_server_holds(
    kube, namespace, kubeconfig, config_map, seed
):
    process = await asyncio.create_subprocess_exec(
        "node", str(FOLDER / "survivor.mjs"), str(kubeconfig), namespace,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with weather(kube, CONFIG_MAPS, namespace, seed) as struck:
            await write_at_random(kube, namespace, seed, config_map, CONFIG_MAPS, struck)
        await kube.aio.create(config_map("end", 0))
        async with asyncio.timeout(PATIENCE):
            told, complaints = await process.communicate()
    except BaseException:
        process.kill()
        await process.communicate()
        raise
    assert process.returncode == 0, complaints.decode()
    assert json.loads(told) == await held_by_server(kube, namespace)


def operator(heard):
    """Return an operator that copies the spec to the status, and delays deletions until it has seen
    them. `heard` gets the version of the last event of each object, even if kopf ignores the
    event."""
    import kopf

    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**arguments):
        return kopf.login_with_kubeconfig(**arguments)

    @kopf.on.create("clients.example.com", "v1", "crabs", registry=registry)
    @kopf.on.update("clients.example.com", "v1", "crabs", registry=registry)
    async def seen(spec, patch, **_):
        patch.status["phase"] = f"size {spec['size']}"

    @kopf.on.delete("clients.example.com", "v1", "crabs", registry=registry)
    async def released(**_):
        pass

    @kopf.on.event("clients.example.com", "v1", "crabs", registry=registry)
    async def told(meta, **_):
        heard[meta["name"]] = meta["resourceVersion"]

    return registry


@contextlib.asynccontextmanager
async def operating(namespace, heard):
    import kopf

    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.networking.error_backoffs = [0.01] * 20
    settings.watching.reconnect_backoff = 0.001
    settings.queueing.error_delays = [0.01] * 20
    ready, stop = asyncio.Event(), asyncio.Event()
    run = kopf.operator(
        registry=operator(heard),
        settings=settings,
        standalone=True,
        namespaces=[namespace],
        ready_flag=ready,
        stop_flag=stop,
    )
    task = asyncio.create_task(run)
    async with within():
        await ready.wait()
    try:
        yield task
    finally:
        stop.set()
        async with within():
            await task


@pytest.mark.timeout(2 * PATIENCE + 60)
@pytest.mark.parametrize("seed", SEEDS)
async def test_an_operator_of_kopf_brings_every_object_to_its_final_state(
    kube, namespace, kubeconfig, crab, monkeypatch, caplog, seed
):
    """The operator receives each state of an object, but does not always act on it.

    If its patch for a finalizer is refused (the response to the previous one was lost, or a list
    returned the same version again), `patching.patch_obj` keeps the patch for the next event. At
    that event `processing.process_resource_causes` skips the handlers, because there is something
    to patch first; but the finalizer already exists, so nothing is patched, and no event follows.
    The object waits for its next change (kopf 1.45), also if it is being deleted.
    """
    pytest.importorskip("kopf")
    caplog.set_level(logging.CRITICAL, logger="kopf")  # it logs every retry
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    crabs = "clients.example.com/v1/crabs"

    def body(name, size):
        return crab(name, size=size)

    async def is_done():
        found = await kube.aio.list(crabs, namespace)
        names = {each["metadata"]["name"] for each in found}
        sizes = [(each.get("status", {}).get("phase"), each["spec"]["size"]) for each in found]
        newest = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}
        is_known = names == living and newest.items() <= heard.items()
        return is_known and all(phase == f"size {size}" for phase, size in sizes)

    heard = {}
    async with operating(namespace, heard) as task:
        async with weather(kube, crabs, namespace, seed) as struck:
            living = await write_at_random(kube, namespace, seed, body, crabs, struck)
        await nudged(kube, crabs, namespace, is_done, living)
        assert not task.done()
        for name in living:
            await kube.aio.delete(crabs, name, namespace)
        await nudged(kube, crabs, namespace, none_left(kube, crabs, namespace), living)


def none_left(kube, resource, namespace):
    async def is_empty():
        return not await kube.aio.list(resource, namespace)

    return is_empty
