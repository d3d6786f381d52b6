"""The live table of what is served: every definition, compiled lazily, behind one lookup.

A `Resource` is a definition with its strategy, its wording and, where versions differ in more than
their name, its converter. Installing a CRD puts a new Resource in place of the old one; calls under
way keep theirs.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.delegates import Delegate
from inkube.apiserver.registry.renewals import Renewals
from inkube.apiserver.registry.transactions import Transactor
from inkube.schemas import crds, wordings
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.strategy import Strategy
from inkube.schemas.wordings import Wording
from inkube.storage import Entry, columns

T = TypeVar("T")


Handler = Callable[[Any], Awaitable[Any]]
"""Answers the exchange of `handlers.verbs`, an endpoint (below) what `app` gives it."""
Endpoint = Callable[[Any, Any, Any], Awaitable[Any]]


class Converter(Protocol):
    """Converts objects between versions over the network; combines with any strategy."""

    async def convert(
        self, objects: Sequence[Object], api_version: str, anew: bool = False
    ) -> list[Object]:
        """Copies in that version, for the caller to change. Raises StatusError 500.

        `anew` forgets what was converted a moment ago.
        """
        ...


class Resource:
    """A kind as it is served now; what was stored after `since` fits its schema.

    With `stored_as` its objects are those of another resource, in other words. Such a kind
    `is_view` where its own words cannot be turned back into the stored object: a converter shows
    it, and its transactor decides what is stored. `serve` makes what serves a version.
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
        since: int = 0,
        is_view: bool = False,
        handlers: Mapping[str, Handler | None] | None = None,
    ) -> None:
        self.definition = definition
        self._make_strategy = make_strategy
        self.converter = converter
        """Who is waited for when an object is wanted in another version; None: nobody."""
        self.transactor = transactor
        """What the kind does around its writes, between their last check and their commit."""
        self.wording = wordings.of(definition)
        self.is_view = is_view
        self.handlers = handlers or {}
        """Who answers subresources that only this kind has, by name. With None it is the object
        itself, which the verbs' own handlers serve: another address of an update."""
        self.group = definition.group
        self.plural = definition.names.plural
        self.kind = definition.names.kind
        self.namespaced = definition.namespaced
        self.is_namespaces = (self.group, self.plural) == ("", "namespaces")
        self.since = since
        serve = serve or crds.CustomServed
        self.versions = {each.name: serve(definition, each) for each in definition.versions}
        own = self.versions[definition.storage_version.name]
        self.storage: Served = own if stored_as is None else stored_as.storage
        self.prefix: str = self._own_prefix() if stored_as is None else stored_as.prefix
        self._renewals = Renewals()
        self._made: dict[Hashable, Any] = {}
        self.watchers: set[Callable[[], None]] = set()
        """Called when the kind is served otherwise, or not at all: who watches it would go on to
        tell what nobody is served any more."""

    @cached_property
    def strategy(self) -> Strategy:
        """What code decides for the kind; made, and what it needs imported, on first use."""
        return self._make_strategy()

    def _own_prefix(self) -> str:
        return keys.prefix(self.plural, self.group if self.wording.keys_have_group else "")

    def decode(
        self,
        served: Served,
        obj: Object,
        unknown: list[str] | None,
        empties: list[Empty] | None = None,
    ) -> Object:
        """Give an incoming object its types and defaults; unknown fields go to `unknown`, and lists
        and maps that are left out for being empty to `empties`.

        It may be changed in place. Raises DecodeError when a value cannot be what its field is.
        """
        made = served.decode(obj, unknown, empties)
        self.strategy.default(made)
        return made

    def decode_applied(self, served: Served, obj: Object) -> Object:
        """The same for what an apply merged."""
        made = served.decode_applied(obj)
        self.strategy.default(made)
        return made

    def decode_admitted(self, served: Served, obj: Object, kind: GVK) -> Object:
        """The same for what a webhook made of an object.

        `kind` is another than the version's where a subresource takes objects of its own.
        """
        made = served.decode_admitted(obj, kind)
        if kind == served.gvk:
            self.strategy.default(made)
        return made

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this resource, made once and forgotten with the resource."""
        made: T | None = self._made.get(what)
        if made is None:
            made = self._made[what] = make()
        return made

    def replace(self, former: "Resource") -> None:
        """Take the place of the one served until now. Its watches go on where the schema is the
        same, as when a definition is about to go and deletes its objects; else they end
        (customresource_handler.go, tearDown)."""
        if former.since == self.since:
            self.watchers = former.watchers
        else:
            former.end_watches()

    def end_watches(self) -> None:
        """End all of them: the kind is served no longer as it was."""
        for end in tuple(self.watchers):
            end()

    def served(self, version: str) -> Served | None:
        """That version, if clients may use it."""
        found = self.versions.get(version)
        return found if found is not None and found.version.served else None

    def key(self, namespace: str, name: str) -> str:
        """Where an object is stored; `name` "" gives the prefix of a namespace."""
        return f"{self.prefix}{namespace}/{name}" if namespace else f"{self.prefix}{name}"

    def view(self, entry: Entry, served: Served) -> Object:
        """The stored object as a version shows it. Shared; do not change it.

        Where there is a converter the entry is one of those that `conversions.shown` gave.
        """
        if self.converter is not None:
            assert entry.value["apiVersion"] == served.api_version, "conversions.shown comes first"
            return entry.value
        renewed = self._renewed(entry)
        current = entry.value if renewed is None else renewed
        if served is self.storage:
            return current
        return served.converted(current)

    def shows(self, entry: Entry, served: Served) -> bool:
        """Whether the entry's bytes are what a reader of the version gets."""
        if self.converter is not None:
            return True
        return served is self.storage and (
            not entry.revision or entry.revision > self.since or self._renewed(entry) is None
        )

    def shows_all(self, entries: Sequence[Entry], served: Served) -> bool:
        """Whether all of them do, without a look at each; they may do even if this says no."""
        return served is self.storage and columns.oldest(entries) > self.since

    def _renewed(self, entry: Entry) -> Object | None:
        """What was stored before `since` under today's schema, None where nothing differs."""
        if not entry.revision or entry.revision > self.since:
            return None
        return self._renewals.of(entry, lambda: self.storage.renewed(entry.data, entry.value))


