"""The steps before the deletion of a Repository: its jobs, its webhook, the resources pulled from
it."""

from inkube.client import Selection, ignoring
from inkube.controllers.provisioning import hooks
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.jobs.types import Job
from inkube.controllers.provisioning.outside.hosts import NotAuthorized, RepositoryNotFound
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.repository_checks import CredentialsMissing
from inkube.controllers.provisioning.repository_rules import CLEANUP, PENDING_JOBS, RELEASE, REMOVE
from inkube.controllers.provisioning.types import GROUP, Repository
from inkube.kinds import (
    CannotFinish,
    Environment,
    Finalizer,
    Finalizers,
    Key,
    OutsideError,
    Run,
)

FORCE = f"{GROUP}/force-delete"
"""An annotation: the deletion sends no requests to outside systems."""


def finalizers(pulls: Pulls) -> Finalizers:
    """Return the steps in their order. By default, resources are removed, not released."""

    async def forget_pull(repository: Repository, env: Environment) -> None:
        pulls.forget(Key(repository.metadata.namespace, repository.metadata.name))

    return Finalizers(
        Finalizer(PENDING_JOBS, _remove_jobs),
        Finalizer(CLEANUP, _remove_webhook),
        Finalizer(RELEASE, forget_pull),
        Finalizer(REMOVE, forget_pull),
        default=(REMOVE, PENDING_JOBS, CLEANUP),
        reason_member="deleteError",
    )


async def _remove_jobs(repository: Repository, env: Environment) -> None:
    listed = await env.client.list(Job.gvr, Selection(repository.metadata.namespace))
    for job in listed.items:
        if job["spec"].get("repository") != repository.metadata.name:
            continue
        metadata = job["metadata"]
        with ignoring(404):
            await env.client.delete(Job.gvr, metadata["name"], metadata["namespace"])


async def _remove_webhook(repository: Repository, env: Environment) -> None:
    metadata = repository.metadata
    if metadata.annotations.get(FORCE) == "true":
        return
    obj = await sync.stored(env, Repository, Key(metadata.namespace, metadata.name))
    if obj is None:
        return
    run = Run(obj, env, model=Repository)
    try:
        await hooks.remove(run)
    except RepositoryNotFound:
        return  # the webhook was deleted with the repository
    except (NotAuthorized, CredentialsMissing) as error:
        raise CannotFinish("webhook: not authorized") from error
    except OutsideError as error:
        raise CannotFinish(f"webhook: {error.service} {error.reason}") from error
    finally:
        await run.memo.close()
