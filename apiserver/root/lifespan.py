"""The start and stop of a server: the order in which its parts open and close."""

import contextlib
from functools import partial

from inkube.apiserver import (
    declared,
    defaults,
    listening,
    manifests,
    modules,
    requestwaits,
    scenarios,
    triggers,
)
from inkube.apiserver.configuration import Options
from inkube.apiserver.defaults import namespaces, sets
from inkube.apiserver.listening import Listener
from inkube.apiserver.registry import HEAVY, DeferredKinds, keys
from inkube.apiserver.root import parts, reconcilers, serving
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.parts import Parts
from inkube.apiserver.sources import Progress, beginnings, foundation
from inkube.apiserver.triggers import Trigger


async def lifespan(
    options: Options, listener: Listener, progress: Progress, stack: contextlib.AsyncExitStack
) -> Parts:
    """Start a server on an open listener, and return its parts when everything in the options is
    done. Closing `stack` stops the server, also after a failed start.

    Raises ValueError, TypeError, OSError, StorageError or StatusError if a part cannot start.
    """
    # a mistake is found before the start creates a data file
    manifest_list = manifests.read(options.definitions) if options.definitions else []
    base = await foundation.open_foundation(options, progress, stack)
    server_parts = parts.build(options, listener, base)
    _close_at_the_end(server_parts.core, stack)
    _defer_kinds(server_parts)
    await _create_first_objects(server_parts)
    first_object_triggers = reconcilers.add(server_parts)
    first_object_triggers += await _aggregation(server_parts)
    started_triggers = triggers.Triggers(base.store, first_object_triggers)
    stack.callback(started_triggers.close)
    started_triggers.start()
    end_requests = await serving.start_serving(server_parts, progress, stack, _fork)
    await stack.enter_async_context(server_parts.core.manager)
    if server_parts.leadership is not None:
        await stack.enter_async_context(server_parts.leadership.participate())
    await _install_options(server_parts, manifest_list, progress, stack)
    if base.player is not None:
        base.player.play(base.store)
    if not (options.data or options.database or server_parts.core.read_only):
        server_parts.start_state.entries = base.store.list(keys.ROOT)
    stack.push_async_callback(end_requests)  # first, because requests wait for controllers
    return server_parts


async def _fork(options: Options) -> tuple[Parts, contextlib.AsyncExitStack]:
    """Start another server. Returns its parts, and the stack that stops it."""
    progress = Progress()
    async with contextlib.AsyncExitStack() as stack:
        listener = await listening.open_listener(options, progress, stack)
        server_parts = await lifespan(options, listener, progress, stack)
        progress.finish()
        return server_parts, stack.pop_all()


def _close_at_the_end(core: Core, stack: contextlib.AsyncExitStack) -> None:
    for each in (core.registry.selections, core.registry.engine, core.faults, core.resources):
        stack.callback(each.close)
    stack.push_async_exit(core.exit_stack)


def _defer_kinds(server_parts: Parts) -> None:
    """Defer kinds declared in Python until the first request for them, unless they have work to
    do."""
    core, options = server_parts.core, server_parts.core.options
    groups = options.module_groups
    needs_environment = any(each.needs_environment for each in server_parts.start_modules)
    if groups or options.kinds or needs_environment:
        prepare = partial(core.registry.engine.run, HEAVY, getattr, declared, "install")
        outline = partial(modules.outlines.definitions, options.late_modules)
        deferred = DeferredKinds(groups, server_parts.environment, prepare, outline)
        core.resources.defer(deferred)
    if (
        options.kinds
        or needs_environment
        or any(core.base.store.count(keys.of_group(name)) for name in groups)
    ):
        core.resources.load()


async def _create_first_objects(server_parts: Parts) -> None:
    options = server_parts.core.options
    if not server_parts.core.read_only:
        store = server_parts.core.base.store
        await namespaces.create_missing(server_parts.core.client, store)
        if beginnings.is_default_start(options) and store.count(keys.ROOT) == len(
            namespaces.NAMESPACES
        ):
            await beginnings.keep(options, store)
    if server_parts.core.security.uses_roles:
        await server_parts.defaults.create_set(sets.ROLES)
        await server_parts.defaults.create_set(sets.MODULE_ROLES)


async def _aggregation(server_parts: Parts) -> list[Trigger]:
    """Forward requests for APIServices of other servers. Returns the triggers for the first of
    them."""
    handlers = server_parts.core.options.aggregated
    if server_parts.core.read_only:
        return []
    if not handlers:
        return [
            Trigger(
                "apiservices",
                lambda: server_parts.aggregator().start(),
                triggers.is_remote_api_service,
            )
        ]
    defaults.apiservices.check(handlers)
    await server_parts.aggregator().serve(handlers)
    server_parts.aggregator().start()
    return []


async def _install_options(
    server_parts: Parts,
    manifest_list: "list[manifests.Manifest]",
    progress: Progress,
    stack: contextlib.AsyncExitStack,
) -> None:
    """Serve stored kinds and those of the options. Controllers must read them first."""
    core, options = server_parts.core, server_parts.core.options
    has_stored_definitions = core.base.snapshot is not None and core.base.store.count(
        requestwaits.DEFINITIONS
    )
    if server_parts.waits_for_controllers or has_stored_definitions:
        await server_parts.settled()
    if options.aggregated:
        await defaults.apiservices.register(core.client, options.aggregated)
        await server_parts.settled()
    if options.definitions:
        put = manifests.apply if options.watch_definitions else None
        await manifests.install(
            core.client,
            manifest_list,
            server_parts.settled,
            put=put,
            report=progress.report_definitions,
        )
        if options.watch_definitions:
            contents = manifests.Contents(core.base.store, core.resources)
            files = manifests.DefinitionFiles(
                core.client,
                core.manager,
                options.definitions,
                server_parts.settled,
                contents if options.prune_definitions else None,
            )
            await stack.enter_async_context(files.following(manifest_list))
    if scenario := options.value_of("scenario"):
        await scenarios.load(core.client, scenario)