class Resources:
    """Every served resource, by group and plural. `revision` changes with every change."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], Resource] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._endpoints: dict[tuple[str, str, str], Endpoint] = {}
        self._deferred: frozenset[str] = frozenset()
        self._load: Callable[[], object] | None = None
        self._prepare: Callable[[], Awaitable[object]] = _nothing
        self._outline: Callable[[], Sequence[Definition] | None] = _unknown
        self._listeners: list[Callable[[], None]] = []
        self.delegates: Mapping[tuple[str, str], Delegate] = {}
        """Who else answers, by group and version."""
        self.revision = 0

    def delegate(self, delegates: Mapping[tuple[str, str], Delegate]) -> None:
        """Let these answer from now on, instead of those before; told as a change of the table."""
        self.delegates = delegates
        self._changed()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it after every change of the table; what is returned ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def defer(
        self,
        groups: Iterable[str],
        load: Callable[[], object],
        prepare: Callable[[], Awaitable[object]],
        outline: Callable[[], Sequence[Definition] | None],
    ) -> None:
        """Let `load` install these groups when one of them, or all there are, is asked for.

        `prepare` does what takes long of that, without holding the loop up. `outline` gives the
        definitions without their schemas, which is all that discovery shows, or None where they
        are known only once they are loaded.
        """
        self._deferred, self._load, self._prepare = frozenset(groups), load, prepare
        self._outline = outline

    async def loaded(self) -> None:
        """Install what was deferred, with its modules imported beside the loop.

        What asks without waiting for this has them imported while everybody waits.
        """
        if self._load is not None:
            await self._prepare()
        self.load()

    def load(self) -> None:
        """Install what was deferred."""
        load, self._load = self._load, None
        self._deferred = frozenset()
        self._outline = _unknown
        if load is not None:
            load()

    def install(self, *resources: Resource) -> None:
        """Serve them from now on, instead of those of the same group and plural."""
        formers = [self._table.get((each.group, each.plural)) for each in resources]
        for resource in resources:
            self._table[resource.group, resource.plural] = resource
            self._kinds[resource.group, resource.kind] = resource
        if any(formers):  # a kind that was served may be gone; new ones take no look at all kinds
            self._collect_kinds()
        self._changed()
        for resource, former in zip(resources, formers, strict=True):
            if former is not None:
                resource.replace(former)

    def add_endpoint(self, address: tuple[str, str, str], endpoint: Endpoint) -> None:
        """Serve something to read about namespaces at (group, version, name)."""
        self._endpoints[address] = endpoint

    def endpoint(self, group: str, version: str, name: str) -> Endpoint | None:
        """What answers there, where no resource does."""
        return self._endpoints.get((group, version, name))

    def uninstall(self, group: str, plural: str) -> None:
        """Serve it no longer; unknown ones are no error."""
        former = self._table.pop((group, plural), None)
        self._collect_kinds()
        self._changed()
        if former is not None:
            former.end_watches()

    def _collect_kinds(self) -> None:
        self._kinds = {(r.group, r.kind): r for r in self._table.values()}

    def _changed(self) -> None:
        self.revision += 1
        for listener in tuple(self._listeners):
            listener()

    def get(self, group: str, plural: str) -> Resource | None:
        """The resource of that group and plural."""
        if group in self._deferred:
            self.load()
        return self._table.get((group, plural))

    def by_kind(self, group: str, kind: str) -> Resource | None:
        """The resource that serves a kind."""
        if group in self._deferred:
            self.load()
        return self._kinds.get((group, kind))

    def installed(self) -> Iterable[Resource]:
        """Those that are installed; what was deferred is left out, and has no objects."""
        return tuple(self._table.values())

    async def definitions(self) -> Sequence[Definition]:
        """The definition of every kind, without the schema where the kind is not loaded yet."""
        outline = self._outline()
        if outline is None:
            await self.loaded()
        return (*(each.definition for each in self._table.values()), *(outline or ()))

    def is_deferred(self, group: str) -> bool:
        """Whether the kinds of a group are not loaded yet."""
        return group in self._deferred

    def __iter__(self) -> Iterator[Resource]:
        self.load()
        return iter(tuple(self._table.values()))

    def group(self, name: str) -> list[Resource]:
        """Every resource of one group."""
        if name in self._deferred:
            self.load()
        return [resource for resource in self._table.values() if resource.group == name]

    def wording(self, group: str) -> Wording:
        """How a group speaks of what it does not serve."""
        return next((resource.wording for resource in self.group(group)), wordings.EXTENSIONS)


def _unknown() -> None:
    """There is no outline."""


async def _nothing() -> None:
    """There is nothing to prepare."""
