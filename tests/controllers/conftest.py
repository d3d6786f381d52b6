"""A cluster in memory for controllers: a Client of dicts, and kinds plugged in as a server does."""

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import jsonpatch
import pytest

from inkube.controllers.client import Event, ObjectList, Selection
from inkube.controllers.clock import FakeClock
from inkube.controllers.environment import Environment, Recheck
from inkube.controllers.events import Recorder
from inkube.controllers.manager import Manager
from inkube.schemas import meta, status
from inkube.schemas.meta import GVR

CORE = {"Secret": "secrets", "Event": "events", "ConfigMap": "configmaps"}
EVERYTHING = Selection()


class MemoryClient:
    """The Client protocol over a dict, with every version kept for watches."""

    def __init__(self, clock, modules=()):
        self.clock = clock
        self.modules = {module.model.gvr: module for module in modules}
        self.environment = None
        self.objects = {}
        self.history = []
        self.oldest = 0
        self.requests = []
        self._revision = itertools.count(1)
        self._uids = itertools.count(1)
        self._changed = asyncio.Condition()

    @property
    def newest(self):
        return self.history[-1][0] if self.history else 0

    async def get(self, resource, name, namespace="", *, subresource=""):
        gvr = _gvr(resource)
        found = self.objects.get((gvr, namespace, name))
        if found is None:
            raise status.not_found(gvr.group, gvr.resource, name)
        return copy.deepcopy(found)

    async def list(self, resource, selection=EVERYTHING):
        gvr = _gvr(resource)
        items = [
            copy.deepcopy(obj)
            for (found, namespace, _), obj in sorted(self.objects.items())
            if found == gvr and selection.namespace in ("", namespace)
        ]
        self.requests.append(("list", gvr.resource, ""))
        return ObjectList(items, str(self.newest))

    async def revision(self, resource):
        gvr = _gvr(resource)
        return str(next((row[0] for row in reversed(self.history) if row[1] == gvr), 0))

    async def watch(self, resource, selection=EVERYTHING, *, resource_version=""):
        gvr, seen = _gvr(resource), int(resource_version or 0)
        if seen < self.oldest:
            raise status.expired("too old resource version")
        position = 0
        while True:
            for revision, found, event in self.history[position:]:
                if revision > seen and found == gvr:
                    yield copy.deepcopy(event)
            position = len(self.history)
            async with self._changed:
                await self._changed.wait_for(lambda at=position: len(self.history) > at)

    async def create(self, obj, *, dry_run=False):
        obj = copy.deepcopy(obj)
        gvr = self._resource(obj)
        metadata = obj["metadata"]
        key = (gvr, metadata.get("namespace", ""), metadata["name"])
        if key in self.objects:
            raise status.already_exists(gvr.group, gvr.resource, metadata["name"])
        obj.pop("status", None)
        metadata["uid"] = f"uid-{next(self._uids)}"
        metadata["generation"] = 1
        metadata["creationTimestamp"] = meta.format_time(self.clock.now())
        await self._admit(gvr, obj, None, dry_run=dry_run)
        return obj if dry_run else await self._store(key, obj, "ADDED")

    async def update(self, obj, *, subresource="", dry_run=False):
        obj = copy.deepcopy(obj)
        gvr = self._resource(obj)
        metadata = obj["metadata"]
        key = (gvr, metadata.get("namespace", ""), metadata["name"])
        old = await self.get(*key[::2], key[1])
        sent = metadata.get("resourceVersion")
        if sent and sent != old["metadata"]["resourceVersion"]:
            raise status.conflict(gvr.group, gvr.resource, metadata["name"])
        if subresource == "status":
            obj = {**old, "status": obj.get("status")}
            return await self._change(key, obj, old)
        obj["metadata"] = {**obj["metadata"], **_kept(old)}
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
        await self._admit(gvr, obj, old, dry_run=dry_run)
        if dry_run:
            return obj
        if _without_bookkeeping(old) != _without_bookkeeping(obj):
            obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
        return await self._change(key, obj, old)

    async def patch(self, resource, name, namespace="", **options):
        obj = await self.get(resource, name, namespace)
        if options.get("type", "merge") == "json":
            try:
                obj = jsonpatch.apply_patch(obj, options["patch"])
            except jsonpatch.JsonPatchTestFailed as error:
                raise status.StatusError(422, "Invalid", "test failed") from error
        else:
            obj = _merge(obj, options["patch"])
        self.requests.append(("patch", _gvr(resource).resource, options.get("subresource", "")))
        return await self.update(obj, subresource=options.get("subresource", ""))

    async def delete(self, resource, name, namespace="", *, options=None):
        gvr = _gvr(resource)
        old = await self.get(gvr, name, namespace)
        module = self.modules.get(gvr)
        if module is not None:
            errors = await module.check_delete(old, self.environment)
            if errors:
                raise status.invalid(gvr.group, old["kind"], name, errors)
        del self.objects[gvr, namespace, name]
        await self._log(gvr, "DELETED", old)
        return old

    def compact(self):
        self.oldest = self.newest
        self.history = self.history[-1:]

    async def _admit(self, gvr, obj, old, *, dry_run):
        module = self.modules.get(gvr)
        if module is None:
            return
        module.mutate(obj, old)
        errors = module.validate(obj, old)
        if not errors and dry_run:
            errors = await module.check(obj, old, self.environment)
        if errors:
            raise status.invalid(gvr.group, obj["kind"], obj["metadata"]["name"], errors)
        if not dry_run:
            await module.persist(obj)

    async def _change(self, key, obj, old):
        if obj == old:
            return old
        return await self._store(key, obj, "MODIFIED")

    async def _store(self, key, obj, event):
        self.objects[key] = obj
        await self._log(key[0], event, obj)
        return copy.deepcopy(obj)

    async def _log(self, gvr, event, obj):
        revision = next(self._revision)
        obj["metadata"]["resourceVersion"] = str(revision)
        self.history.append((revision, gvr, Event(event, copy.deepcopy(obj))))
        async with self._changed:
            self._changed.notify_all()

    def _resource(self, obj):
        group, version = meta.split_api_version(obj["apiVersion"])
        for gvr, module in self.modules.items():
            if (gvr.group, gvr.version, module.model.gvk.kind) == (group, version, obj["kind"]):
                return gvr
        return GVR(group, version, CORE.get(obj["kind"], obj["kind"].lower() + "s"))


