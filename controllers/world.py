"""world.inkube.dev as a module: simulated outside systems that users can script, and faults.

Git hosts and GitHub Apps replace real ones, faults let requests fail. Code that uses outside
systems (provisioning, porch, kinds of users) finds them in the service `remotes`.
"""

from collections.abc import Sequence
from typing import Any

from inkube.controllers import faults
from inkube.controllers.provisioning import (
    REMOTES,
    GitHost,
    GitHubApp,
    OutsideOptions,
    Systems,
    heal,
    outside_options,
)
from inkube.kinds import KindModule, ModuleHost, ModuleOption, ModuleParts, options_of


class World:
    """The module of the scripted world (`controllers.modules.Module`)."""

    groups: Sequence[str] = ("world.inkube.dev",)
    about = "simulated outside systems, and faults"
    needs: Sequence[str] = ()
    options: Sequence[ModuleOption] = (
        *options_of(OutsideOptions),
        ModuleOption(
            "scenario",
            "",
            "Start with this scenario; see inkube world list.",
            group="Modules and outside systems",
            metavar="NAME",
        ),
    )

    def build(self, host: ModuleHost) -> ModuleParts:
        """Build the kinds GitHost, GitHubApp and Fault."""
        kinds: tuple[KindModule[Any], ...] = (
            KindModule(GitHost, reconciler=heal),
            KindModule(GitHubApp),
            faults.module(host.faults),
        )
        if REMOTES.name in host.services:
            return ModuleParts(kinds)
        systems = Systems(outside_options(host.settings), client=host.client, clock=host.clock)
        return ModuleParts(kinds, services={REMOTES.name: systems.remotes}, close=systems.close)
