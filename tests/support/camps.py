"""The kind Tent with controllers inside the server: right ones, and with one planted bug each."""

from collections.abc import Awaitable, Callable
from typing import Any

from inkube.apiserver.explore import InProcess, apply, patch
from inkube.client import Client
from inkube.kinds import (
    Controller,
    Environment,
    Key,
    KindModule,
    Model,
    Reason,
    Resource,
    Status,
    StatusError,
    Watch,
)

MAPS, SECRETS, TENTS = "v1/configmaps", "v1/secrets", "camp.example/v1/tents"


class TentSpec(Model):
    poles: int = 2
    colour: str = ""


class TentStatus(Status):
    poles: int = 0
    looks: int = 0
    phase: str = ""


class Tent(Resource, group="camp.example", version="v1"):
    spec: TentSpec
    status: TentStatus = TentStatus()


TENT = {
    "apiVersion": "camp.example/v1",
    "kind": "Tent",
    "metadata": {"name": "a"},
    "spec": {"poles": 2},
}
KEY = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key", "namespace": "default"},
    "data": {"token": "b2xk"},
}
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "default"},
}
ROTATE = patch(SECRETS, "key", {"data": {"token": "bmV3"}})
CREATE = apply(TENT)
CHANGE = patch(TENTS, "a", {"spec": {"poles": 3}})
FEWER = patch(TENTS, "a", {"spec": {"poles": 1}})
Reconcile = Callable[["Camp", Key], Awaitable[None]]
"""Handles a key, whose tent may be gone."""


