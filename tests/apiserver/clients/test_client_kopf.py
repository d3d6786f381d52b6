"""Unmodified kopf: an operator with handlers, a timer, a daemon, a finalizer, status patches."""

import asyncio
import contextlib

import patience
import pytest

kopf = pytest.importorskip("kopf")

GROUP = "clients.example.com"
CRABS = (GROUP, "v1", "crabs")
PATIENCE = patience.SECONDS


class Seen:
    """The calls of the operator's handlers."""

    def __init__(self):
        self._all = {}

    def __call__(self, what):
        self._event(what).set()

    async def wait(self, what):
        async with asyncio.timeout(PATIENCE):
            await self._event(what).wait()

    def _event(self, what):
        return self._all.setdefault(what, asyncio.Event())


def operator(seen):
    """Return the operator's handlers, in their own registry."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**arguments):
        return kopf.login_with_kubeconfig(**arguments)

    @kopf.on.create(*CRABS, registry=registry)
    async def created(spec, patch, **_):
        patch.status["phase"] = f"size {spec['size']}"
        seen("created")
        return {"size": spec["size"]}

    @kopf.on.update(*CRABS, registry=registry)
    async def updated(spec, patch, **_):
        patch.status["phase"] = f"size {spec['size']}"
        seen("updated")

    @kopf.on.delete(*CRABS, registry=registry)
    async def deleted(**_):
        seen("deleted")

    @kopf.timer(*CRABS, interval=0.05, registry=registry)
    async def ticks(**_):
        seen("timer")

    @kopf.daemon(*CRABS, cancellation_timeout=1, registry=registry)
    async def daemon(stopped, **_):
        seen("daemon")
        await stopped.wait()

    return registry


@contextlib.asynccontextmanager
async def running(seen, namespace):
    """Run the operator; yields when it is ready."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    ready, stop = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(
        kopf.operator(
            registry=operator(seen),
            settings=settings,
            standalone=True,
            namespaces=[namespace],
            ready_flag=ready,
            stop_flag=stop,
        )
    )
    async with asyncio.timeout(PATIENCE):
        await ready.wait()
    try:
        yield
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE):
            await task


async def test_an_operator_handles_an_object_from_creation_to_deletion(
    kube, kubeconfig, namespace, crab, monkeypatch
):
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    seen, where = Seen(), (f"{GROUP}/v1/crabs", "o", namespace)
    async with running(seen, namespace):
        await kube.aio.create(crab("o", size=1))
        for what in ("created", "timer", "daemon"):
            await seen.wait(what)
        await phase(kube, where, "size 1")
        assert (await kube.aio.get(*where))["metadata"]["finalizers"]
        await kube.aio.patch(*where, patch={"spec": {"size": 2}})
        await seen.wait("updated")
        await phase(kube, where, "size 2")
        await kube.aio.delete(*where)
        await seen.wait("deleted")
        await gone(kube, where)


async def phase(kube, where, wanted):
    """Wait until the status has this phase."""

    async def is_so():
        obj = await kube.aio.get(*where)
        return obj.get("status", {}).get("phase") == wanted

    await kube.aio.wait_for(is_so, within=PATIENCE)


async def gone(kube, where):
    """Wait until the object is deleted."""

    async def is_so():
        objects = await kube.aio.list(where[0])
        return where[1] not in [obj["metadata"]["name"] for obj in objects]

    await kube.aio.wait_for(is_so, within=PATIENCE)
