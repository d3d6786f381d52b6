"""Simulated workloads as a module: the option `workloads` of a server selects it."""

from collections.abc import Sequence
from typing import Any

from inkube.controllers.workloads import installation
from inkube.controllers.workloads.configuration import CONTROLLERS, Workloads
from inkube.controllers.workloads.stages import kinds
from inkube.kinds import ModuleHost, ModuleOption, ModuleParts, options_of


class SimulatedWorkloads:
    """The module of simulated workloads: the kinds of stages, and the controllers of workloads."""

    groups: Sequence[str] = (kinds.KWOK, kinds.INKUBE_GROUP)
    about = "simulated nodes, and the stages of their pods"
    needs: Sequence[str] = ()
    options: Sequence[ModuleOption] = (ModuleOption("workloads", True),)
    members: Sequence[ModuleOption] = tuple(each for each in options_of(Workloads) if each.group)
    """The members of this option that the command line has as options of their own."""
    builds_at_start = True

    def build(self, host: ModuleHost) -> ModuleParts:
        """Build the kinds of stages and scripts, and add the controllers that the option names.

        Raises TypeError for a value of the option without a meaning.
        """
        found = kinds.schema_kinds()
        config = _configuration(host.settings["workloads"])
        return ModuleParts(
            schema_kinds=found,
            pods=installation.add(host.manager, config, host.server),
            replaces=CONTROLLERS,
            keeps_up=True,
        )


def _configuration(option: Any) -> Workloads:
    if isinstance(option, Workloads):
        return option
    if option is True:
        return Workloads()
    raise TypeError(f"workloads takes a bool or a Workloads, not {type(option).__name__}")