class Camp:
    """What the controllers use of a client."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.client: Client = environment.client
        self.memory: dict[str, Any] = {}
        """What a controller keeps until its server ends."""

    async def find(self, resource: str, name: str, namespace: str = "default") -> Any:
        """Return an object, or None."""
        try:
            return await self.client.get(resource, name, namespace)
        except StatusError as error:
            if error.reason != Reason.NOT_FOUND:
                raise
            return None

    async def create(self, kind: str, name: str, **rest: Any) -> None:
        """Create an object in the core group."""
        meta = {"name": name, "namespace": "default", **rest.pop("metadata", {})}
        await self.client.create({"apiVersion": "v1", "kind": kind, "metadata": meta, **rest})

    async def remove(self, resource: str, name: str) -> None:
        """Delete an object, if it exists."""
        try:
            await self.client.delete(resource, name, "default")
        except StatusError as error:
            if error.reason != Reason.NOT_FOUND:
                raise

    async def tell(self, tent: Any, **status: Any) -> None:
        """Write members of the status."""
        await self.client.patch(
            Tent.gvr, tent["metadata"]["name"], "default",
            patch={"status": status}, subresource="status",
        )  # fmt: skip


def _only_tent(change: Any) -> list[Key]:
    """Return the key of the only tent, for changes of other objects."""
    return [Key("default", "a")]


def camp(reconcile: Reconcile, *watched: str) -> InProcess:
    """Return a server with the kind, whose controller watches tents and these resources."""

    def controllers(env: Environment) -> list[Controller]:
        camp = Camp(env)
        return [
            Controller(
                "camp",
                lambda key: reconcile(camp, key),
                (Watch(Tent.gvr), *(Watch(resource, _only_tent) for resource in watched)),
            )
        ]

    return InProcess({"kinds": [KindModule(Tent, extra_controllers=controllers)]})


def owned_by(tent: Any) -> Any:
    """Return the owner reference to a tent."""
    meta = tent["metadata"]
    owner = {"apiVersion": "camp.example/v1", "kind": "Tent"}
    return [{**owner, "name": meta["name"], "uid": meta["uid"]}]


async def _copy(camp: Camp, tent: Any, owner: Any, **data: str) -> None:
    """Let the ConfigMap of a tent have this data."""
    name = tent["metadata"]["name"]
    present = await camp.find(MAPS, name)
    if present is None:
        await camp.create("ConfigMap", name, metadata={"ownerReferences": owner}, data=data)
    elif present["data"] != data:
        await camp.client.patch(MAPS, name, "default", patch={"data": data})


async def right(camp: Camp, key: Any) -> None:
    """Copies `poles` into a ConfigMap, then into the status."""
    tent = await camp.find(TENTS, key.name)
    if tent is None:
        return
    poles = tent["spec"]["poles"]
    await _copy(camp, tent, owned_by(tent), poles=str(poles))
    if tent.get("status", {}).get("poles") != poles:
        await camp.tell(tent, poles=poles)


async def tells_early(camp: Camp, key: Any) -> None:
    """Writes its status before the work, and then trusts it."""
    tent = await camp.find(TENTS, key.name)
    if tent is None or tent.get("status", {}).get("poles") == tent["spec"]["poles"]:
        return
    await camp.tell(tent, poles=tent["spec"]["poles"])
    await _copy(camp, tent, owned_by(tent), poles=str(tent["spec"]["poles"]))


async def raises(camp: Camp, key: Any) -> None:
    """Takes an existing ConfigMap for a defect."""
    tent = await camp.find(TENTS, key.name)
    if tent is None or tent.get("status", {}).get("poles") == tent["spec"]["poles"]:
        return
    if await camp.find(MAPS, key.name) is not None:
        raise KeyError("exists")
    await _copy(camp, tent, owned_by(tent), poles=str(tent["spec"]["poles"]))
    await camp.tell(tent, poles=tent["spec"]["poles"])


async def never_resets(camp: Camp, key: Any) -> None:
    """Says that a tent is big, and never that it is big no more."""
    tent = await camp.find(TENTS, key.name)
    if tent is None:
        return
    await _copy(camp, tent, owned_by(tent), poles=str(tent["spec"]["poles"]))
    if tent["spec"]["poles"] > 2 and tent.get("status", {}).get("phase") != "Big":
        await camp.tell(tent, phase="Big")


async def remembers_the_owner(camp: Camp, key: Any) -> None:
    """Keeps the uid of a tent by its name, also for another tent of that name later."""
    tent = await camp.find(TENTS, key.name)
    if tent is not None:
        owner = camp.memory.setdefault(key.name, owned_by(tent))
        await _copy(camp, tent, owner, poles=str(tent["spec"]["poles"]))


async def _with_token(camp: Camp, key: Any, *, keeps: bool) -> None:
    tent, secret = await camp.find(TENTS, key.name), await camp.find(SECRETS, "key")
    if tent is None or secret is None:
        return
    token = (secret.get("data") or {}).get("token", "")
    if keeps:
        token = camp.memory.setdefault("token", token)
    await _copy(camp, tent, owned_by(tent), token=token, poles=str(tent["spec"]["poles"]))


async def never_reloads(camp: Camp, key: Any) -> None:
    """Reads a Secret once, and uses it after its rotation."""
    await _with_token(camp, key, keeps=True)


async def reloads(camp: Camp, key: Any) -> None:
    """Reads the Secret each time."""
    await _with_token(camp, key, keeps=False)


async def _with_guests(camp: Camp, key: Any, *, drains_first: bool) -> None:
    """A ConfigMap for each pole, and a Secret for its guest."""
    tent = await camp.find(TENTS, key.name)
    if tent is None:
        return
    names = [f"{key.name}-{number}" for number in range(4)]
    poles = tent["spec"]["poles"]
    for name in names[:poles]:
        for resource, kind in ((MAPS, "ConfigMap"), (SECRETS, "Secret")):
            if await camp.find(resource, name) is None:
                await camp.create(kind, name, metadata={"ownerReferences": owned_by(tent)})
    for name in names[poles:]:
        if await camp.find(MAPS, name) is not None:
            for resource in (SECRETS, MAPS) if drains_first else (MAPS, SECRETS):
                await camp.remove(resource, name)


async def scales_down_first(camp: Camp, key: Any) -> None:
    """Removes a pole, and then its guest: a crash in between forgets the guest."""
    await _with_guests(camp, key, drains_first=False)


async def drains_first(camp: Camp, key: Any) -> None:
    """The right order of the same."""
    await _with_guests(camp, key, drains_first=True)


async def overwrites(camp: Camp, key: Any) -> None:
    """Replaces a ConfigMap that it has read, without its version: changes in between are lost."""
    settings = await camp.find(MAPS, "settings")
    if settings is not None and "seen" not in settings["metadata"].get("annotations", {}):
        del settings["metadata"]["resourceVersion"]
        settings["metadata"]["annotations"] = {"seen": "yes"}
        await camp.client.update(settings)


async def compares_defaults(camp: Camp, key: Any) -> None:
    """Takes a field that the server has set (`type` of a Secret) for a difference, if a tent has a
    colour, and writes without end."""
    tent = await camp.find(TENTS, key.name)
    if tent is None:
        return
    wanted: Any = {"type": ""} if tent["spec"].get("colour") else {"type": "Opaque"}
    present = await camp.find(SECRETS, key.name)
    if present is None:
        await camp.create("Secret", key.name, metadata={"ownerReferences": owned_by(tent)})
    elif present["type"] != wanted["type"]:
        times = int(present["metadata"].get("annotations", {}).get("writes", "0")) + 1
        note = {"metadata": {"annotations": {"writes": str(times)}}}
        await camp.client.patch(SECRETS, key.name, "default", patch=note)
