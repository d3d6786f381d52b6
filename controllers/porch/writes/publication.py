"""Proposed → Published: a commit on the main branch, a tag, the label, the placeholder.

If another client pushed to main in the meantime, the publication is repeated on top of that push,
at most TRIES times. It also checks the readiness gates, if the server enforces them.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from inkube.client import Object
from inkube.controllers.porch import refusals, revisions, storedobjects
from inkube.controllers.porch.git import commits, layout
from inkube.controllers.porch.git.content import RefMoved, Refs, Update
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.git.layout import PLACEHOLDER, PROPOSED, PUBLISHED
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.writes.origin import Origin
from inkube.formats import fielderrors, format_time
from inkube.kinds import Environment, Record, Write

TRIES = 3
"""The number of attempts to push, if main moves."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of one attempt."""

    number: int
    """The number of the published revision."""
    commit: str
    """Its commit, the new head of main."""
    main: str
    """The present head of main; "" if the branch is empty."""
    siblings: Sequence[Object]
    """Every revision of the package, as stored."""


class Publication:
    """Publishes proposed revisions, with another attempt if main moved."""

    def __init__(self, options: Options, depots: Depots, origin: Origin) -> None:
        self._enforces_gates = options.porch_enforce_readiness
        self._depots, self._origin = depots, origin

    @asynccontextmanager
    async def transaction(
        self, write: Write, env: Environment, repository: Object, depot: Depot
    ) -> AsyncIterator[None]:
        """The transaction around the commit of an approval: a commit on main and a tag. Raises
        StatusError.

        The caller holds the lock of the Repository.
        """
        obj, old = write.obj, write.old
        assert obj is not None, "an approval has both"
        assert old is not None, "an approval has both"
        if self._enforces_gates:
            _check_gates(write, obj)
        place = write.namespace, repository["metadata"]["name"]
        for attempt in range(TRIES):
            edition = await self._edition(write, env, repository, depot, old)
            updates = _updates(depot, old, edition)
            is_last = attempt == TRIES - 1
            try:
                async with self._origin.push(write, depot, updates, patient=not is_last):
                    self._origin.note_head(*place, edition.commit)
                    _publish(write, env, depot, obj, edition)
                    await _record(write, env, depot, obj, edition)
                    yield
                return
            except RefMoved:
                self._origin.forget(*place)

    async def _edition(
        self, write: Write, env: Environment, repository: Object, depot: Depot, old: Object
    ) -> _Attempt:
        """Return the next revision number, and a commit of the directory of the draft on top of the
        present head of main."""
        spec, head = old["spec"], revisions.commit_of(old)
        package = spec["packageName"]
        refs = await self._origin.refs(write, env, repository, depot, package)
        siblings = await storedobjects.of_package(
            env.client, write.namespace, spec["repository"], package
        )
        taken = [revisions.revision_of(each) for each in siblings]
        number = 1 + max([0, *taken, *_tagged_revisions(refs, depot, package)])
        main, commit = refs.get(depot.layout.main, ""), head
        if not write.dry_run:
            line = f"Approving package revision {package}/{number}"
            tasks = revisions.tasks_of(old)
            text = layout.message(line, package, spec["workspaceName"], number, tasks)
            make = partial(
                commits.commit_publication, depot, main, head, package, text=text, user=write.user
            )
            commit = await self._depots.run(depot.url, make)
        return _Attempt(number, commit, main, siblings)


def _check_gates(write: Write, obj: Object) -> None:
    conditions = (obj.get("status") or {}).get("conditions") or []
    good = {each["type"] for each in conditions if each["status"] == "True"}
    for gate in obj["spec"].get("readinessGates") or ():
        if gate["conditionType"] not in good:
            why = f"readiness gate {gate['conditionType']} has no condition with status True"
            error = fielderrors.invalid("spec.readinessGates", gate["conditionType"], why)
            raise refusals.invalid(write.name, error)


def _tagged_revisions(refs: Refs, depot: Depot, package: str) -> list[int]:
    """Return the revision numbers that have tags, including tags that other clients pushed."""
    prefix = depot.layout.tag(package, 0).removesuffix("v0")
    return [layout.revision_of(ref.removeprefix(prefix)) for ref in refs if ref.startswith(prefix)]


def _updates(depot: Depot, old: Object, edition: _Attempt) -> list[Update]:
    """Return the updates of a publication: move main, create the tag, delete the proposed
    branch."""
    package, workspace = old["spec"]["packageName"], old["spec"]["workspaceName"]
    return [
        Update(depot.layout.main, edition.main, edition.commit),
        Update(depot.layout.tag(package, edition.number), "", edition.commit),
        Update(
            depot.layout.draft_branch(PROPOSED, package, workspace), revisions.commit_of(old), ""
        ),
    ]


def _publish(write: Write, env: Environment, depot: Depot, obj: Object, edition: _Attempt) -> None:
    """Apply a publication to its object."""
    spec, observed = obj["spec"], obj["status"]
    spec["revision"] = edition.number
    observed["publishedBy"] = write.user
    observed["publishTimestamp"] = format_time(env.clock.now())
    tag = depot.layout.ref_name(depot.layout.tag(spec["packageName"], edition.number))
    revisions.place(obj, depot, tag, edition.commit)
    revisions.settle(obj)


async def _record(
    write: Write, env: Environment, depot: Depot, obj: Object, edition: _Attempt
) -> None:
    """Add records for the effects of a publication on other objects: the label, the placeholder,
    the summary of the package."""
    spec = obj["spec"]
    others = [each for each in edition.siblings if each["metadata"]["name"] != write.name]
    changed = revisions.relabelled([*others, obj])
    placeholder = next((each for each in others if revisions.is_placeholder(each)), None)
    write.records += [Record("update", each) for each in changed if each is not obj]
    write.records.append(_placeholder(obj, depot, placeholder, edition.commit))
    write.records += await storedobjects.summary_record(
        env.client, write.namespace, spec["repository"], spec["packageName"], [*others, obj]
    )


def _placeholder(obj: Object, depot: Depot, old: Object | None, commit: str) -> Record:
    """Return the record of the placeholder, the revision that represents the main branch, after a
    publication."""
    spec = {**obj["spec"], "workspaceName": depot.layout.branch, "revision": PLACEHOLDER}
    spec["lifecycle"] = PUBLISHED
    name = layout.name_of(spec["repository"], spec["packageName"], spec["workspaceName"])
    own = dict(obj["metadata"]) if old is None else old["metadata"]
    metadata: Object = {"name": name, "namespace": own["namespace"], "generation": 1}
    if old is not None:
        metadata = {**own, "generation": own.get("generation", 0) + 1}
    made: Object = {
        "apiVersion": revisions.API,
        "kind": "PackageRevision",
        "metadata": metadata,
        "spec": spec,
        "status": {key: value for key, value in obj["status"].items() if key != "fieldErrors"},
    }
    revisions.place(made, depot, depot.layout.branch, commit)
    revisions.settle(made)
    return Record("create" if old is None else "update", made)
