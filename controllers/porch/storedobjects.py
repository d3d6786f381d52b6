"""Reads and writes of the stored objects of Porch, for its own code."""

from collections.abc import Sequence

from inkube.client import Client, Object, Selection, get_or_none
from inkube.controllers.porch import revisions
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.types import PackageRevision, PorchPackage, Repository
from inkube.kinds import MOST, Environment, Record


async def revision(client: Client, name: str, namespace: str) -> Object | None:
    """Return a PackageRevision; None if it does not exist."""
    return await get_or_none(client, PackageRevision, name, namespace)


async def repository(client: Client, name: str, namespace: str) -> Object | None:
    """Return a Repository; None if it does not exist."""
    return await get_or_none(client, Repository, name, namespace)


async def of_package(client: Client, namespace: str, repository: str, package: str) -> list[Object]:
    """Return every revision of a package."""
    fields = f"spec.packageName={package},spec.repository={repository}"
    listed = await client.list(PackageRevision.gvr, Selection(namespace, fields=fields))
    return listed.items


async def of_repository(client: Client, namespace: str, repository: str) -> list[Object]:
    """Return every revision of a Repository."""
    selection = Selection(namespace, fields=f"spec.repository={repository}")
    return (await client.list(PackageRevision.gvr, selection)).items


async def of_namespace(client: Client, namespace: str) -> list[Object]:
    """Return every revision of a namespace."""
    return (await client.list(PackageRevision.gvr, Selection(namespace))).items


async def packages(client: Client, namespace: str, repository: str) -> list[Object]:
    """Return the summaries of a Repository's packages."""
    selection = Selection(namespace, fields=f"spec.repository={repository}")
    return (await client.list(PorchPackage.gvr, selection)).items


async def summary_record(
    client: Client, namespace: str, repository: str, package: str, siblings: Sequence[Object]
) -> list[Record]:
    """Return the records that update the summary of a package to its revisions."""
    name = layout.package_name(repository, package)
    old = await get_or_none(client, PorchPackage, name, namespace)
    latest = revisions.latest_of(siblings)
    if not siblings:
        return [] if old is None else [Record("delete", old)]
    if old is None:
        made = revisions.summary(repository, namespace, package, latest)
        return [Record("create", made)]
    if old["status"]["latestRevision"] == latest:
        return []
    old["status"]["latestRevision"] = latest
    return [Record("update", old)]


async def commit(env: Environment, records: Sequence[Record]) -> None:
    """Write records, in commits of at most MOST records each. Raises StatusError."""
    for start in range(0, len(records), MOST):
        await env.records.commit(records[start : start + MOST])
