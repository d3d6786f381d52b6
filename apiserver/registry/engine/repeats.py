"""A cache of patches that changed nothing, for clients that send them again.

An operator applies its objects in every round, and most of them are unchanged. Such a patch takes
ten times as long as a GET. The same patch of the same state has the same outcome, unless a webhook,
a policy or another plugin takes part, whose answer can change. The cache contains, for the current
version of an object, the digests of the patches without effect, and their warnings. They become
invalid with a write of the object, a changed definition of the kind, or a webhook or policy for it.
`handlers` looks a patch up before it decodes the body. A patch of an object without cached patches
costs one look-up. The option `patch_cache` disables the cache; docs/performance.md shows the gain.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.requests import Request
from inkube.apiserver.registry.resource import Resource
from inkube.storage import BaseStore, Entry

MAX_REPEATS: Final = 4096
"""Most objects in the cache of each kind."""
EACH: Final = 4
"""Most patches of each object, some 200 bytes each."""
_DIGEST: Final = 16


class UnchangedPatch(NamedTuple):
    """The patches that change nothing of one version of an object."""

    revision: int
    warnings: OrderedDict[bytes, Sequence[str]]
    """The warnings of each patch, by its digest."""


class Repeats:
    """The cache of one store."""

    def __init__(self, store: BaseStore, chain: Chain) -> None:
        self._store = store
        self._chain = chain

    async def find(self, request: Request, kind: str, body: bytes) -> Entry | None:
        """Return the stored object if the patch is cached for its newest version, else None. Adds
        the cached warnings to the request."""
        found = _of(request.resource).get(request.key)
        if found is None:
            return None
        await self._store.recent()
        entry = self._store.get(request.key)
        if entry is None or entry.revision != found.revision or not self._repeats(request.resource):
            return None
        warnings = found.warnings.get(_digest(request, kind, body))
        if warnings is None:
            return None
        for text in warnings:
            request.warn(text)
        return entry

    def note(
        self, request: Request, kind: str, body: bytes, entry: Entry, warnings: Sequence[str]
    ) -> None:
        """Add a patch that changed nothing of an entry. `warnings` are those of the patch."""
        if not self._repeats(request.resource):
            return
        objects, revision = _of(request.resource), entry.revision
        found = objects.get(request.key)
        if found is None or found.revision != revision:
            found = objects[request.key] = UnchangedPatch(revision, OrderedDict())
        objects.move_to_end(request.key)
        found.warnings[_digest(request, kind, body)] = warnings
        if len(found.warnings) > EACH:
            found.warnings.popitem(last=False)
        if len(objects) > MAX_REPEATS:
            objects.popitem(last=False)

    def count(self, resource: Resource) -> int:
        """Return the number of cached patches of a kind."""
        return sum(len(each.warnings) for each in _of(resource).values())

    def _repeats(self, resource: Resource) -> bool:
        """Return whether the outcome of an update depends on the patch and the object only: no
        plugins (webhooks, policies and others) handle it, and the kind has no converter, transactor
        or shared resources."""
        return (
            resource.converter is None
            and resource.transactor is None
            and not resource.definition.allocates
            and self._chain.is_idle(resource, "UPDATE")
        )


def _digest(request: Request, kind: str, body: bytes) -> bytes:
    digest = blake2b(body, digest_size=_DIGEST)
    beside = (request.subresource, request.served.name, request.manager, request.options)
    digest.update(repr((kind, beside, request.user)).encode())
    return digest.digest()


def _of(resource: Resource) -> OrderedDict[str, UnchangedPatch]:
    """Return the cache of a kind, by key. It belongs to this Resource, which another definition
    replaces."""
    return resource.once(Repeats, OrderedDict[str, UnchangedPatch])
