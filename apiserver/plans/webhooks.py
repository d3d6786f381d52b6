"""The webhooks that would be called for an object.

Their configurations are not in the fork, because nobody would answer them there.
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


def called(hooks: Iterable[Hook], write: Write) -> list[str]:
    """Return the names of the webhooks that match a write. matchConditions are not evaluated."""
    request = matching.Request(
        write.operation, write.resource, namespace=write.object["metadata"].get("namespace", "")
    )
    return [
        hook.name
        for hook in hooks
        if hook.match(request, ()) is not None
        and matching.either_matches(hook.objects, write.object)
        and (not request.namespace or matching.either_matches(hook.namespaces, write.namespace))
    ]
