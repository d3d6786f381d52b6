"""Secure values: `secure.token: {create: …}`, which are stored separately from their object.

A write moves a value from the object to a store, and the object keeps `{name: …}`. A dry run does
not store the value. An update without the value keeps it, `{remove: true}` removes it. A name is
that of an entry that belongs to the object, or of a core/v1 Secret in its namespace. Values are
never logged, because their classes hide them from `repr`.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from pydantic import ConfigDict, Field

from inkube.controllers.client import Client, Object
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.schemas import fielderrors, models, sealing
from inkube.schemas.clock import Clock
from inkube.schemas.fielderrors import SECURE, FieldError
from inkube.schemas.models import Model
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Reservation

MAX_STAGED = 4096
"""Values between mutation and store, at most. Values of dry runs stay until newer ones replace
them."""
_MEMBERS = frozenset({"create", "name", "remove"})
_UNKNOWN = "write one of: the value as create, the name of a stored value as name, or remove: true"
UNCLAIMED_SECONDS = 60.0
"""Seconds for which a new entry can belong to an object that is not stored yet."""


class SecureValue(Model):
    """One secure value: `create` and `remove` are written by clients, `name` is stored. The schema
    does not prune unknown members: `SecureValues` removes them and refuses the write, because users
    would notice a silently dropped value too late."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})

    create: str | None = Field(None, min_length=1, description="The value. Write-only.", repr=False)
    name: str | None = Field(
        None, min_length=1, description="The name of the entry that contains the value."
    )
    remove: bool | None = Field(None, description="Whether to delete the value.")


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored value. `owner` is `plural.group/name` of the object to which it belongs."""

    namespace: str
    name: str
    owner: str
    value: str = field(repr=False)
    created: datetime


class SecretStore(Protocol):
    """The store of values. Other code does not read them. The composition root provides it."""

    async def put(self, entry: Entry) -> None:
        """Store an entry, in place of one with the same namespace and name."""
        ...

    async def get(self, namespace: str, name: str) -> Entry | None:
        """Return the entry with a name; None if it does not exist."""
        ...

    async def delete(self, namespace: str, name: str) -> None:
        """Delete an entry. A missing entry is not an error."""
        ...

    async def owned(self, namespace: str, owner: str) -> list[Entry]:
        """Return all entries of one object."""
        ...


class SecureValues:
    """The secure values of one kind: it takes them from writes, lets checks read them, and deletes
    unused ones."""

    def __init__(self, resource: str, store: SecretStore, clock: Clock) -> None:
        self._resource = resource
        self._store = store
        self._clock = clock
        self._staged: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        self._writes: Counter[tuple[str, str]] = Counter()
        """(namespace, name) of an entry → the number of unfinished writes that store it."""
        self._key = secrets.token_bytes(32)

    def take(self, obj: Object, old: Object | None) -> None:
        """Replace values by names, in place, and merge them with those of the old object."""
        sealing.forget_last_applied(obj)
        before = (old or {}).get("secure") or {}
        given = obj.get("secure")
        if given is not None and not isinstance(given, dict):
            obj["secure"] = sealing.emptied(given)  # validation refuses it
            return
        merged = dict(before)
        for member, value in (given or {}).items():
            if _is_removal(value, before.get(member)):
                merged.pop(member, None)
            elif (kept := self._stored_form(obj, member, value)) is not None:
                merged[member] = kept
        obj.pop("secure", None)
        if merged:
            obj["secure"] = merged

    def unknown(self, obj: Object) -> list[FieldError]:
        """Return errors for values that had unknown or contradictory members when they were
        taken."""
        given = obj.get("secure")
        members = given.items() if isinstance(given, dict) else ()
        return [
            fielderrors.required(f"{SECURE}.{member}", _UNKNOWN)
            for member, value in members
            if value == {}
        ]

    def staged(self, namespace: str, name: str) -> str | None:
        """Return the value of an object that is not stored yet, for static rules; None if
        unknown."""
        entry = self._staged.get((namespace, name))
        return entry.value if entry else None

    async def persist(self, obj: Object, reservation: Reservation) -> None:
        """Store the values that were taken from this object. If its write is refused, they are
        deleted."""
        namespace = obj["metadata"].get("namespace", "")
        taken = [self._staged.pop((namespace, name), None) for name in _names(obj)]
        for entry in taken:
            if entry is None:
                continue
            place = namespace, entry.name
            if not self._writes[place] and await self._store.get(*place) is not None:
                continue  # it already belongs to the object
            self._writes[place] += 1
            reservation.hold(partial(self._unstage, place))
            reservation.written(partial(self._undo, place))
            await self._store.put(entry)

    async def _undo(self, key: tuple[str, str], current: Object | None) -> None:
        """Delete a value, unless another write of the object or the stored object names it."""
        if self._writes[key] == 1 and key[1] not in _names(current):
            await self._store.delete(*key)

    def _unstage(self, key: tuple[str, str]) -> None:
        self._writes[key] -= 1
        if not self._writes[key]:
            del self._writes[key]

    async def read(self, client: Client, key: Key, member: str, name: str) -> str | None:
        """Return the value for `secure.MEMBER.name` of an object; None if it does not exist."""
        place = (key.namespace, name)
        entry = self._staged.get(place) or await self._store.get(*place)
        if entry is not None and entry.owner == self._owner(key.name):
            return entry.value
        return await _from_secret(client, key.namespace, name, member)

    async def owns(self, key: Key, name: str) -> bool:
        """Return whether the entry with a name belongs to the object, so that only its writes
        replace it."""
        entry = await self._store.get(key.namespace, name)
        return entry is not None and entry.owner == self._owner(key.name)

    def controller(self, model: type[models.Resource], env: Environment) -> Controller:
        """Return the controller that deletes values that no object names."""

        async def reconcile(key: Key) -> Result | None:
            return await self._sweep(model, env, key)

        name = f"{self._resource} secure values"
        return Controller(name, reconcile, (Watch(model.gvr, _names_changed),))

    async def _sweep(
        self, model: type[models.Resource], env: Environment, key: Key
    ) -> Result | None:
        entries = await self._store.owned(key.namespace, self._owner(key.name))
        used = set(_names(await _current(env.client, model, key))) if entries else set()
        waiting = False
        for entry in entries:
            if entry.name in used:
                continue
            if self._clock.now() - entry.created < timedelta(seconds=UNCLAIMED_SECONDS):
                waiting = True
            else:
                await self._store.delete(entry.namespace, entry.name)
        return Result(UNCLAIMED_SECONDS) if waiting else None

    def _stored_form(self, obj: Object, member: str, value: Any) -> Any:
        """Return the stored form of a secure value; None if it is empty."""
        if not isinstance(value, dict):
            return sealing.emptied(value)
        is_removed = value.get("remove") is not None and value["remove"] is not False
        if is_removed or not value.keys() <= _MEMBERS:
            return {}
        created = value.get("create")
        if isinstance(created, str) and created:
            return {"name": self._stage(obj, member, created)}
        if "create" in value and created is not None:
            return {"create": sealing.emptied(created)}
        return {"name": value["name"]} if value.get("name") is not None else None

    def _stage(self, obj: Object, member: str, value: str) -> str:
        """Stage a value and return the entry's name. Equal values have equal names, so that a
        repeated apply does not change the object."""
        metadata = obj["metadata"]
        namespace, owner = metadata.get("namespace", ""), self._owner(metadata.get("name", ""))
        text = f"{namespace}\0{owner}\0{member}\0{value}"
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:12]
        name = f"{metadata.get('name', '')}-{member.lower()}-{digest}"
        entry = Entry(namespace, name, owner, value, self._clock.now())
        self._staged[namespace, name] = entry
        self._staged.move_to_end((namespace, name))
        while len(self._staged) > MAX_STAGED:
            self._staged.popitem(last=False)
        return name

    def _owner(self, name: str) -> str:
        return f"{self._resource}/{name}"


def _is_removal(value: Any, before: Any) -> bool:
    """Return whether a secure value is removed: `remove` is true, alone or next to the stored
    name."""
    if not isinstance(value, dict) or value.get("remove") is not True:
        return False
    others = {name: other for name, other in value.items() if name != "remove" and other}
    return not others or others == before


def _names(obj: Object | None) -> Iterator[str]:
    for value in ((obj or {}).get("secure") or {}).values():
        if isinstance(value, dict) and value.get("name"):
            yield value["name"]


def _names_changed(change: Change) -> list[Key]:
    if change.new is not None and set(_names(change.old)) == set(_names(change.new)):
        return []
    return [Key.of(change.object)]


async def _current(client: Client, model: type[models.Resource], key: Key) -> Object | None:
    try:
        return await client.get(model.gvr, key.name, key.namespace)
    except StatusError as error:
        if error.code == 404:
            return None
        raise


async def _from_secret(client: Client, namespace: str, name: str, member: str) -> str | None:
    """Return the member with a name in a core/v1 Secret, or its only member; None without it."""
    try:
        secret = await client.get("v1/secrets", name, namespace)
    except StatusError as error:
        if error.code == 404:
            return None
        raise
    data = secret.get("data") or {}
    found = data.get(member) or (next(iter(data.values())) if len(data) == 1 else None)
    if found is None:
        return None
    try:
        return base64.b64decode(found).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
