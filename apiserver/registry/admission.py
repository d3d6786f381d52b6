"""Admission: plugins that change or refuse a write after decoding and before storing.

The chain runs `mutate` of every plugin in order, a second time if a plugin requests reinvocation.
Later it runs `validate` of every plugin, and after all have accepted the write, `reserve`, which
returns the plugins' own writes. All plugins receive the same Write. Follows
apiserver/pkg/admission.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from inkube.apiserver.registry.resource import Resource
from inkube.apiserver.registry.samples import Samples
from inkube.apiserver.registry.storecache import StoreCache
from inkube.apiserver.registry.write import Effect, Operation, Write
from inkube.schemas import status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazy import Lazy
from inkube.schemas.status import StatusError

_PLUGINS = "apiserver_admission_controller_admission_duration_seconds"
_STEPS = "apiserver_admission_step_admission_duration_seconds"


class Plugin:
    """Base of all plugins: does nothing. Both hooks raise StatusError to refuse."""

    name = ""
    """The reference's name of the plugin, which can disable it; "" if it cannot be disabled."""
    only_refuses = False
    """Whether `mutate` changes nothing, and reads no managedFields."""
    is_private = True
    """Whether it keeps writes inside this process, and writes nothing itself."""

    @property
    def is_idle(self) -> bool:
        """Whether no write needs the plugin at the moment. The chain then skips it."""
        return False

    def when_idle_changes(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on whenever `is_idle` may have another value."""

    def handles(self, resource: Resource, operation: Operation) -> bool:
        """Return whether it handles an operation on a resource; always the same for a pair."""
        return True

    async def mutate(self, write: Write) -> None:
        """Change `write.object` in place, or raise StatusError. Must not depend on later
        plugins."""

    async def validate(self, write: Write) -> None:
        """Raise StatusError to refuse the write. Must not change the object or anything else."""

    async def supplement(self, write: Write, errors: Sequence[FieldError]) -> Sequence[FieldError]:
        """Return further errors of an object that its kind refuses with `errors`. The response
        contains both. Runs instead of `validate`, and changes nothing either."""
        return ()

    def reserve(self, write: Write) -> Effect | None:
        """Return the writes to other places that must precede this accepted write, or None.

        Writes that can share the object's commit belong in `Write.beside` instead. They need
        no undo.
        """
        return None


class OnDemand(Plugin):
    """Base of plugins that are idle while a value computed from stored objects is false."""

    def __init__(self, cache: StoreCache[Any]) -> None:
        self._cache = cache

    @property
    def is_idle(self) -> bool:
        return not self._cache.value

    def when_idle_changes(self, changed: Callable[[], None]) -> None:
        self._cache.when_changed(changed)


class SideEffects(Plugin):
    """Base of plugins that write outside the store. A dry run skips these writes."""

    is_private = False

    def reserve(self, write: Write) -> Effect | None:
        """Return the effect of the write, or None in a dry run."""
        return None if write.dry_run else self.effect(write)

    def effect(self, write: Write) -> Effect | None:
        """Return the writes to other places that must precede this accepted write, or None. Never
        runs in a dry run."""
        raise NotImplementedError


def refused(write: Write, why: str) -> status.StatusError:
    """Return the error 403 of an admission plugin (admission.NewForbidden)."""
    resource = write.request.resource
    return status.forbidden(resource.group, resource.plural, write.name, why)


class LatePlugin(NamedTuple):
    """A plugin that is loaded and created at the first write of a kind that it can handle."""

    name: str
    """The plugin's name."""
    kinds: Collection[tuple[str, str]] | None
    """Groups and plurals of all kinds that it can handle; None for all kinds."""
    plugin: Lazy[Plugin]

    def of(self, resource: Resource) -> Plugin | None:
        """Return the plugin, or None for a kind that it does not handle."""
        if self.kinds is None or (resource.group, resource.plural) in self.kinds:
            return self.plugin()
        return None


class Handlers(NamedTuple):
    """The active plugins for an operation on a resource: those that handle it and are not idle,
    grouped by the method that they implement."""

    mutators: Sequence[Plugin]
    validators: Sequence[Plugin]
    reservers: Sequence[Plugin]
    supplementers: Sequence[Plugin]
    only_refuse: bool
    """Whether no mutator changes the object or reads its managedFields."""
    are_private: bool
    """Whether all of them are private (`Plugin.is_private`)."""
    are_idle: bool
    """Whether no plugin is active."""
    chosen_at: int
    """The chain's count of changes of `Plugin.is_idle` when they were chosen."""


class _Measured(Plugin):
    """Runs plugins one after the other, and records their durations (admission/metrics)."""

    def __init__(self, plugins: Sequence[Plugin], operation: Operation, samples: Samples) -> None:
        self._plugins = plugins
        self._operation = operation
        self._samples = samples

    async def mutate(self, write: Write) -> None:
        await self._run("admit", [(each.name, each.mutate) for each in self._plugins], write)

    async def validate(self, write: Write) -> None:
        await self._run("validate", [(each.name, each.validate) for each in self._plugins], write)

    async def _run(
        self,
        step: str,
        hooks: Sequence[tuple[str, Callable[[Write], Awaitable[None]]]],
        write: Write,
    ) -> None:
        begun, rejected = time.perf_counter(), "true"
        try:
            for name, hook in hooks:
                await self._time(name, step, hook, write)
            rejected = "false"
        finally:
            seconds = time.perf_counter() - begun
            self._samples.observe(seconds, _STEPS, step, self._operation, rejected)

    async def _time(
        self, name: str, step: str, hook: Callable[[Write], Awaitable[None]], write: Write
    ) -> None:
        begun, rejected = time.perf_counter(), "true"
        try:
            await hook(write)
            rejected = "false"
        finally:
            if name:  # others are no plugins of Kubernetes
                seconds = time.perf_counter() - begun
                self._samples.observe(seconds, _PLUGINS, name, step, self._operation, rejected)


class _Count:
    """A number that grows. Plugins refer to it instead of their chain, which refers to them."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self) -> None:
        """Add one."""
        self.value += 1


class Chain:
    """Runs the plugins, in the order in which they were declared."""

    def __init__(
        self, plugins: Sequence[Plugin | LatePlugin], samples: Samples | None = None
    ) -> None:
        """`samples` receives the durations of plugins while they are observed."""
        self.plugins = tuple(plugins)
        self._samples = samples or Samples()
        self._changes = _Count()
        """Counts the changes of `Plugin.is_idle`."""
        for plugin in plugins:
            if not isinstance(plugin, LatePlugin):
                plugin.when_idle_changes(self._changes.add)
        self._samples.when_observed(self._changes.add)

    async def mutate(self, write: Write) -> None:
        """Run every mutator that handles this write. All of them run twice if one requests it."""
        plugins = self._handlers(write).mutators
        for plugin in plugins:
            await plugin.mutate(write)
        rounds = write.rounds
        if rounds is not None and rounds.needs_reinvocation:
            rounds.is_reinvocation = True
            for plugin in plugins:
                await plugin.mutate(write)

    async def validate(self, write: Write) -> None:
        """Run every validator that handles this write."""
        for plugin in self._handlers(write).validators:
            await plugin.validate(write)

    async def supplement(self, write: Write, refusal: StatusError) -> None:
        """Add further errors of the object to a refusal."""
        for plugin in self._handlers(write).supplementers:
            status.add(refusal, await plugin.supplement(write, refusal.field_errors))

    def reserve(self, write: Write) -> Sequence[Effect]:
        """Return the effects of all plugins, in their order. They run before this write."""
        found = [each.reserve(write) for each in self._handlers(write).reservers]
        return [effect for effect in found if effect is not None]

    def is_private(self, resource: Resource, operation: Operation) -> bool:
        """Return whether all active plugins for such a write are private (`Plugin.is_private`)."""
        return self._cached_handlers(resource, operation).are_private

    def is_idle(self, resource: Resource, operation: Operation) -> bool:
        """Return whether all plugins for such a write are idle."""
        return self._cached_handlers(resource, operation).are_idle

    def only_refuses(self, write: Write) -> bool:
        """Return whether no mutator changes this write or reads its managedFields."""
        return self._handlers(write).only_refuse

    def _handlers(self, write: Write) -> Handlers:
        return self._cached_handlers(write.request.resource, write.operation)

    def _cached_handlers(self, resource: Resource, operation: Operation) -> Handlers:
        known: dict[Operation, Handlers] = resource.once(self, dict)
        found = known.get(operation)
        if found is None or found.chosen_at != self._changes.value:
            found = known[operation] = self._new_handlers(resource, operation)
        return found

    def _new_handlers(self, resource: Resource, operation: Operation) -> Handlers:
        changes = self._changes.value
        active = [
            plugin
            for plugin in self._plugins_for(resource)
            if plugin.handles(resource, operation) and not plugin.is_idle
        ]
        mutators = [each for each in active if type(each).mutate is not Plugin.mutate]
        validators = [each for each in active if type(each).validate is not Plugin.validate]
        return Handlers(
            self._measured(mutators, operation),
            self._measured(validators, operation),
            [each for each in active if type(each).reserve is not Plugin.reserve],
            [each for each in active if type(each).supplement is not Plugin.supplement],
            only_refuse=all(each.only_refuses for each in mutators),
            are_private=all(each.is_private for each in active),
            are_idle=not active,
            chosen_at=changes,
        )

    def _measured(self, plugins: Sequence[Plugin], operation: Operation) -> Sequence[Plugin]:
        if not plugins or not self._samples.is_observed:
            return plugins
        return [_Measured(plugins, operation, self._samples)]

    def _plugins_for(self, resource: Resource) -> Iterator[Plugin]:
        for plugin in self.plugins:
            found = plugin.of(resource) if isinstance(plugin, LatePlugin) else plugin
            if found is not None:
                yield found
