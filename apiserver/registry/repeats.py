"""A cache of patches that changed nothing, for clients that send them again.

An operator applies its objects in every round, and most of them are unchanged. Such a patch takes
ten times as long as a GET. The same patch of the same state has the same outcome, unless a webhook,
a policy or another plugin takes part, whose answer can change. The cache contains the digest of
each patch without effect, the version of the object, and the warnings. An entry becomes invalid
with a write of the object, a changed definition of the kind, or a webhook or policy for it.
`handlers` looks a patch up before it reads the body. docs/performance.md shows the gain.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.commits import Outcome
from inkube.apiserver.registry.resources import Resource
from inkube.storage import BaseStore, Entry

MOST: Final = 4096
"""Most patches in the cache of each kind, some 200 bytes each."""
_DIGEST: Final = 16


class Repeat(NamedTuple):
    """The key of a patch in the cache."""

    key: bytes
    told: int
    """Number of the call's warnings before the patch ran."""


class Known(NamedTuple):
    """The revision of the unchanged object, and the warnings of the patch."""

    revision: int
    warnings: Sequence[str]


class Repeats:
    """The cache of one store."""

    def __init__(self, store: BaseStore, chain: Chain) -> None:
        self._store = store
        self._chain = chain

    def of(self, call: Call, kind: str, body: bytes) -> Repeat | None:
        """The key of a patch; None if it is not cached: plugins (webhooks, policies and others)
        handle the update, or the kind has a converter, a transactor or shared resources."""
        resource = call.resource
        if (
            resource.converter is not None
            or resource.transactor is not None
            or resource.definition.allocates
            or not self._chain.is_idle(resource, "UPDATE")
        ):
            return None
        beside = (call.key, call.subresource, call.served.name, call.manager, call.options)
        digest = blake2b(body, digest_size=_DIGEST)
        digest.update(repr((kind, beside, call.user)).encode())
        return Repeat(digest.digest(), len(call.warnings))

    def find(self, call: Call, repeat: Repeat) -> Entry | None:
        """Return the stored object if the patch is cached for its current revision, else None. Adds
        the cached warnings to the call."""
        known = _of(call.resource).get(repeat.key)
        entry = None if known is None else self._store.get(call.key)
        if known is None or entry is None or entry.revision != known.revision:
            return None
        for text in known.warnings:
            call.warn(text)
        return entry

    def note(self, call: Call, repeat: Repeat, outcome: Outcome) -> None:
        """Add a patch to the cache if it changed nothing."""
        if outcome.changed:
            return
        found = _of(call.resource)
        found[repeat.key] = Known(outcome.entry.revision, tuple(call.warnings)[repeat.told :])
        found.move_to_end(repeat.key)
        if len(found) > MOST:
            found.popitem(last=False)

    def count(self, resource: Resource) -> int:
        """The number of cached patches of a kind."""
        return len(_of(resource))


def _of(resource: Resource) -> OrderedDict[bytes, Known]:
    """The cache of a kind. It ends with this Resource, when another definition is served."""
    return resource.once(Repeats, OrderedDict[bytes, Known])