class Cluster:
    """A client, a manager and the environment of its kinds."""

    def __init__(self, clock, modules=(), services=None, recheck=None, **options):
        self.clock = clock
        self.client = options.get("client") or MemoryClient(clock)
        self.client.modules = {module.model.gvr: module for module in modules}
        self.manager = Manager(self.client, clock)
        self.env = Environment(
            client=self.client,
            clock=clock,
            informers=self.manager.informers,
            events=Recorder(self.client, clock),
            services=services or {},
            recheck=recheck or Recheck(),
            retry_seconds=options.get("retry_seconds", 10.0),
        )
        self.client.environment = self.env
        for module in modules:
            for controller in module.controllers(self.env):
                self.manager.add(controller)

    async def settled(self):
        async with asyncio.timeout(20):
            await self.manager.settled()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def new_client(clock):
    return lambda *modules: MemoryClient(clock, modules)


@pytest.fixture
def running():
    """`async with running(modules…) as cluster`: the kinds' controllers at work."""

    @asynccontextmanager
    async def run(*modules, clock=None, **options) -> AsyncIterator[Cluster]:
        cluster = Cluster(clock or FakeClock(), modules, **options)
        async with cluster.manager:
            yield cluster

    return run


def _gvr(resource):
    return GVR.parse(resource) if isinstance(resource, str) else resource


def _kept(old):
    wanted = ("uid", "generation", "creationTimestamp", "resourceVersion")
    return {name: old["metadata"][name] for name in wanted}


def _without_bookkeeping(obj):
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _merge(target, patch):
    merged = dict(target)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merge(merged[name], value)
        else:
            merged[name] = value
    return merged
