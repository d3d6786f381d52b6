"""A write that is refused at any step undoes its other changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

import orjson
import pytest
from secretstores import MemorySecretStore

from inkube import APIServer
from inkube.apiserver import registry
from inkube.apiserver.registry import Effect, Plugin
from inkube.controllers.clock import FakeClock
from inkube.controllers.environment import Environment
from inkube.controllers.kinds import KindModule
from inkube.controllers.secure import SecureValue, SecureValues
from inkube.controllers.transactions import Write
from inkube.schemas import status
from inkube.schemas.models import Model, Resource
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Reservation

LOCKERS = "lockers.example/v1/lockers"
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few", "namespace": "default"},
    "spec": {"hard": {"count/lockers.lockers.example": "2", "services.nodeports": "1"}},
}


class LockerSpec(Model):
    size: int = 1


class LockerSecrets(Model):
    code: SecureValue | None = None


class Locker(Resource, group="lockers.example", version="v1"):
    spec: LockerSpec = LockerSpec()
    secure: LockerSecrets = LockerSecrets()


def locker(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "lockers.example/v1",
        "kind": "Locker",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
        "secure": {"code": {"create": f"code of {name}"}},
    }


class Refuser(Plugin):
    """Refuses at one step: in `validate`, in `reserve`, or after all other reservations."""

    def __init__(self, step: str) -> None:
        self._step = step

    async def validate(self, write: registry.Write) -> None:
        if self._step == "validate":
            raise status.bad_request("refused by a validating plugin")

    def reserve(self, write: registry.Write) -> Effect | None:
        async def refuse(reservation: Reservation) -> None:
            raise status.bad_request("refused when something was written")

        return refuse if self._step == "reserve" else None


@asynccontextmanager
async def transaction(write: Write, env: Environment) -> AsyncIterator[None]:
    if write.obj is not None and write.obj["spec"].get("size") == 13:
        raise status.bad_request("refused by the transaction")
    yield


class Lockers:
    """A server with a kind, a quota for it, and one object."""

    def __init__(self, step: str = "") -> None:
        self._step = step
        self._stack = AsyncExitStack()
        self.secrets = MemorySecretStore()

    async def __aenter__(self) -> Self:
        secure = SecureValues("lockers.lockers.example", self.secrets, FakeClock())
        module = KindModule(Locker, secure=secure, transaction=transaction)
        server = APIServer(controllers=False, kinds=[module])
        self.server = await self._stack.enter_async_context(server)
        await self.server.client.create(QUOTA)
        await self.server.client.create(locker("first"))
        chain = self.server.registry.chain
        chain.plugins = (*chain.plugins, Refuser(self._step))
        for resource in self.server.resources:
            resource._computed.clear()  # cached handlers must include this plugin
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    def everything(self) -> dict[str, Any]:
        """Return everything stored, without resourceVersions, and all secrets."""
        stored = {entry.key: orjson.loads(entry.data) for entry in self.server.store.list("/")}
        for obj in stored.values():
            obj["metadata"].pop("resourceVersion", None)
        return {**stored, "secrets": dict(self.secrets._entries)}

    async def used(self) -> str:
        quota = await self.server.client.get("v1/resourcequotas", "few", "default")
        used: str = quota["status"]["used"]["count/lockers.lockers.example"]
        return used


async def test_a_stored_object_counts_in_its_quota_and_has_its_secret() -> None:
    async with Lockers() as lockers:
        await lockers.server.client.create(locker("second"))
        assert await lockers.used() == "2"
        assert len(lockers.secrets._entries) == 2


@pytest.mark.parametrize(
    ("step", "name", "size", "why"),
    [
        ("", "second", "big", "must be of type integer"),
        ("validate", "second", 1, "refused by a validating plugin"),
        ("reserve", "second", 1, "refused when something was written"),
        ("", "second", 13, "refused by the transaction"),
        ("", "first", 1, "already exists"),
    ],
    ids=["schema", "validating admission", "reserving", "transaction", "commit"],
)
async def test_a_refused_create_leaves_nothing(step: str, name: str, size: Any, why: str) -> None:
    async with Lockers(step) as lockers:
        before = lockers.everything()
        with pytest.raises(StatusError, match=why):
            await lockers.server.client.create(
                {**locker(name, size=size), "secure": {"code": {"create": "another code"}}}
            )
        assert lockers.everything() == before


async def test_an_object_that_the_quota_refuses_leaves_nothing() -> None:
    async with Lockers() as lockers:
        await lockers.server.client.create(locker("second"))
        before = lockers.everything()
        with pytest.raises(StatusError, match="exceeded quota"):
            await lockers.server.client.create(locker("third"))
        assert lockers.everything() == before


@pytest.mark.parametrize(
    ("step", "change", "why"),
    [
        ("reserve", {}, "refused when something was written"),
        ("", {"spec": {"size": 13}}, "refused by the transaction"),
        ("", {"metadata": {"resourceVersion": "1"}}, "the object has been modified"),
    ],
    ids=["reserving", "transaction", "conflict"],
)
async def test_a_refused_update_leaves_nothing(step: str, change: Any, why: str) -> None:
    async with Lockers(step) as lockers:
        before = lockers.everything()
        patch = {"secure": {"code": {"create": "another code"}}, **change}
        with pytest.raises(StatusError, match=why):
            await lockers.server.client.patch(LOCKERS, "first", "default", patch=patch)
        assert lockers.everything() == before


async def test_a_service_that_the_quota_refuses_holds_no_port() -> None:
    async with Lockers() as lockers:
        await lockers.server.client.create(service("a", 30_001))
        with pytest.raises(StatusError, match="exceeded quota"):
            await lockers.server.client.create(service("b", 30_002))
        await lockers.server.client.delete("v1/resourcequotas", "few", "default")
        await lockers.server.client.create(service("c", 30_002))


def service(name: str, port: int) -> dict[str, Any]:
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


async def test_concurrent_creates_with_one_quota_are_all_counted() -> None:
    async with Lockers() as lockers:
        outcomes = await asyncio.gather(
            *(lockers.server.client.create(locker(f"l{number}")) for number in range(8)),
            return_exceptions=True,
        )
        stored = [each for each in outcomes if isinstance(each, dict)]
        assert len(stored) == 1
        assert await lockers.used() == "2"
        assert len(lockers.secrets._entries) == 2
