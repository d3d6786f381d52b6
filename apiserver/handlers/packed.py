"""Stored entries of built-in kinds as protobuf, each made once from its stored bytes.

What was made is kept by the stored bytes themselves, which never change: a GET is two joins, a list
one. Loaded when somebody first asks for protobuf.
"""

from typing import Final

import orjson

from inkube.apiserver.handlers import stored
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.listing import Page
from inkube.apiserver.registry.served import Served
from inkube.schemas import caches
from inkube.schemas.builtin.protobuf import envelopes
from inkube.storage.entry import Entry

ENTRIES = 65_536
BYTES = 64 * 1024 * 1024
"""Of stored bytes and messages together: 20,000 pods of about 2 KB as JSON."""
_MADE: Final[caches.Weighed[tuple[Served, bytes], bytes]] = caches.Weighed(
    __name__, "_MADE", ENTRIES, BYTES
)


def entry(call: Call, found: Entry) -> bytes:
    """One object."""
    return _MADE.get((call.served, found.data)) or _make(call, found)


def page(call: Call, found: Page) -> bytes:
    """A whole list."""
    served, get = call.served, _MADE.get
    made = [get((served, each.data)) or _make(call, each) for each in found.entries]
    kind = stored.list_kind(call)
    items = envelopes.items(served.api_version, served.kind, made)
    return envelopes.list_envelope(served.api_version, kind, found.metadata(call), items)


def _make(call: Call, found: Entry) -> bytes:
    # decoded here and let go: the objects that entries keep decoded are those of other work
    obj = orjson.loads(stored.data_of(call, found))
    made = envelopes.sealed(obj)
    return _MADE.weigh((call.served, found.data), made, len(found.data) + len(made))
