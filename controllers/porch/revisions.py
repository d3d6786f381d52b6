"""PackageRevisions as objects: created from git, kept equal to their Kptfile, labeled. Pure."""

from collections.abc import Iterable, Sequence

from inkube.client import Object
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.files.kptfile import Kptfile
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.git.depots import Depot
from inkube.controllers.porch.git.discovery import FoundRevision
from inkube.controllers.porch.git.layout import FINAL, PLACEHOLDER
from inkube.controllers.porch.types import GROUP, LATEST, VERSION

API = f"{GROUP}/{VERSION}"


def object_of(repository: Object, depot: Depot, revision: FoundRevision) -> Object:
    """Return the object of a revision that was found in git."""
    assert revision.kptfile is not None, "what is new was read"
    meta = repository["metadata"]
    name = layout.name_of(meta["name"], revision.package, revision.workspace)
    spec: Object = {
        "packageName": revision.package,
        "repository": meta["name"],
        "workspaceName": revision.workspace,
    }
    obj: Object = {
        "apiVersion": API,
        "kind": "PackageRevision",
        "metadata": {"name": name, "namespace": meta["namespace"], "generation": 1},
        "spec": spec,
        "status": {},
    }
    renew(obj, depot, revision)
    return obj


def renew(obj: Object, depot: Depot, revision: FoundRevision) -> None:
    """Update an object to the state found in git. Its metadata stays, except the generation."""
    spec, status = obj["spec"], obj.setdefault("status", {})
    before = dict(spec)
    spec["lifecycle"] = revision.lifecycle
    if revision.revision:
        spec["revision"] = revision.revision
    else:
        spec.pop("revision", None)
    if revision.tasks and "tasks" not in spec:
        spec["tasks"] = revision.tasks
    if revision.kptfile is not None:
        mirror(obj, revision.kptfile)
    place(obj, depot, revision.ref, revision.commit)
    status["deployment"] = depot.deployment
    if revision.lifecycle in FINAL:
        if revision.published_by:
            status.setdefault("publishedBy", revision.published_by)
        if revision.published_at:
            status.setdefault("publishTimestamp", revision.published_at)
    else:
        status.pop("publishedBy", None)
        status.pop("publishTimestamp", None)
    if spec != before and obj["metadata"].get("uid"):
        obj["metadata"]["generation"] = obj["metadata"].get("generation", 0) + 1
    settle(obj)


def mirror(obj: Object, kptfile: Kptfile) -> None:
    """Copy gates, metadata, conditions and upstream from the Kptfile."""
    spec, status = obj["spec"], obj.setdefault("status", {})
    for target, member, value in (
        (spec, "readinessGates", kptfile.gates),
        (spec, "packageMetadata", kptfile.metadata),
        (status, "conditions", kptfile.conditions),
        (status, "upstreamLock", kptfile.upstream_lock),
    ):
        if value:
            target[member] = value
        else:
            target.pop(member, None)


def place(obj: Object, depot: Depot, ref: str, commit: str) -> None:
    """Set the location of the revision in git."""
    directory = depot.layout.path(obj["spec"]["packageName"])
    git = {"repo": depot.url, "directory": directory, "ref": ref, "commit": commit}
    obj.setdefault("status", {})["selfLock"] = {"type": "git", "git": git}


def describe(obj: Object, depot: Depot, files: Files, ref: str, commit: str) -> None:
    """Copy the content of the Kptfile in these files, and set their location in git. Raises
    Unreadable."""
    mirror(obj, Kptfile.of(files))
    place(obj, depot, ref, commit)
    settle(obj)


def settle(obj: Object) -> None:
    """Set the members of status about checks, which every response contains."""
    status = obj.setdefault("status", {})
    status.setdefault("fieldErrors", [])
    status["observedGeneration"] = obj["metadata"].get("generation", 1)


def tasks_of(obj: Object) -> list[Object]:
    """Return the completed tasks; [] if git does not record them."""
    return list(obj["spec"].get("tasks") or ())


def commit_of(obj: Object) -> str:
    """Return the commit that contains the files of the revision."""
    return str(obj["status"]["selfLock"]["git"]["commit"])


def ref_of(obj: Object) -> str:
    """Return the ref of the revision, in the form that locks use."""
    return str(obj["status"]["selfLock"]["git"]["ref"])


def revision_of(obj: Object) -> int:
    """Return the number of the revision; 0 for drafts, -1 for the placeholder."""
    return int(obj["spec"].get("revision") or 0)


def is_placeholder(obj: Object) -> bool:
    """Return whether it represents the main branch."""
    return revision_of(obj) == PLACEHOLDER


def highest(revisions: Iterable[Object]) -> Object | None:
    """Return the latest published revision of a package."""
    published = [each for each in revisions if is_published(each)]
    return max(published, key=revision_of, default=None)


def is_published(obj: Object) -> bool:
    """Return whether it is published under a revision number."""
    return obj["spec"].get("lifecycle") in FINAL and revision_of(obj) > 0


def relabelled(revisions: Sequence[Object]) -> list[Object]:
    """Move the label of the latest revision within one package. Return the revisions that gained or
    lost it, changed in place."""
    latest = highest(revisions)
    changed = []
    for each in revisions:
        meta = each["metadata"]
        labels = meta.get("labels") or {}
        if (each is latest) == (labels.get(LATEST) == "true"):
            continue
        if each is latest:
            meta["labels"] = {**labels, LATEST: "true"}
        else:
            meta["labels"] = {k: v for k, v in labels.items() if k != LATEST}
            if not meta["labels"]:
                del meta["labels"]
        changed.append(each)
    return changed


def summary(repository: str, namespace: str, package: str, latest: int) -> Object:
    """Return the PorchPackage of a package."""
    name = layout.package_name(repository, package)
    return {
        "apiVersion": API,
        "kind": "PorchPackage",
        "metadata": {"name": name, "namespace": namespace, "generation": 1},
        "spec": {"packageName": package, "repository": repository},
        "status": {"latestRevision": latest},
    }


def latest_of(revisions: Iterable[Object]) -> int:
    """Return the number of the latest published revision; 0 if no revision is published."""
    found = highest(revisions)
    return 0 if found is None else revision_of(found)


def upstream_names(obj: Object) -> list[tuple[str, str]]:
    """Return the revisions that it was created from and that must not be deleted: field and
    name."""
    found = []
    for at, task in enumerate(obj["spec"].get("tasks") or ()):
        clone = ((task.get("clone") or {}).get("upstreamRef") or {}).get("upstreamRef") or {}
        newer = (task.get("upgrade") or {}).get("newUpstreamRef") or {}
        if clone.get("name"):
            found.append((f"spec.tasks[{at}].clone.upstreamRef.upstreamRef.name", clone["name"]))
        if newer.get("name"):
            found.append((f"spec.tasks[{at}].upgrade.newUpstreamRef.name", newer["name"]))
    return found
