"""Admission plugins for few kinds are created at the first write of such a kind, and miss none."""

from typing import get_args

import inkube
from inkube.apiserver.registry import LatePlugin, Operation, Plugin
from inkube.apiserver.root import plugins


async def test_a_late_plugin_is_asked_about_every_kind_it_handles():
    async with inkube.APIServer() as server:
        every = plugins.in_order(
            server.store,
            server.resources,
            server.security,
            declared_kinds=Plugin(),
            dispatcher=server.parts.core.webhooks.dispatcher,
            generate_name=str,
            enabled=plugins.OPTIONAL,
            disabled=(),
        )
        kinds = list(server.resources)
        for late in (each for each in every if isinstance(each, LatePlugin)):
            asked = [kind for kind in kinds if late.of(kind) is not None]
            plugin = late.of(asked[0])
            assert plugin is not None
            assert plugin.name == late.name
            handled = {
                kind.plural
                for kind in kinds
                for operation in get_args(Operation)
                if plugin.handles(kind, operation)
            }
            assert handled == {kind.plural for kind in asked}
