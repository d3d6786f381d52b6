"""Porch as one thing to plug in: its kinds and the services they use.

    async with Porch(options, remotes=…, client=…, data=…) as porch:
        porch.modules, porch.services

The composition root registers the modules and puts the services into the environment.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from inkube.controllers.client import Client
from inkube.controllers.kinds import KindModule
from inkube.controllers.porch import health, repository
from inkube.controllers.porch.git.depots import Depots
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.refusals import RESOURCES, RESOURCES_KIND, malformed
from inkube.controllers.porch.types import (
    PackageRevision,
    PackageRevisionResources,
    PorchPackage,
)
from inkube.controllers.porch.variants import sets as variantsets
from inkube.controllers.porch.variants import variants
from inkube.controllers.porch.writes.engine import Engine
from inkube.controllers.provisioning import Remotes
from inkube.controllers.transactions import Part, View

LARGEST_BODY = 6 * 2**20
"""Bytes of a PackageRevisionResources."""


class Porch:
    """Kinds and services of one server; entered, it may hold repositories."""

    def __init__(
        self, options: Options, *, remotes: Remotes, client: Client, data: Path | None
    ) -> None:
        clones = None if data is None else data.with_name(f"{data.name}.porch")
        self._depots = Depots(remotes, client, clones=clones)
        self.options = options
        self.engine = Engine(options, self._depots)

    @property
    def modules(self) -> tuple[KindModule[Any], ...]:
        """PackageRevision first: the others show it."""
        rules = self.engine.rules
        refusals = rules.refusals
        return (
            KindModule(
                PackageRevision,
                compute_name=rules.name_of,
                parts=(
                    Part("", rules.prepare, rules.validate),
                    Part("approval", rules.prepare_approval, rules.validate_approval),
                ),
                transaction=self.engine.revision,
                versionless=refusals.versionless,
                stale=refusals.stale,
                malformed=malformed,
                returns_deleted=True,
                extra_controllers=lambda env: [health.controller(self.engine, env)],
                works_alone=True,
            ),
            KindModule(
                PackageRevisionResources,
                view=View(PackageRevision.gvr, self.engine.files.show),
                transaction=self.engine.resources,
                versionless=refusals.versionless,
                stale=partial(refusals.stale, resource=RESOURCES),
                malformed=partial(malformed, kind=RESOURCES_KIND),
                max_body=LARGEST_BODY,
            ),
            KindModule(PorchPackage),
            repository.module(self.options, self.engine),
            variants.module(),
            variantsets.module(),
        )

    @property
    def services(self) -> Mapping[str, Any]:
        """What the checks find by parameter name."""
        return {"porch": self.engine}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._depots.close()
