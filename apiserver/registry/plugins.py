"""Plugins of admission: what each can do with a write, and when the chain loads and skips it."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from inkube.apiserver.registry.resource import Resource
from inkube.apiserver.registry.storecache import StoreCache
from inkube.apiserver.registry.write import Effect, Operation, Write
from inkube.schemas import status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazy import Lazy
from inkube.storage import Store


class Plugin:
    """Base of all plugins: does nothing. Both hooks raise StatusError to refuse."""

    name = ""
    """The reference's name of the plugin, which can disable it; "" if it cannot be disabled."""
    only_refuses = False
    """Whether `mutate` changes nothing, and reads no managedFields."""
    is_private = True
    """Whether it keeps writes inside this process, and writes nothing itself."""
    kinds: Collection[tuple[str, str]] | None = None
    """Groups and plurals of the kinds that it handles; None for all kinds."""
    operations: Collection[str] | None = None
    """The operations that it handles; None for all."""

    @property
    def is_idle(self) -> bool:
        """Whether no write needs the plugin at the moment. The chain then skips it."""
        return False

    def when_idle_changes(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on whenever `is_idle` may have another value."""

    def handles(self, resource: Resource, operation: Operation) -> bool:
        """Return whether it handles an operation on a resource; always the same for a pair."""
        is_of_kind = self.kinds is None or (resource.group, resource.plural) in self.kinds
        return is_of_kind and (self.operations is None or operation in self.operations)

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


class OfStore(Plugin):
    """Base of plugins that read stored objects."""

    def __init__(self, store: Store) -> None:
        self._store = store


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
    resource, meta = write.request.resource, (write.object or {}).get("metadata") or {}
    name = write.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return status.forbidden(resource.group, resource.plural, name, why)


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
