"""The module for porch.kpt.dev and config.porch.kpt.dev: configuration packages in git."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from inkube.controllers.porch import health, repository
from inkube.controllers.porch.git.depots import Depots
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.refusals import RESOURCES, RESOURCES_KIND, malformed
from inkube.controllers.porch.types import PackageRevision, PackageRevisionResources, PorchPackage
from inkube.controllers.porch.variants import sets as variantsets
from inkube.controllers.porch.variants import variants
from inkube.controllers.porch.writes.engine import ENGINE, Engine
from inkube.controllers.provisioning import REMOTES
from inkube.kinds import KindModule, ModuleHost, ModuleOption, ModuleParts, Part, View, options_of

LARGEST_BODY = 6 * 2**20
"""The maximum size of a PackageRevisionResources, in bytes."""


class Porch:
    """The module of Porch (`controllers.modules.Module`)."""

    groups: Sequence[str] = ("porch.kpt.dev", "config.porch.kpt.dev")
    about = "packages of configuration in git"
    needs: Sequence[str] = ("world",)
    options: Sequence[ModuleOption] = (
        *options_of(Options),
        ModuleOption("allow_private_hosts", False),
        ModuleOption("local_path_prefixes", ()),
    )

    def build(self, host: ModuleHost) -> ModuleParts:
        """Build the kinds of packages on the git hosts of the service `remotes`."""
        options = Options(**host.settings)
        clones = None if host.data is None else host.data.with_name(f"{host.data.name}.porch")
        depots = Depots(REMOTES.of(host.services), host.client, clones=clones)
        engine = Engine(options, depots)

        async def close() -> None:
            depots.close()

        return ModuleParts(_kinds(options, engine), services={ENGINE.name: engine}, close=close)


def _kinds(options: Options, engine: Engine) -> tuple[KindModule[Any], ...]:
    """Return the kinds. PackageRevision is first, because other kinds are views of it."""
    rules = engine.rules
    refusals = rules.refusals
    return (
        KindModule(
            PackageRevision,
            compute_name=rules.name_of,
            parts=(
                Part("", rules.prepare, rules.validate),
                Part("approval", rules.prepare_approval, rules.validate_approval),
            ),
            transaction=engine.revision,
            versionless=refusals.versionless,
            stale=refusals.stale,
            malformed=malformed,
            returns_deleted=True,
            extra_controllers=lambda env: [health.controller(engine, env)],
            works_alone=True,
        ),
        KindModule(
            PackageRevisionResources,
            view=View(PackageRevision.gvr, engine.files.show),
            transaction=engine.resources,
            versionless=refusals.versionless,
            stale=partial(refusals.stale, resource=RESOURCES),
            malformed=partial(malformed, kind=RESOURCES_KIND),
            max_body=LARGEST_BODY,
        ),
        KindModule(PorchPackage),
        repository.module(options, engine),
        variants.module(),
        variantsets.module(),
    )
