"""Admission plugins for few kinds are created at the first write of such a kind, and miss none."""

from dataclasses import replace
from typing import get_args

import inkube
from inkube.apiserver.admission import names
from inkube.apiserver.registry import LatePlugin, Operation, Plugin
from inkube.apiserver.root import plugins
from inkube.apiserver.samples import Samples

CONFIG = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Server, qps: 1, burst: 1}]
"""


async def test_a_late_plugin_is_loaded_for_exactly_the_kinds_that_it_handles(tmp_path):
    (tmp_path / "config").write_text(CONFIG)
    async with inkube.APIServer() as server:
        options = replace(
            server.parts.core.options,
            admission_control_config_file=tmp_path / "config",
            enable_admission_plugins=tuple(plugins.OPTIONAL - names.UNSUPPORTED.keys()),
        )
        every = plugins.in_order(
            options,
            server.store,
            server.resources,
            server.security,
            declared_kinds=Plugin(),
            dispatcher=server.parts.core.webhooks.dispatcher,
            system_fields=server.parts.core.base.system_fields,
            clock=server.clock,
            samples=Samples(),
        )
        kinds = list(server.resources)
        for late in (each for each in every if isinstance(each, LatePlugin)):
            if late.kinds is None:  # of every kind
                continue
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
