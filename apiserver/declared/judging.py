"""The kinds of modules without a server: their static rules.

`inkube validate` loads this module for files with objects of these groups. Modules are built as in
a server, with a store that is never opened, because static rules read no other objects.
"""

from collections.abc import Callable
from dataclasses import fields
from itertools import repeat
from typing import Any, NoReturn

from inkube.apiserver.auth import KeyFiles
from inkube.apiserver.client import InProcessClient
from inkube.apiserver.configuration import Options
from inkube.apiserver.declared import hosts
from inkube.apiserver.declared.secrets import StoredSecrets
from inkube.apiserver.registry import Chain, JSONCodec, Registry, Resources, SystemFields
from inkube.controllers.clock import SystemClock
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Manager
from inkube.controllers.modules import ModuleHost, ServerAccess
from inkube.storage import MemoryLog, Store


class _NoRequests:
    """Counts no faults, because there are no requests."""

    def counted(self, name: str) -> tuple[int, int, int] | None:
        return None

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        return lambda: None


def _without_a_server(*args: object) -> NoReturn:
    raise RuntimeError("static rules are checked without a server")


def judged_kinds(options: Options) -> list[KindModule[Any]]:
    """Return each kind of the modules in the options, with its rules."""
    store = Store(MemoryLog(), JSONCodec())
    client = InProcessClient(Registry(store, Chain([]), SystemFields()), Resources())
    secrets, services = StoredSecrets(store, KeyFiles(None)), dict[str, Any]()
    manager = Manager(client, SystemClock(), is_leader=False)
    server = ServerAccess(*repeat(_without_a_server, len(fields(ServerAccess))))
    kinds: list[KindModule[Any]] = []
    for name in options.module_names:
        module = hosts.module_named(name)
        parts = module.build(
            ModuleHost(
                settings=options.settings(module),
                services=dict(services),
                client=client,
                clock=SystemClock(),
                secrets=secrets,
                data=None,
                faults=_NoRequests(),
                manager=manager,
                server=server,
            )
        )
        services |= parts.services
        kinds += parts.kinds
    return kinds
