"""Admission: plugins that change or refuse a write after decoding and before storing.

The chain runs `mutate` of every plugin in order, a second time if a plugin requests reinvocation.
Later it runs `validate` of every plugin, and after all have accepted the write, `reserve`, which
returns the plugins' own writes. All plugins receive the same Write. Follows
apiserver/pkg/admission.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from inkube.apiserver.registry.plugins import LatePlugin, Plugin
from inkube.apiserver.registry.resource import Resource
from inkube.apiserver.registry.write import Effect, Operation, Write
from inkube.apiserver.samples import Samples
from inkube.schemas import status
from inkube.schemas.status import StatusError

_PLUGINS = "apiserver_admission_controller_admission_duration_seconds"
_STEPS = "apiserver_admission_step_admission_duration_seconds"


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
