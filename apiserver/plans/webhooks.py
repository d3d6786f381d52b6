"""The webhooks that judge an object: those that would be called, and those that are.

By default, their configurations are not in the fork. To call them, the fork contains those without
side effects of dry runs, with a condition: they are called for dry runs only.
"""

from collections.abc import Iterable
from typing import NamedTuple

import orjson

from inkube.apiserver.registry import keys
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import Hook, matching
from inkube.storage import Record

PREFIXES = tuple(
    keys.prefix(plural)
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
)


class Write(NamedTuple):
    """A write that webhooks can judge: its operation, its resource, the object, its namespace."""

    operation: str
    resource: GVR
    object: Object
    namespace: Object | None


def stored(records: Iterable[Record]) -> list[Hook]:
    """Return the webhooks of the configurations among the rows of a log."""
    newest = {row.key: row for row in records if row.key.startswith(PREFIXES)}
    return [
        Hook(spec)
        for row in newest.values()
        if not row.deleted
        for spec in orjson.loads(row.data).get("webhooks") or ()
    ]


_ONLY_DRY_RUNS = {"name": "plans.inkube.dev", "expression": "request.dryRun"}


def callable_only(row: Record) -> Record:
    """Return the row of a configuration with only the webhooks that permit dry runs."""
    obj = orjson.loads(row.data)
    obj["webhooks"] = [
        {**spec, "matchConditions": [*(spec.get("matchConditions") or ()), _ONLY_DRY_RUNS]}
        for spec in obj.get("webhooks") or ()
        if Hook(spec).dry_runs
    ]
    return row._replace(data=orjson.dumps(obj))


def called(hooks: Iterable[Hook], write: Write) -> list[Hook]:
    """Return the webhooks that match a write. matchConditions are not evaluated."""
    request = matching.Request(
        write.operation, write.resource, namespace=write.object["metadata"].get("namespace", "")
    )
    return [
        hook
        for hook in hooks
        if hook.match(request, ()) is not None
        and matching.either_matches(hook.objects, write.object)
        and (not request.namespace or matching.either_matches(hook.namespaces, write.namespace))
    ]
