"""A kind as it is served: its definition with its strategy, its wording and, if its versions need
one, its converter."""

import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.renewals import Renewals
from inkube.apiserver.registry.transactions import Transactor
from inkube.schemas import crds, wordings
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.strategy import Strategy
from inkube.storage import Entry, columns

T = TypeVar("T")
Handler = Callable[[Any], Awaitable[Any]]
"""Responds to an exchange of `handlers.verbs`."""


class Converter(Protocol):
    """Converts objects between versions over the network; combines with any strategy."""

    async def convert(
        self, objects: Sequence[Object], api_version: str, anew: bool = False
    ) -> list[Object]:
        """Return copies in that version, which the caller can change. Raises StatusError 500.

        `anew` ignores recent results of conversion.
        """
        ...


class Resource:
    """A kind as it is served now. Objects stored after the revision `since` fit its schema.

    With `stored_as`, its objects are stored as those of another resource. If its form cannot be
    converted back to the stored object, the kind is a view (`is_view`): a converter makes its
    objects, and its transactor decides which object is stored. `serve` makes the `Served` of a
    version. `also` are the versions of other resources with the same objects: their managers can
    own fields.
    """

    def __init__(
        self,
        definition: Definition,
        make_strategy: Callable[[], Strategy],
        *,
        serve: Callable[[Definition, Version], Served] | None = None,
        converter: Converter | None = None,
        transactor: Transactor | None = None,
        stored_as: "Resource | None" = None,
        also: Sequence[Served] = (),
        since: int = 0,
        is_view: bool = False,
        handlers: Mapping[str, Handler | None] | None = None,
    ) -> None:
        self.definition = definition
        self._make_strategy = make_strategy
        self.converter = converter
        """Converts objects to other versions; None if the code of `Served` converts them."""
        self.transactor = transactor
        """The kind's code around its writes, between the last check and the commit; or None."""
        self.wording = wordings.of(definition)
        self.is_view = is_view
        self.handlers = handlers or {}
        """Handlers of subresources that only this kind has, by name. None as a handler means that
        the subresource is another address of the object: the handlers of the verbs serve it."""
        self.group = definition.group
        self.plural = definition.names.plural
        self.kind = definition.names.kind
        self.namespaced = definition.namespaced
        self.is_namespaces = (self.group, self.plural) == ("", "namespaces")
        self.since = since
        self.installed = time.monotonic()
        serve = serve or crds.CustomServed
        self.versions = {each.name: serve(definition, each) for each in definition.versions}
        self.also = also
        own = self.versions[definition.storage_version.name]
        self.storage: Served = own if stored_as is None else stored_as.storage
        self.prefix: str = self._own_prefix() if stored_as is None else stored_as.prefix
        self._renewals = Renewals()
        self._computed: dict[Hashable, Any] = {}
        self.watchers: set[Callable[[], None]] = set()
        """Functions that end the watches of this kind. Called if the schema of the kind changes or
        the kind is no longer served, because running watches would use the old schema."""

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy of the kind. The first use imports and creates it."""
        return self._make_strategy()

    def _own_prefix(self) -> str:
        return keys.prefix(self.plural, self.group if self.wording.keys_have_group else "")

    def decode(
        self,
        served: Served,
        obj: Object,
        unknown: list[str] | None,
        empties: list[Empty] | None = None,
        *,
        restored: bool = False,
    ) -> Object:
        """Return an incoming object with its types and defaults. Adds unknown fields to `unknown`,
        and omitted empty lists and maps to `empties`. `restored` is the merged object of an apply
        or a strategic patch.

        Can change the object in place. Raises DecodeError if a value does not fit its field.
        """
        decode = served.decode_restored if restored else served.decode
        made = decode(obj, unknown, empties)
        self.strategy.default(made)
        return made

    def decode_admitted(self, served: Served, obj: Object, kind: GVK) -> Object:
        """Return an object that a webhook changed, with its types and defaults.

        `kind` differs from the kind of the version if a subresource has its own kind of objects.
        """
        made = served.decode_admitted(obj, kind)
        if kind == served.gvk:
            self.strategy.default(made)
        return made

    def once(self, key: Hashable, create: Callable[[], T]) -> T:
        """Return the result of `create`, cached under the key `key` as long as the resource."""
        made: T | None = self._computed.get(key)
        if made is None:
            made = self._computed[key] = create()
        return made

    def forget(self) -> None:
        """Drop the results of `once`."""
        self._computed.clear()

    def replace(self, former: "Resource") -> None:
        """Replace the resource served until now. Its watches continue if the schema is the same
        (for example, a definition that is being deleted deletes its objects); else they end
        (customresource_handler.go, tearDown)."""
        if former.since == self.since:
            self.watchers = former.watchers
        else:
            former.end_watches()

    def end_watches(self) -> None:
        """End all watches: the kind has another schema or is no longer served."""
        for end in tuple(self.watchers):
            end()

    def served(self, version: str) -> Served | None:
        """Return that version if it is served, else None."""
        found = self.versions.get(version)
        return found if found is not None and found.version.served else None

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object. With `name` "", return the prefix of a namespace."""
        return f"{self.prefix}{namespace}/{name}" if namespace else f"{self.prefix}{name}"

    def view(self, entry: Entry, served: Served) -> Object:
        """Return the stored object in a version. It is shared: do not change it.

        If the resource has a converter, the entry must come from `conversions.shown`.
        """
        if self.converter is not None:
            assert entry.value["apiVersion"] == served.api_version, "conversions.shown comes first"
            return entry.value
        renewed = self._renewed(entry)
        if renewed is not None and renewed["apiVersion"] == served.api_version:
            return renewed
        if renewed is None and served is self.storage:
            return entry.value
        return served.converted(entry.value if renewed is None else renewed)

    def reshape(self, obj: Object, api_version: str) -> Object:
        """Return an object in the form of another version for field ownership. It shares parts with
        `obj` and is not pruned, as in upstream's nopConverter."""
        return self.storage.reshape(obj, api_version)

    def shows(self, entry: Entry, served: Served) -> bool:
        """Return whether the entry's bytes are the object in that version."""
        if self.converter is not None:
            return True
        return served is self.storage and (
            not entry.revision or entry.revision > self.since or self._renewed(entry) is None
        )

    def shows_all(self, entries: Sequence[Entry], served: Served) -> bool:
        """Return whether the bytes of all entries are the objects in that version. This check is
        quick: True is exact, False can be wrong (`shows`)."""
        return served is self.storage and columns.oldest(entries) > self.since

    def renewed(self, entry: Entry) -> Object:
        """Return the stored object in the version in which it is stored, with today's schema of
        that version. It is shared: do not change it."""
        is_declared = entry.value["apiVersion"].rpartition("/")[2] in self.versions
        return (self._renewed(entry) if is_declared else None) or entry.value

    def _renewed(self, entry: Entry) -> Object | None:
        """Return an object stored before `since` as today's schema of its version shows it, or None
        if nothing differs."""
        if not entry.revision or entry.revision > self.since:
            return None
        return self._renewals.of(entry, lambda: self._read_anew(entry))

    def _read_anew(self, entry: Entry) -> Object | None:
        version = entry.value["apiVersion"].rpartition("/")[2]
        stored_in = self.versions.get(version, self.storage)
        fresh = stored_in.renewed(entry.data, entry.value)
        return entry.value if fresh is None and stored_in is not self.storage else fresh
