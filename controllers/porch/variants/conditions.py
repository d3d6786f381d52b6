"""The common parts of PackageVariant and PackageVariantSet: problems are reported in the status.

A controller validates the spec and writes conditions; a dry run returns the same problems as
causes.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

from inkube.client import Object, ignoring
from inkube.formats import same
from inkube.kinds import (
    Controller,
    Environment,
    Finding,
    Invalid,
    KindModule,
    Problem,
    Resource,
    check,
    conditions,
)

R = TypeVar("R", bound=Resource)


def module(
    kind: type[R],
    wrong_with: Callable[[Object], list[tuple[str, str]]],
    controller: Callable[[Environment], Controller],
) -> KindModule[R]:
    """Return a kind with its controller; `wrong_with` returns the invalid fields of a spec with
    their problems."""

    @check(kind, field="spec")
    async def well_formed(obj: R, run: Any) -> AsyncIterator[Problem]:
        for field, text in wrong_with(run.raw.get("spec") or {}):
            yield Invalid(text, field=field)

    return KindModule(
        kind,
        checks=(well_formed,),
        reports_checks=False,
        extra_controllers=lambda env: [controller(env)],
        works_alone=True,
    )


async def write(
    env: Environment, kind: Any, obj: Object, findings: Sequence[Finding], members: Object
) -> None:
    """Write the conditions and members of a status that changed."""
    meta, observed = obj["metadata"], obj.get("status") or {}
    made: Object = {**members, "conditions": conditions(obj, findings, env.clock.now())}
    changed = {name: value for name, value in made.items() if not same(observed.get(name), value)}
    if not changed:
        return
    patch = {"metadata": {"uid": meta["uid"]}, "status": changed}
    with ignoring(404, 409):
        await env.client.patch(
            kind.gvr, meta["name"], meta["namespace"], patch=patch, subresource="status"
        )
