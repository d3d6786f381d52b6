"""The start and stop of a server: the order in which its parts open and close."""

import asyncio
import contextlib
from collections.abc import Iterable
from functools import partial

from inkube.apiserver import modules, root
from inkube.apiserver.configuration import Options
from inkube.apiserver.registry import HEAVY, keys
from inkube.apiserver.root import (
    bootstrap,
    listening,
    parts,
    reconcilers,
    requestwaits,
    serving,
    triggers,
)
from inkube.apiserver.root.catalog import LiveCatalog
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.defaults import sets
from inkube.apiserver.root.listening import Listener
from inkube.apiserver.root.parts import Parts
from inkube.apiserver.root.progress import Progress
from inkube.apiserver.root.sources import beginnings, foundation
from inkube.apiserver.root.triggers import Trigger


async def lifespan(
    options: Options, listener: Listener, progress: Progress, stack: contextlib.AsyncExitStack
) -> Parts:
    """Start a server on an open listener, and return its parts when everything in the options is
    done. Closing `stack` stops the server, also after a failed start.

    Raises ValueError, TypeError, OSError, StorageError or StatusError if a part cannot start.
    """
    base = await foundation.opened(options, progress, stack)
    made = parts.build(options, listener, base)
    _close_at_the_end(made.core, stack)
    _defer_kinds(made)
    await _make_first_objects(made)
    replaced = {name for each in made.early for name in each.replaces}
    catalog = LiveCatalog(base.store, made.core.resources)
    reconcilers.add(made.core, catalog, replaced)
    lazily = reconcilers.at_first_object(made.core, catalog, replaced)
    waiting = triggers.Triggers(base.store, [*lazily, *await _aggregation(made)])
    stack.callback(waiting.close)
    waiting.start()
    await serving.begin(made, progress, stack, _fork)
    await stack.enter_async_context(made.core.manager)
    if made.leadership is not None:
        await stack.enter_async_context(made.leadership.taken())
    await _install_what_is_wanted(made, progress, stack)
    if base.player is not None:
        base.player.play(base.store)
    if not (options.data or options.database or made.core.read_only):
        made.start_state.entries = base.store.list(keys.ROOT)
    return made


async def _fork(options: Options) -> tuple[Parts, contextlib.AsyncExitStack]:
    """Start another server. Returns its parts, and the stack that stops it."""
    progress = Progress()
    async with contextlib.AsyncExitStack() as stack:
        listener = await listening.opened(options, progress, stack)
        made = await lifespan(options, listener, progress, stack)
        progress.finish()
        return made, stack.pop_all()


def _close_at_the_end(core: Core, stack: contextlib.AsyncExitStack) -> None:
    stack.callback(core.registry.selections.close)
    stack.callback(core.registry.worker.close)
    stack.callback(core.faults.close)
    stack.callback(core.resources.close)
    stack.push_async_exit(core.closing)


def _defer_kinds(made: Parts) -> None:
    """Defer kinds declared in Python until the first request for them, unless they have work to
    do."""
    core, options = made.core, made.core.options
    groups = options.module_groups

    prepare = partial(core.registry.worker.run, HEAVY, getattr, root.declared, "install")

    own = any(each.needs_environment for each in made.early)
    if groups or options.kinds or own:
        outline = partial(modules.outlines.definitions, options.late_modules)
        core.resources.defer(groups, made.environment, prepare, outline)
    if options.kinds or own or any(core.base.store.count(keys.of_group(name)) for name in groups):
        core.resources.load()


async def _make_first_objects(made: Parts) -> None:
    options = made.core.options
    if not made.core.read_only:
        store = made.core.base.store
        await bootstrap.first_objects(made.core.client, store)
        if beginnings.is_one(options) and store.count(keys.ROOT) == len(bootstrap.NAMESPACES):
            await beginnings.keep(options, store)
    if options.authorization_mode == "RBAC":
        await made.defaults.make_set(sets.ROLES)
        await made.defaults.make_set(sets.MODULE_ROLES)


async def _aggregation(made: Parts) -> list[Trigger]:
    """Forward requests for APIServices of other servers. Returns the triggers for the first of
    them."""
    handlers = made.core.options.aggregated
    if made.core.read_only:
        return []
    if not handlers:
        return [Trigger("apiservices", triggers.leads_elsewhere, lambda: made.aggregator().start())]
    root.aggregation.check(handlers)
    await made.aggregator().serve(handlers)
    made.aggregator().start()
    return []


async def _install_what_is_wanted(
    made: Parts, progress: Progress, stack: contextlib.AsyncExitStack
) -> None:
    """Serve stored kinds and those of the options. Controllers must read them first."""
    core, options = made.core, made.core.options
    stored = core.base.snapshot is not None and core.base.store.count(requestwaits.DEFINITIONS)
    if made.keeps_up or stored:
        await made.settled()
    if options.aggregated:
        await root.aggregation.register(core.client, options.aggregated)
        await made.settled()
    if options.definitions:
        found = root.manifests.read(options.definitions)
        put = root.manifests.apply if options.watch_definitions else None
        await root.manifests.install(
            core.client, found, made.settled, put=put, tell=progress.importing
        )
        if options.watch_definitions:
            await _follow(made, found, stack)
    if options.scenario:
        await root.scenarios.load(core.client, options.scenario)


async def _follow(
    made: Parts, applied: "Iterable[root.manifests.Manifest]", stack: contextlib.AsyncExitStack
) -> None:
    """Apply definitions again when their files change, until the server stops."""
    core, options = made.core, made.core.options
    files = root.definitionfiles.DefinitionFiles(
        core.client,
        options.definitions,
        made.settled,
        core.base.clock,
        core.manager.event_names,
        prune=options.prune_definitions,
    )
    files.begin(applied)
    stack.push_async_callback(_end, asyncio.create_task(files.run(), name="definition files"))


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end. Raises an earlier error of the task."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
