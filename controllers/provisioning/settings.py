"""The first request of a provisioning page: the repositories of a namespace, and the available
types.

`GET namespaces/NS/settings` returns a RepositoryViewList without secrets.
"""

from typing import Any

from inkube import kinds
from inkube.client import Object, Selection
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.types import CONNECTION_TYPES, Repository
from inkube.kinds import Endpoint, Environment, Question, Reply

TARGETS = ("folder", "instance", "folderless")
RESOURCES = (
    {"group": "dashboard.grafana.app", "kind": "Dashboard"},
    {"group": "folder.grafana.app", "kind": "Folder"},
)


def settings(options: Options) -> Endpoint:
    """Return the endpoint `settings`."""

    async def serve(question: Question, env: Environment) -> Reply:
        listed = await env.client.list(Repository.gvr, Selection(namespace=question.namespace))
        return Reply(
            {
                "kind": "RepositoryViewList",
                "apiVersion": question.api_version,
                "items": [view(obj) for obj in listed.items if not _is_terminating(obj)],
                "allowedTargets": list(TARGETS),
                "allowImageRendering": False,
                "maxRepositories": options.max_repositories,
                "availableRepositoryTypes": list(options.enabled_types),
                "availableConnectionTypes": list(CONNECTION_TYPES),
                "availableResources": [dict(each) for each in RESOURCES],
            }
        )

    return Endpoint("settings", serve)


def view(obj: Object) -> Object:
    """Return one repository as an item of the list."""
    repository = kinds.parse(Repository, obj)
    spec, remote = repository.spec, repository.spec.remote
    found: Object = {
        "name": repository.metadata.name,
        "title": spec.title,
        "type": spec.type,
        "target": (spec.sync.target if spec.sync is not None else None) or "",
    }
    for member in ("branch", "url", "path"):
        if value := getattr(remote or spec.local, member, ""):
            found[member] = value
    found["workflows"] = list(spec.workflows)
    options: dict[str, Any] = {
        "commit": spec.commit,
        "branchOptions": spec.branch,
        "pullRequest": spec.pull_request,
    }
    given = {name: kinds.dump(part) for name, part in options.items() if part is not None}
    return {**found, **given}


def _is_terminating(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))
