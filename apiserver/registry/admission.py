"""Admission: what may change or refuse a write after decoding and before storing.

The chain runs every plugin's `mutate` in order, once more where one that asks others wants it,
later every plugin's `validate`; what they write themselves they `reserve` when all have let the
write pass. Plugins see the same Attributes. Follows apiserver/pkg/admission.
"""

from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from inkube.apiserver.registry.calls import NO_OPTIONS, Call, DeleteOptions, WriteOptions
from inkube.apiserver.registry.resources import Resource
from inkube.schemas import status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazy import Late
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Reservation
from inkube.storage import writes

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Invoked:
    """Whom one plugin has asked about a write, and whom it asks again in the second round.

    Webhooks and policies with `reinvocationPolicy: IfNeeded` are asked again when anything changed
    the object after them; nobody is asked for the first time then
    (plugin/webhook/mutating/reinvocationcontext.go, plugin/policy/mutating/reinvocationcontext.go).
    """

    def __init__(self, rounds: "Rounds") -> None:
        self._rounds = rounds
        self._asked: set[Hashable] = set()
        self._due: set[Hashable] = set()
        self._output = b""

    def begin(self, obj: Object | None) -> None:
        """The plugin's turn has come."""
        if self._rounds.again and orjson.dumps(obj) != self._output:
            self._require()

    def end(self, obj: Object | None) -> None:
        """Its turn is over; `obj` is what it made."""
        self._output = orjson.dumps(obj)

    def asks(self, whom: Hashable) -> bool:
        """Whether somebody is to be asked in this round."""
        return not self._rounds.again or whom in self._due

    def asked(self, whom: Hashable) -> None:
        """Somebody who wants to be asked again, if need be, has been asked."""
        self._asked.add(whom)

    def changed(self) -> None:
        """The object is another one than those asked before have seen."""
        self._require()
        self._rounds.wanted = True

    def _require(self) -> None:
        self._due |= self._asked
        self._asked.clear()


class Rounds:
    """Whether a write's mutation runs twice, and what each plugin remembers meanwhile."""

    def __init__(self) -> None:
        self.again = False
        self.wanted = False
        self._invoked: dict[str, Invoked] = {}

    def of(self, plugin: str) -> Invoked:
        """What the plugin of that name remembers."""
        found = self._invoked.get(plugin)
        if found is None:
            found = self._invoked[plugin] = Invoked(self)
        return found


@dataclass(slots=True)
class Attributes:
    """One write as admission sees it. `object` is None on DELETE, `old` on CREATE."""

    operation: Operation
    call: Call
    object: Object | None
    old: Object | None = None
    options: WriteOptions | DeleteOptions = NO_OPTIONS
    beside: "tuple[Beside, ...]" = ()
    """What is committed together with the object, worked out of what is stored then."""
    rounds: Rounds | None = None
    """Made when a plugin first asks others."""
    handlers: "Handlers | None" = None
    """Who handles it, once the chain knows."""
    mutators: "Sequence[Plugin] | None" = None
    """Those of them that are asked to change it."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to come of it; for plugins with effects beyond the store."""
        return self.options.dry_run

    def invoked(self, plugin: str) -> Invoked:
        """What a plugin remembers of this write."""
        if self.rounds is None:
            self.rounds = Rounds()
        return self.rounds.of(plugin)


class Plugin:
    """Base of all plugins: does nothing. Both hooks raise StatusError to refuse."""

    name = ""
    """What the reference calls it, by which it can be turned off; "" cannot be."""
    only_refuses = False
    """Whether `mutate` changes nothing, and reads no managedFields."""
    is_private = True
    """Whether it shows writes to nobody beyond this process and writes nothing itself."""

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to say of any write as things stand; it is not asked then."""
        return False

    def handles(self, resource: Resource, operation: Operation) -> bool:
        """Whether it has anything to say; asked once per resource and operation."""
        return True

    async def mutate(self, attributes: Attributes) -> None:
        """Change `attributes.object` in place. Must not depend on later plugins."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse, or not. Must not change the object, nor anything else."""

    async def supplement(
        self, attributes: Attributes, errors: Sequence[FieldError]
    ) -> Sequence[FieldError]:
        """What else is wrong with an object that its kind refuses for these errors; told with
        them. Like `validate`, which is not asked then."""
        return ()

    def reserve(self, attributes: Attributes) -> "Effect | None":
        """What has to be written elsewhere before this write, which everybody has let pass; None
        where there is nothing. What can be committed together with the object is added to
        `Attributes.beside` instead, and needs no undoing."""
        return None


