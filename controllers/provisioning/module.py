"""The module for provisioning.grafana.app: Repository, Connection, Job and their services.

It uses the outside systems of another module if that module opened them, otherwise it opens its
own.
"""

from collections.abc import Sequence
from typing import Any

from inkube.client import GVR, Object
from inkube.controllers.provisioning import connection, repository
from inkube.controllers.provisioning.jobs import job
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.outside.systems import Systems
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.repository_checks import VAULTS, Vaults
from inkube.controllers.provisioning.roles import ROLES
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.kinds import KindModule, ModuleHost, ModuleOption, ModuleParts, SecureValues, options_of


class Provisioning:
    """The module of provisioning (`controllers.modules.Module`)."""

    groups: Sequence[str] = ("provisioning.grafana.app",)
    about = "repositories in git, with checks and jobs"
    needs: Sequence[str] = ()
    options: Sequence[ModuleOption] = options_of(Options)
    roles: Sequence[Object] = ROLES

    def build(self, host: ModuleHost) -> ModuleParts:
        """Build Repository, Connection and Job, with the services that their checks use."""
        options = Options(**host.settings)
        pulls, tokens = Pulls(options.max_resources_per_repository), Tokens()
        vaults = Vaults(
            repositories=_secrets(Repository.gvr, host), connections=_secrets(Connection.gvr, host)
        )
        kinds: tuple[KindModule[Any], ...] = (
            repository.module(options, vaults.repositories, pulls, tokens),
            connection.module(vaults.connections, tokens),
            *job.modules(pulls, options),
        )
        services: dict[str, Any] = {VAULTS.name: vaults}
        if REMOTES.name in host.services:
            return ModuleParts(kinds, services=services)
        systems = Systems(options, client=host.client, clock=host.clock)
        services[REMOTES.name] = systems.remotes
        return ModuleParts(kinds, services=services, close=systems.close)


def _secrets(gvr: GVR, host: ModuleHost) -> SecureValues:
    return SecureValues(f"{gvr.resource}.{gvr.group}", host.secrets, host.clock)
