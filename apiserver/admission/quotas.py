"""ResourceQuota admission: no object beyond the counts its namespace allows.

What is allowed is charged to the quota's status at once; `controllers.core.quotas` counts anew when
objects go. Follows apiserver/pkg/admission/plugin/resourcequota (controller.go, checkRequest).
"""

from typing import Any

import orjson

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.admission import Attributes, Operation, Plugin
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.resources import Resource
from inkube.schemas import status
from inkube.schemas.builtin import quotas
from inkube.storage import errors
from inkube.storage.entry import Entry
from inkube.storage.store import Store

Object = dict[str, Any]
_PREFIX = keys.prefix("resourcequotas")


class QuotaAdmission(Plugin):
    """Refuses and charges creates. Has to be the last plugin: what it allows is counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._limited: frozenset[str] | None = None
        """The namespaces that have quotas; None when they must be read anew."""
        store.subscribe(_PREFIX, deliver=self._changed)  # ends with the store

    def _changed(self, changes: object) -> None:
        self._limited = None

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.namespaced and operation == "CREATE"

    async def validate(self, attributes: Attributes) -> None:
        call, obj = attributes.call, attributes.object or {}
        if call.subresource:
            return  # a token is no further service account
        if self._limited is None:
            self._limited = frozenset(e.key.split("/")[3] for e in self._store.list(_PREFIX))
        if call.namespace not in self._limited:
            return
        for entry in self._store.list(f"{_PREFIX}{call.namespace}/"):
            await self._charge(attributes, entry.key, obj)

    async def _charge(self, attributes: Attributes, key: str, obj: Object) -> None:
        call = attributes.call
        while (entry := self._store.get(key)) is not None:
            hard = quotas.limits(entry.value)
            requested = _requested(call, hard, obj)
            if not requested:
                return
            used = self._used(call, entry, requested)
            beyond = quotas.exceeded(hard, used, requested)
            if beyond:
                why = quotas.refusal(entry.value["metadata"]["name"], beyond)
                raise status.forbidden(call.resource.group, call.resource.plural, call.name, why)
            if attributes.dry_run or self._store.get(call.key) is not None:
                return
            if await self._write(entry, {name: used[name] + requested[name] for name in requested}):
                return

    def _used(self, call: Call, entry: Entry, names: dict[str, int]) -> dict[str, int]:
        """As the status says, unless more objects are there already."""
        known = (entry.value.get("status") or {}).get("used") or {}
        return {name: max(int(known.get(name, 0)), self._stored(call, name)) for name in names}

    def _stored(self, call: Call, name: str) -> int:
        prefix = call.resource.key(call.namespace, "")
        if quotas.is_plain(name):
            return self._store.count(prefix)
        return quotas.total(name, (entry.value for entry in self._store.list(prefix)))

    async def _write(self, entry: Entry, used: dict[str, int]) -> bool:
        """Store the new usage; False when somebody else wrote the quota meanwhile."""
        quota: Object = orjson.loads(entry.data)
        quota["metadata"].pop("resourceVersion", None)
        known = (quota.get("status") or {}).get("used") or {}
        texts = {name: str(amount) for name, amount in used.items()}
        hard = quota["spec"]["hard"]
        quota["status"] = {"hard": hard, "used": dict(sorted({**known, **texts}.items()))}
        try:
            await self._store.update(entry.key, quota, entry.revision)
        except (errors.Conflict, errors.NotFound):
            return False
        return True


def _requested(call: Call, hard: dict[str, str], obj: Object) -> dict[str, int]:
    """What the new object uses of the quota's names."""
    place = (call.resource.group, call.resource.plural)
    found = {name: quotas.usage(name, obj) for name in hard if quotas.counted(name) == place}
    return {name: amount for name, amount in found.items() if amount}
