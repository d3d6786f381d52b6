"""Endpoints that read data about repositories and connections, in addition to the objects.

`repositories/NAME/` refs, resources and history, `connections/NAME/repositories`, a namespace's
`stats`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from inkube.client import Object, Selection
from inkube.controllers.provisioning import places
from inkube.controllers.provisioning.connection_checks import session_of as app_session_of
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.outside.contents import (
    Commit,
    RefNotFound,
    TooMuch,
    Unsupported,
)
from inkube.controllers.provisioning.outside.hosts import (
    GITHUB,
    AppNotFound,
    InstallationNotFound,
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
)
from inkube.controllers.provisioning.pulls import PullResult, Pulls
from inkube.controllers.provisioning.repository_checks import CredentialsMissing, session_of
from inkube.controllers.provisioning.types import GROUP, Connection, Repository
from inkube.kinds import (
    Endpoint,
    Environment,
    Key,
    OutsideError,
    Question,
    Reason,
    Reply,
    Run,
    StatusError,
    Subresource,
    status,
)

_TREES = {"github": "tree", "githubEnterprise": "tree", "gitlab": "-/tree", "bitbucket": "src"}
"""The path to the page of a branch at a provider."""
UNVERSIONED = "repository does not support versioned operations"
NO_LIST = "list repositories not implemented for given connection type"

Find = Callable[[Run[Repository], Question], Awaitable[Object]]
MakeReply = Callable[[Run[Repository], Question], Awaitable[Reply]]


async def reply_with(question: Question, env: Environment, find: Find) -> Reply:
    """Return the reply with the result of `find` for the repository, in the version of the
    request."""

    async def reply(run: Run[Repository], question: Question) -> Reply:
        return Reply({"apiVersion": question.api_version, **await find(run, question)})

    return await reply_or_status(question, env, reply)


async def reply_or_status(question: Question, env: Environment, reply: MakeReply) -> Reply:
    """Return the reply that `reply` returns for the repository. Errors of its host become a
    Status."""
    obj = await sync.stored(env, Repository, Key(question.namespace, question.name))
    if obj is None:
        raise status.not_found(GROUP, Repository.gvr.resource, question.name)
    run = Run(obj, env, model=Repository)
    try:
        return await reply(run, question)
    except (OutsideError, NotAuthorized, RepositoryNotFound, CredentialsMissing, TooMuch) as error:
        raise status.internal(_cause(error)) from error
    except RefNotFound as error:
        raise StatusError(404, Reason.NOT_FOUND, "ref not found") from error
    finally:
        await run.memo.close()


async def _refs(question: Question, env: Environment) -> Reply:
    async def find(run: Run[Repository], question: Question) -> Object:
        spec = run.object.spec
        if spec.remote is None:
            raise status.bad_request(UNVERSIONED)
        branches = await (await places.contents(run)).branches()
        items = []
        for branch in sorted(branches):
            item: Object = {"name": branch.name, "hash": branch.head}
            if spec.type in _TREES:
                item["refURL"] = f"{spec.remote.url}/{_TREES[spec.type]}/{branch.name}"
            if branch.is_protected:
                item["protected"] = True
            items.append(item)
        return {"kind": "RefList", "items": items}

    return await reply_with(question, env, find)


async def _history(question: Question, env: Environment) -> Reply:
    async def find(run: Run[Repository], question: Question) -> Object:
        if run.object.spec.remote is None:
            raise status.bad_request("this repository does not support history")
        if run.object.spec.type == "git":
            raise _not_implemented("history is not supported for pure git repositories")
        branch = question.query.get("ref") or places.configured_branch(run.object)
        try:
            commits = await (await session_of(run)).history(branch)
        except Unsupported as error:
            raise _not_implemented(str(error)) from error
        items = [
            {
                "ref": commit.ref,
                "message": commit.message,
                "authors": [_author(commit)],
                "createdAt": commit.created,
            }
            for commit in commits
        ]
        return {"kind": "HistoryList", "items": items}

    return await reply_with(question, env, find)


def _author(commit: Commit) -> Object:
    found = {"name": commit.author, "username": commit.username or commit.author}
    return {**found, "avatarURL": commit.avatar} if commit.avatar else found


refs = Subresource("refs", _refs, kind="RefList")
history = Subresource("history", _history, kind="HistoryList")


def resources(pulls: Pulls) -> Subresource:
    """Return the resources that the last pull created."""

    async def serve(question: Question, env: Environment) -> Reply:
        async def find(run: Run[Repository], question: Question) -> Object:
            key = Key(question.namespace, question.name)
            pulled = pulls.of(key, run.object.metadata.uid)
            return {"kind": "ResourceList", "items": _items(pulled) if pulled else []}

        return await reply_with(question, env, find)

    return Subresource("resources", serve, kind="ResourceList")


def _items(result: PullResult) -> list[Object]:
    items = []
    for each in result.resources:
        item: Object = {"path": each.path, "group": each.group, "resource": each.resource}
        item |= {"name": each.name, "hash": each.hash, "time": result.time}
        if each.title:
            item["title"] = each.title
        if each.folder:
            item["folder"] = each.folder
        items.append(item)
    return items


def stats(pulls: Pulls) -> Endpoint:
    """Return the number of resources that the repositories of a namespace created."""

    async def serve(question: Question, env: Environment) -> Reply:
        listed = await env.client.list(Repository.gvr, Selection(question.namespace))
        total: Counter[tuple[str, str]] = Counter()
        managed = []
        for obj in listed.items:
            metadata = obj["metadata"]
            pulled = pulls.of(Key(question.namespace, metadata["name"]), metadata["uid"])
            if pulled is None:
                continue
            counts = pulled.counts()
            managed.append({"kind": "repo", "id": metadata["name"], "stats": counts})
            for each in counts:
                total[each["group"], each["resource"]] += each["count"]
        instance = [
            {"group": group, "resource": resource, "count": count}
            for (group, resource), count in sorted(total.items())
        ]
        body: Object = {"kind": "ResourceStats", "apiVersion": question.api_version}
        return Reply({**body, "instance": instance, "unmanaged": [], "managed": managed})

    return Endpoint("stats", serve)


async def _external(question: Question, env: Environment) -> Reply:
    obj = await sync.stored(env, Connection, Key(question.namespace, question.name))
    if obj is None:
        raise status.not_found(GROUP, Connection.gvr.resource, question.name)
    run = Run(obj, env, model=Connection)
    try:
        session = await app_session_of(run)
        if session is None:
            raise _not_implemented(NO_LIST)
        names = await session.repositories()
    except (
        OutsideError, AppNotFound, KeyRefused, InstallationNotFound, NotAuthorized,
        CredentialsMissing,
    ) as error:  # fmt: skip
        raise status.internal(_cause(error)) from error
    finally:
        await run.memo.close()
    items, base = [], run.object.spec.server_url or f"https://{GITHUB}"
    for path in sorted(names):
        owner, _, name = path.partition("/")
        items.append({"name": name, "owner": owner, "url": f"{base}/{path}"})
    head = {"kind": "ExternalRepositoryList", "apiVersion": question.api_version}
    return Reply({**head, "items": items})


repositories = Subresource("repositories", _external, kind="ExternalRepositoryList")


def _not_implemented(message: str) -> StatusError:
    return StatusError(HTTPStatus.NOT_IMPLEMENTED, Reason.NOT_IMPLEMENTED, message)


_CAUSES = {
    NotAuthorized: "not authorized",
    RepositoryNotFound: "repository not found",
    CredentialsMissing: "the secret is not there; set it again",
    AppNotFound: "app not found",
    KeyRefused: "the private key was refused",
    InstallationNotFound: "installation not found",
}


def _cause(error: Exception) -> str:
    return _CAUSES.get(type(error), str(error))
