"""The module for provisioning.grafana.app: Repository, Connection, Job and their services.

It uses the outside systems of another module if that module opened them, otherwise it opens its
own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inkube.controllers.kinds import KindModule
from inkube.controllers.modules import ModuleHost, ModuleOption, ModuleParts
from inkube.controllers.provisioning import connection, repository
from inkube.controllers.provisioning.jobs import job
from inkube.controllers.provisioning.options import BITBUCKET_API, GITHUB_API, Options
from inkube.controllers.provisioning.outside.systems import Systems
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.repository_checks import Vaults
from inkube.controllers.provisioning.roles import ROLES
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.controllers.secure import SecureValues
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object

OUTSIDE = (
    ModuleOption("offline", False),
    ModuleOption("allow_private_hosts", False),
    ModuleOption("local_path_prefixes", ()),
    ModuleOption("outside_timeout", 10.0),
    ModuleOption("github_api_url", GITHUB_API),
    ModuleOption("bitbucket_api_url", BITBUCKET_API),
)
"""The options that limit requests to outside systems."""
_OWN_OPTIONS = (
    ModuleOption("min_sync_interval", 10),
    ModuleOption("max_repositories", 10),
    ModuleOption("max_resources_per_repository", 0),
    ModuleOption("job_history", 600.0),
)


class Provisioning:
    """The module of provisioning (`controllers.modules.Module`)."""

    groups: Sequence[str] = ("provisioning.grafana.app",)
    needs: Sequence[str] = ()
    options: Sequence[ModuleOption] = (*OUTSIDE, *_OWN_OPTIONS)
    roles: Sequence[Object] = ROLES

    def build(self, host: ModuleHost) -> ModuleParts:
        """Build Repository, Connection and Job, with the services that their checks use."""
        options = read(host.settings)
        pulls, tokens = Pulls(options.max_resources_per_repository), Tokens()
        vaults = Vaults(
            repositories=_secrets(Repository.gvr, host), connections=_secrets(Connection.gvr, host)
        )
        kinds: tuple[KindModule[Any], ...] = (
            repository.module(options, vaults.repositories, pulls, tokens),
            connection.module(vaults.connections, tokens),
            *job.modules(pulls, options),
        )
        services: dict[str, Any] = {"vaults": vaults}
        if "remotes" in host.services:
            return ModuleParts(kinds, services=services)
        systems = Systems(options, client=host.client, clock=host.clock)
        services["remotes"] = systems.remotes
        return ModuleParts(kinds, services=services, close=systems.close)


def read(settings: Mapping[str, Any]) -> Options:
    """The options of this package from the settings of the server. Settings that are not declared
    have their defaults."""
    renamed = {"outside_timeout": "timeout", "min_sync_interval": "minimum_sync_interval"}
    given = {renamed.get(name, name): value for name, value in settings.items()}
    given["local_path_prefixes"] = tuple(map(str, given.get("local_path_prefixes", ())))
    return Options(**given)


def _secrets(gvr: GVR, host: ModuleHost) -> SecureValues:
    return SecureValues(f"{gvr.resource}.{gvr.group}", host.secrets, host.clock)
