"""The live table of served resources: every kind, created lazily, behind one lookup.

Installing a CRD replaces the old Resource with a new one. Running requests keep the old one.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inkube.apiserver.registry.delegates import Delegate
from inkube.apiserver.registry.resource import Resource
from inkube.schemas import wordings
from inkube.schemas.definitions import Definition
from inkube.schemas.lazy import Lazy
from inkube.schemas.notation import Notation
from inkube.schemas.wordings import Wording

Endpoint = Callable[[Any, Any, Any], Awaitable[Any]]
"""Responds to a request. `app` passes the arguments."""


class LazyKinds(NamedTuple):
    """Kinds that are served, and created at their first lookup: a server in a test uses a few of
    the built-in kinds. The servers of a process share both mappings."""

    kinds: Mapping[tuple[str, str], str]
    """Kinds by group and plural, in the order of discovery."""
    plurals: Mapping[tuple[str, str], str]
    """The inverse: plurals by group and kind."""
    create: "Callable[[Resources, str, str], Resource]"
    """Creates the resource of a group and plural, for a table that serves the promised kinds."""


def _makes_nothing(_: "Resources", group: str, plural: str) -> Resource:
    raise LookupError(f"{plural}.{group} was not promised")


NO_LAZY_KINDS = LazyKinds({}, {}, _makes_nothing)


class DeferredKinds(NamedTuple):
    """Kinds that are installed at the first lookup of one of their groups."""

    groups: Collection[str]
    install: Lazy[object]
    """Installs the kinds."""
    prepare: Callable[[], Awaitable[object]]
    """Does the slow part of `install` without blocking the event loop."""
    outline: Callable[[], Sequence[Definition] | None]
    """Returns the definitions without their schemas, which is enough for discovery, or None if only
    `install` finds the definitions."""


class Resources:
    """Every served resource, by group and plural. `revision` changes with every change."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], Resource] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._lazy_kinds = NO_LAZY_KINDS
        self._endpoints: dict[tuple[str, str, str], Endpoint] = {}
        self._deferred: DeferredKinds | None = None
        self._deferred_groups: frozenset[str] = frozenset()
        self._listeners: list[Callable[[], None]] = []
        self.delegates: Mapping[tuple[str, str], Delegate] = {}
        """Other servers, by the group and version that they serve."""
        self.revision = 0

    def delegate(self, delegates: Mapping[tuple[str, str], Delegate]) -> None:
        """Replace the delegates. This counts as a change of the table."""
        self.delegates = delegates
        self._changed()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener after every change of the table. Returns a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def defer(self, kinds: DeferredKinds) -> None:
        """Install these kinds at the first lookup of one of their groups, or of all kinds."""
        self._deferred, self._deferred_groups = kinds, frozenset(kinds.groups)

    async def loaded(self) -> None:
        """Install the deferred groups. Their modules are imported without blocking the event loop.

        A lookup without this call imports them in the event loop.
        """
        if self._deferred is not None:
            await self._deferred.prepare()
        self.load()

    def load(self) -> None:
        """Install the deferred groups."""
        deferred = self._deferred
        self._forget_deferred()
        if deferred is not None:
            deferred.install()

    def close(self) -> None:
        """Forget how deferred groups are loaded, and what was made for the kinds, because the
        server has stopped. Both refer to this table."""
        self._forget_deferred()
        for resource in self._table.values():
            resource.forget()

    def _forget_deferred(self) -> None:
        self._deferred, self._deferred_groups = None, frozenset()

    def install_lazy(self, lazy_kinds: LazyKinds) -> None:
        """Serve these kinds, each of which is created at its first lookup. Called once, on an empty
        table."""
        self._lazy_kinds = lazy_kinds
        self._changed()

    def _existing(self, group: str, plural: str) -> Resource | None:
        """Return a promised resource, created at the first call, or None if it is not promised."""
        if (group, plural) not in self._lazy_kinds.kinds:
            return None
        made = self._table.setdefault((group, plural), self._lazy_kinds.create(self, group, plural))
        self._kinds[group, made.kind] = made
        return made

    def _all(self) -> dict[tuple[str, str], Resource]:
        """Return the table with all promised resources, in the order of the promise."""
        kinds = self._lazy_kinds.kinds
        if kinds:
            made = {name: self._table.get(name) or self._existing(*name) for name in kinds}
            self._lazy_kinds = NO_LAZY_KINDS
            self._table = {**{k: v for k, v in made.items() if v is not None}, **self._table}
            self._collect_kinds()
        return self._table

    def install(self, *resources: Resource) -> None:
        """Serve these resources. They replace resources of the same group and plural."""
        if any((each.group, each.plural) in self._lazy_kinds.kinds for each in resources):
            self._all()
        formers = [self._table.get((each.group, each.plural)) for each in resources]
        for resource in resources:
            self._table[resource.group, resource.plural] = resource
            self._kinds[resource.group, resource.kind] = resource
        if any(formers):  # a replaced resource can have had another kind
            self._collect_kinds()
        self._changed()
        for resource, former in zip(resources, formers, strict=True):
            if former is not None:
                resource.replace(former)

    def add_endpoint(self, address: tuple[str, str, str], endpoint: Endpoint) -> None:
        """Serve a read-only resource of namespaces at (group, version, name)."""
        self._endpoints[address] = endpoint

    def endpoint(self, group: str, version: str, name: str) -> Endpoint | None:
        """Return the endpoint at that address, or None."""
        return self._endpoints.get((group, version, name))

    def uninstall(self, group: str, plural: str) -> None:
        """Stop serving a resource. An unknown one is ignored."""
        former = self._all().pop((group, plural), None)
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
        """Return the resource of that group and plural, or None."""
        if group in self._deferred_groups:
            self.load()
        return self._table.get((group, plural)) or self._existing(group, plural)

    def by_kind(self, group: str, kind: str) -> Resource | None:
        """Return the resource that serves a kind, or None."""
        if group in self._deferred_groups:
            self.load()
        found = self._kinds.get((group, kind))
        if found is None and (plural := self._lazy_kinds.plurals.get((group, kind))):
            found = self._existing(group, plural)
        return found

    def named(self, text: str) -> Resource | None:
        """Return the resource that a text means (`schemas.notation`), or None. Of several, it is
        that of the core group, or the first one."""
        wanted = Notation.parse(text)
        if (found := self.get(wanted.group or "", wanted.name)) is not None:
            return found
        self.load()
        known = [r for r in self._all().values() if wanted.means(r.group, r.definition.names)]
        return next((r for r in known if not r.group), known[0] if known else None)

    def spelled(self, text: str) -> str:
        """Return a resource that is named by kind, singular or short name as `plural.group`, with
        its subresource. Other texts are returned as they are."""
        wanted, found = Notation.parse(text), self.named(text)
        if found is None or found.plural == wanted.name:
            return text
        whole = f"{found.plural}.{found.group}" if found.group else f"v1/{found.plural}"
        return f"{whole}/{wanted.subresource}" if wanted.subresource else whole

    def installed(self) -> Iterable[Resource]:
        """Return the installed resources, without deferred ones, which have no objects yet."""
        return tuple(self._all().values())

    async def definitions(self) -> Sequence[Definition]:
        """Return the definition of every kind, without the schema if the kind is not loaded yet."""
        outline = () if self._deferred is None else self._deferred.outline()
        if outline is None:
            await self.loaded()
        return (*(each.definition for each in self._all().values()), *(outline or ()))

    def is_deferred(self, group: str) -> bool:
        """Return whether the kinds of a group are not loaded yet."""
        return group in self._deferred_groups

    def __iter__(self) -> Iterator[Resource]:
        self.load()
        return iter(tuple(self._all().values()))

    def group(self, name: str) -> list[Resource]:
        """Return every resource of one group."""
        if name in self._deferred_groups:
            self.load()
        return [resource for resource in self._all().values() if resource.group == name]

    def wording(self, group: str) -> Wording:
        """Return the wording of a group's responses for resources that it does not serve."""
        return next((resource.wording for resource in self.group(group)), wordings.EXTENSIONS)