class SideEffects(Plugin):
    """Base of plugins that write where no store rehearses it: not in a dry run."""

    is_private = False

    def reserve(self, attributes: Attributes) -> "Effect | None":
        """See Plugin."""
        return None if attributes.dry_run else self.effect(attributes)

    def effect(self, attributes: Attributes) -> "Effect | None":
        """As `Plugin.reserve`; never asked of a dry run."""
        raise NotImplementedError


Effect = Callable[[Reservation], Awaitable[None]]
"""Writes, and notes how that is undone. Raises StatusError to refuse after all."""

Beside = Callable[[], Sequence[writes.Write]]
"""Asked anew where somebody else wrote one of these objects meanwhile. Raises StatusError."""


class LatePlugin(NamedTuple):
    """A plugin of few kinds, made and loaded when one of them is first written."""

    name: str
    """The plugin's."""
    kinds: Collection[tuple[str, str]]
    """Groups and plurals of all that it may handle."""
    plugin: Late[Plugin]

    def of(self, resource: Resource) -> Plugin | None:
        """The plugin; None for a kind that it does not handle."""
        return self.plugin() if (resource.group, resource.plural) in self.kinds else None


class Handlers(NamedTuple):
    """The plugins that handle an operation on a resource, by what they have to do with it."""

    mutators: tuple[Plugin, ...]
    validators: tuple[Plugin, ...]
    reservers: tuple[Plugin, ...]
    supplementers: tuple[Plugin, ...]
    all: tuple[Plugin, ...]


class Chain:
    """The plugins in declared order."""

    def __init__(self, plugins: Sequence[Plugin | LatePlugin]) -> None:
        self._plugins = tuple(plugins)

    async def mutate(self, attributes: Attributes) -> None:
        """Run every mutator that handles this write, all of them twice where one wants it."""
        plugins = self._mutators(attributes)
        for plugin in plugins:
            await plugin.mutate(attributes)
        rounds = attributes.rounds
        if rounds is not None and rounds.wanted:
            rounds.again = True
            for plugin in plugins:
                await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run every validator that handles this write."""
        for plugin in self._handlers(attributes).validators:
            if not plugin.is_idle:
                await plugin.validate(attributes)

    async def supplement(self, attributes: Attributes, refusal: StatusError) -> None:
        """Add to a refusal what else is wrong with the object."""
        for plugin in self._handlers(attributes).supplementers:
            status.add(refusal, await plugin.supplement(attributes, refusal.field_errors))

    def reserve(self, attributes: Attributes) -> list[Effect]:
        """What plugins have to write before this write, in their order."""
        effects: list[Effect] = []
        for plugin in self._handlers(attributes).reservers:
            effect = plugin.reserve(attributes)
            if effect is not None:
                effects.append(effect)
        return effects

    def is_private(self, resource: Resource, operation: Operation) -> bool:
        """Whether all that are asked about such a write are (`Plugin.is_private`)."""
        handling = self._chosen(resource, operation).all
        return all(plugin.is_private or plugin.is_idle for plugin in handling)

    def is_idle(self, resource: Resource, operation: Operation) -> bool:
        """Whether nobody is asked about such a write."""
        return all(plugin.is_idle for plugin in self._chosen(resource, operation).all)

    def only_refuses(self, attributes: Attributes) -> bool:
        """Whether no mutator changes this write, or sees who owns what of it."""
        return False not in [plugin.only_refuses for plugin in self._mutators(attributes)]

    def _mutators(self, attributes: Attributes) -> Sequence[Plugin]:
        found = attributes.mutators
        if found is None:
            every = self._handlers(attributes).mutators
            found = attributes.mutators = [plugin for plugin in every if not plugin.is_idle]
        return found

    def _handlers(self, attributes: Attributes) -> Handlers:
        found = attributes.handlers
        if found is None:
            found = self._chosen(attributes.call.resource, attributes.operation)
            attributes.handlers = found
        return found

    def _chosen(self, resource: Resource, operation: Operation) -> Handlers:
        return resource.once(operation, lambda: self._choose(resource, operation))

    def _choose(self, resource: Resource, operation: Operation) -> Handlers:
        known = self._known(resource)
        handling = tuple(plugin for plugin in known if plugin.handles(resource, operation))
        return Handlers(
            tuple(each for each in handling if type(each).mutate is not Plugin.mutate),
            tuple(each for each in handling if type(each).validate is not Plugin.validate),
            tuple(each for each in handling if type(each).reserve is not Plugin.reserve),
            tuple(each for each in handling if type(each).supplement is not Plugin.supplement),
            handling,
        )

    def _known(self, resource: Resource) -> Iterator[Plugin]:
        for plugin in self._plugins:
            found = plugin.of(resource) if isinstance(plugin, LatePlugin) else plugin
            if found is not None:
                yield found
