"""Patches that changed nothing, known again when they come again.

An operator applies what it wants in every round, and mostly that is there already. To find that out
takes ten times as long as a GET; the same patch of the same state has the same outcome, as long as
nobody is asked who may answer otherwise the next time. Remembered is what led to "unchanged", by
digest, with the version of the object and the warnings; an object that is written, a kind that is
served otherwise, a webhook or policy for it make all of that worthless. `handlers` asks before it
reads a patch. What that saves is in docs/performance.md.
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
"""Patches that are remembered of each kind, some 200 bytes each."""
_DIGEST: Final = 16


class Repeat(NamedTuple):
    """A patch that may be known: how it is found, and whether it can be remembered."""

    key: bytes
    told: int
    """Warnings of the call before the patch was looked at."""


class Known(NamedTuple):
    """What a patch came to."""

    revision: int
    warnings: Sequence[str]


class Repeats:
    """See the module."""

    def __init__(self, store: BaseStore, chain: Chain) -> None:
        self._store = store
        self._chain = chain

    def of(self, call: Call, kind: str, body: bytes) -> Repeat | None:
        """How a patch is remembered; None where it is not: what webhooks, policies or other plugins
        see, and kinds that share what they are given with others."""
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
        """The object, if the patch left it as it is now; the call is warned as it was then."""
        known = _of(call.resource).get(repeat.key)
        entry = None if known is None else self._store.get(call.key)
        if known is None or entry is None or entry.revision != known.revision:
            return None
        for text in known.warnings:
            call.warn(text)
        return entry

    def note(self, call: Call, repeat: Repeat, outcome: Outcome) -> None:
        """Remember a patch that changed nothing."""
        if outcome.changed:
            return
        found = _of(call.resource)
        found[repeat.key] = Known(outcome.entry.revision, tuple(call.warnings)[repeat.told :])
        found.move_to_end(repeat.key)
        if len(found) > MOST:
            found.popitem(last=False)

    def count(self, resource: Resource) -> int:
        """How many are remembered of a kind."""
        return len(_of(resource))


def _of(resource: Resource) -> OrderedDict[bytes, Known]:
    """Those of a kind, which are forgotten when it is served otherwise."""
    return resource.once(Repeats, OrderedDict[bytes, Known])
