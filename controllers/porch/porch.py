"""Porch as one thing to plug in: its kinds and the services they use.

    async with Porch(options, remotes=…, client=…, data=…) as porch:
        porch.modules, porch.services

The composition root registers the modules and puts the services into the environment.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from inkube.controllers.checks import OutsideError
from inkube.controllers.client import Client
from inkube.controllers.environment import Environment
from inkube.controllers.kinds import KindModule
from inkube.controllers.porch import (
    health,
    repository,
    revisions,
    stock,
    variants,
    variantsets,
)
from inkube.controllers.porch.depots import Depots, SecretMissing, SecretUnfit
from inkube.controllers.porch.engine import RESOURCES, Engine, cause, resources_spec
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.tasks import read
from inkube.controllers.porch.types import (
    PackageRevision,
    PackageRevisionResources,
    PorchPackage,
)
from inkube.controllers.provisioning.contents import TooMuch
from inkube.controllers.provisioning.hosts import NotAuthorized, RepositoryNotFound
from inkube.controllers.provisioning.remotes import Remotes
from inkube.controllers.transactions import Part, View
from inkube.schemas import status
from inkube.schemas.objects import Object

LARGEST_BODY = 6 * 2**20
"""Bytes of a PackageRevisionResources."""
_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


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
                returns_deleted=True,
                extra_controllers=lambda env: [health.controller(self.engine, env)],
            ),
            KindModule(
                PackageRevisionResources,
                view=View(PackageRevision.gvr, self._show),
                transaction=self.engine.resources,
                versionless=refusals.versionless,
                stale=partial(refusals.stale, resource=RESOURCES),
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

    async def _show(self, objects: Sequence[Object], env: Environment) -> list[Object]:
        """The files of revisions; a Repository is opened once for all of its revisions."""
        groups: dict[tuple[str, str], list[int]] = {}
        for at, obj in enumerate(objects):
            place = (obj["metadata"]["namespace"], obj["spec"]["repository"])
            groups.setdefault(place, []).append(at)
        shown: list[Object] = [{} for _ in objects]
        for (namespace, name), places in groups.items():
            found = await self._files(env, namespace, name, [objects[at] for at in places])
            for at, files in zip(places, found, strict=True):
                shown[at] = _resources(objects[at], files)
        return shown

    async def _files(
        self, env: Environment, namespace: str, name: str, objects: Sequence[Object]
    ) -> list[dict[str, str]]:
        owner = await stock.repository(env.client, name, namespace)
        if owner is None:
            return [{} for _ in objects]
        try:
            depot = await self._depots.open(owner)
            made = []
            for obj in objects:
                commit = revisions.commit_of(obj)
                path = depot.layout.path(obj["spec"]["packageName"])
                files = await self._depots.run(depot.url, partial(read, depot.store, commit, path))
                made.append(files or {})
                await asyncio.sleep(0)
            return made
        except (
            NotAuthorized, RepositoryNotFound, OutsideError, SecretMissing, SecretUnfit, TooMuch,
            KeyError,
        ) as error:  # fmt: skip
            why = "a commit is not there" if isinstance(error, KeyError) else cause(error)
            raise status.unavailable(f"repository {name} cannot be read: {why}") from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depots.close()


def _resources(revision: Object, files: dict[str, str]) -> Object:
    meta = revision["metadata"]
    return {
        "apiVersion": revisions.API,
        "kind": "PackageRevisionResources",
        "metadata": {member: meta[member] for member in _SHOWN if member in meta},
        "spec": resources_spec(revision, files),
        "status": {"renderStatus": {"error": ""}},
    }
