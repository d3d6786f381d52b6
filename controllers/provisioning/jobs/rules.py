"""Static rules for jobs that clients create directly."""

from collections.abc import Iterator, Sequence
from typing import Any

from inkube.controllers.provisioning.jobs.types import ACTIONS, Job, ResourceReference
from inkube.controllers.provisioning.outside import urls
from inkube.kinds import Invalid, Problem, Required, TooMany, validator

MAX_ITEMS = 100
"""The maximum number of paths or resources in one job."""
_WITH_OPTIONS = ("pull", "push", "pr", "migrate", "delete", "move")


@validator(Job, field="spec.action")
def action_known(job: Job, old: Job | None) -> Iterator[Problem]:
    """Check that the action is known and has its options."""
    action = job.spec.action
    if not action:
        yield Required("action must be specified")
    elif action not in ACTIONS:
        yield Invalid("invalid action")
    elif action in _WITH_OPTIONS and getattr(job.spec, action) is None:
        what = "pull request" if action == "pr" else action
        yield Required(f"{what} options required for {action} action", field=f"spec.{action}")


@validator(Job, field="spec.repository")
def repository_given(job: Job, old: Job | None) -> Iterator[Problem]:
    """Check that a job has one repository."""
    if not job.spec.repository:
        yield Required("repository must be specified")


@validator(Job, field="spec.push")
def export_possible(job: Job, old: Job | None) -> Iterator[Problem]:
    """Check that pushes and migrations export only dashboards, to a valid branch and path."""
    spec = job.spec
    if spec.action == "push" and spec.push is not None:
        if spec.push.branch and urls.wrong_with_branch(spec.push.branch):
            yield Invalid("invalid git branch name", field="spec.push.branch")
        if spec.push.path and (why := urls.wrong_with_path(spec.push.path)):
            yield Invalid(why, field="spec.push.path")
        yield from _wrong_with_resources(spec.push.resources, "spec.push", only_dashboards=True)
    if spec.action == "migrate" and spec.migrate is not None:
        yield from _wrong_with_resources(
            spec.migrate.resources, "spec.migrate", only_dashboards=True
        )


@validator(Job, field="spec.delete")
def files_named(job: Job, old: Job | None) -> Iterator[Problem]:
    """Check that deletions and moves have valid files or resources."""
    spec = job.spec
    if spec.action == "delete" and spec.delete is not None:
        yield from _wrong_with_targets(spec.delete, "spec.delete")
    if spec.action == "move" and spec.move is not None:
        if not spec.move.target_path:
            yield Required("target path is required", field="spec.move.targetPath")
        elif why := urls.wrong_with_path(spec.move.target_path):
            yield Invalid(why, field="spec.move.targetPath")
        yield from _wrong_with_targets(spec.move, "spec.move")


VALIDATORS = (action_known, repository_given, export_possible, files_named)


def _wrong_with_targets(options: Any, field: str) -> Iterator[Problem]:
    if not options.paths and not options.resources:
        yield Required("at least one path or resource must be specified", field=field)
    if len(options.paths) > MAX_ITEMS:
        yield TooMany(f"must have at most {MAX_ITEMS} items", f"{field}.paths", len(options.paths))
    for position, path in enumerate(options.paths[:MAX_ITEMS]):
        if why := urls.wrong_with_path(path):
            yield Invalid(why, field=f"{field}.paths[{position}]")
    yield from _wrong_with_resources(options.resources, field)


def _wrong_with_resources(
    resources: Sequence[ResourceReference], field: str, *, only_dashboards: bool = False
) -> Iterator[Problem]:
    if len(resources) > MAX_ITEMS:
        yield TooMany(f"must have at most {MAX_ITEMS} items", f"{field}.resources", len(resources))
    for position, resource in enumerate(resources[:MAX_ITEMS]):
        place = f"{field}.resources[{position}]"
        if not resource.name:
            yield Required("resource name is required", field=f"{place}.name")
        if not resource.kind:
            yield Required("resource kind is required", field=f"{place}.kind")
        elif only_dashboards and resource.kind != "Dashboard":
            detail = "kind is not supported for export; supported kinds: Dashboard"
            yield Invalid(detail, field=f"{place}.kind")
