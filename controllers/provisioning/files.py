"""`repositories/NAME/files[/PATH]`: reads files of a branch as resources, and writes them as
commits."""

from typing import Any

from inkube.client import Object
from inkube.controllers.provisioning import manifests, places, readings
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.manifests import EXTENSIONS, KINDS, Unreadable
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.contents import Edit, File, Tree, Unsupported
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.types import GROUP, Repository
from inkube.kinds import (
    Environment,
    Key,
    Question,
    Reason,
    Reply,
    Run,
    StatusError,
    Subresource,
    status,
)

DEEPEST = 8
"""The maximum number of segments in a path."""
LARGEST = 5 * 1024 * 1024
"""The maximum size of a file in bytes."""
FORBIDDEN = "write operations are not allowed for this repository"
MARKDOWN = ".md"


def files(pulls: Pulls) -> Subresource:
    """Return the subresource."""

    async def serve(question: Question, env: Environment) -> Reply:
        async def reply(run: Run[Repository], question: Question) -> Reply:
            request = _Request(run, question, pulls)
            try:
                return await request.respond()
            except Unsupported as error:
                raise status.bad_request(str(error)) from error

        return await readings.reply_or_status(question, env, reply)

    verbs = ("get", "create", "update", "delete")
    return Subresource("files", serve, kind="ResourceWrapper", verbs=verbs)


class _Request:
    """One request for one repository."""

    def __init__(self, run: Run[Repository], question: Question, pulls: Pulls) -> None:
        self._run = run
        self._question = question
        self._pulls = pulls
        self._repository = run.object
        self._ref = question.query.get("ref", "")
        self._path = "/".join(question.rest)
        self._is_directory = question.is_directory

    async def respond(self) -> Reply:
        """Handle the verb. Permission to write is checked before the path. Raises StatusError."""
        verb = self._question.verb
        if verb != "get":
            self._permit()
        if not self._path:
            if verb != "get":
                raise status.bad_request("missing request path")
            return Reply(await self._list())
        self._check_path()
        if verb == "get":
            return await self._get()
        if verb == "delete":
            return await self._delete()
        return await self._write(is_new=verb == "create")

    def _permit(self) -> None:
        workflows = self._repository.spec.workflows
        name, plural = self._repository.metadata.name, Repository.gvr.resource
        if not workflows:
            raise status.forbidden(GROUP, plural, name, FORBIDDEN)
        configured = places.configured_branch(self._repository)
        needed = "branch" if self._ref and self._ref != configured else "write"
        if needed not in workflows:
            why = f"{needed} workflow is not allowed for this repository"
            raise status.forbidden(GROUP, plural, name, why)

    def _check_path(self, path: str = "") -> None:
        path = path or self._path
        if why := urls.wrong_with_path(path):
            raise status.bad_request(why)
        if path.count("/") >= DEEPEST:
            raise status.bad_request("the path is too deep")
        if self._is_directory:
            if self._question.verb == "get":
                raise status.bad_request("folder navigation not yet supported")
            if self._question.verb == "update":
                raise status.method_not_allowed()
        elif not path.endswith((*EXTENSIONS, MARKDOWN)):
            raise status.bad_request("unsupported file extension")

    async def _list(self) -> Object:
        tree = await self._tree()
        items = [
            {"path": file.path, "size": len(file.data), "hash": file.hash}
            for file in tree.below(self._repository.spec.path)
        ]
        return {"kind": "FileList", "apiVersion": self._question.api_version, "items": items}

    async def _get(self) -> Reply:
        file = self._file(await self._tree())
        if len(file.data) > LARGEST:
            raise status.too_large(f"a file may have {LARGEST} bytes at most")
        if file.path.endswith(MARKDOWN):
            return Reply(file.data, media="text/markdown")
        return self._wrap(file)

    async def _delete(self) -> Reply:
        tree = await self._tree_to_write()
        if self._is_directory:
            below = [
                file for file in self._files_below(tree) if file.path.startswith(f"{self._path}/")
            ]
            if not below:
                raise _not_found("file not found")
            await self._commit([Edit(self._full_path(file.path), None) for file in below], "Delete")
            return self._wrapper(File(f"{self._path}/", b""), {"action": "delete"})
        file = self._file(tree)
        reply = self._wrap(file, "delete")
        await self._commit([Edit(self._full_path(file.path), None)], "Delete")
        return reply

    async def _write(self, *, is_new: bool) -> Reply:
        tree = await self._tree_to_write()
        known = {file.path: file for file in self._files_below(tree)}
        if self._is_directory:
            keep = f"{self._path}/.keep"
            if keep in known:
                raise StatusError(409, Reason.ALREADY_EXISTS, "file already exists")
            await self._commit([Edit(self._full_path(keep), b"")], "Create")
            return self._wrapper(File(f"{self._path}/", b""), {"action": "create"})
        original = self._question.query.get("originalPath", "") if is_new else ""
        if is_new and self._path in known:
            raise StatusError(409, Reason.ALREADY_EXISTS, "file already exists")
        if not is_new and self._path not in known:
            raise _not_found("file not found")
        edits = []
        data = self._question.body
        if original:
            if original not in known:
                raise _not_found("file not found")
            data = data or known[original].data
            edits.append(Edit(self._full_path(original), None))
        if len(data) > LARGEST:
            raise status.too_large(f"a file may have {LARGEST} bytes at most")
        file = File(self._path, data)
        reply = self._wrap(file, "create" if is_new else "update", is_strict=True)
        verb = "Move" if original else "Create" if is_new else "Update"
        await self._commit([*edits, Edit(self._full_path(self._path), data)], verb)
        return reply

    async def _commit(self, edits: list[Edit], verb: str) -> None:
        message = self._question.query.get("message") or f"{verb} {self._path}"
        await places.commit(self._run, self._ref, edits, message)
        options = self._repository.spec.sync
        is_configured = self._ref in ("", places.configured_branch(self._repository))
        if is_configured and options is not None and options.enabled:
            await sync.request_pull_after_write(self._run.raw, self._run.env, self._pulls)

    async def _tree(self) -> Tree:
        return await places.tree(self._run, self._ref)

    async def _tree_to_write(self) -> Tree:
        """Return the tree of the branch; a new branch starts from the configured one."""
        if self._ref and self._repository.spec.remote is not None:
            branches = await (await places.contents(self._run)).branches()
            if self._ref not in {branch.name for branch in branches}:
                return await places.tree(self._run)
        return await self._tree()

    def _files_below(self, tree: Tree) -> list[File]:
        return tree.below(self._repository.spec.path)

    def _full_path(self, path: str) -> str:
        base = self._repository.spec.path
        return f"{base}/{path}" if base else path

    def _file(self, tree: Tree) -> File:
        for file in self._files_below(tree):
            if file.path == self._path:
                return file
        raise _not_found("file not found")

    def _wrap(self, file: File, action: str = "", *, is_strict: bool = False) -> Reply:
        """Return the wrapper of a file, with its problems in `errors`.

        Raises StatusError 400 for a file that is not a resource, and, if `is_strict`, for any
        problem that prevents parsing.
        """
        if file.path.endswith(MARKDOWN):
            return self._wrapper(file, {"action": action})
        scope = places.scope_of(self._repository)
        try:
            content: Any = manifests.content(file)
        except Unreadable as error:
            raise status.bad_request("unable to read file as a resource") from error
        try:
            found = manifests.parse(file, scope)
        except Unreadable as error:
            if is_strict or not error.kind:
                raise status.bad_request(str(error)) from error
            return self._wrapper(file, {"file": content, "action": action}, [str(error)])
        pulled = self._pulls.of(
            Key(scope.namespace, scope.repository), self._repository.metadata.uid
        )
        known = {each.identity: each for each in pulled.resources} if pulled is not None else {}
        existing = known.get(found.identity)
        kind = {"group": found.group, "version": found.version, "kind": found.kind}
        kind["resource"] = found.resource
        if found.is_classic:
            kind["classic"] = "dashboard"
        resource: Object = {"type": kind, "file": content}
        if existing is not None:
            resource["existing"] = existing.object
        resource["action"] = action or ("create" if existing is None else "update")
        resource["dryRun"] = found.object
        errors = []
        if (found.group, found.kind) not in KINDS:
            errors.append(f"kind {found.kind} of {found.group} is not supported")
        return self._wrapper(file, resource, errors)

    def _wrapper(self, file: File, resource: Object, errors: list[str] | None = None) -> Reply:
        repository, spec = self._repository.metadata, self._repository.spec
        head = {"kind": "ResourceWrapper", "apiVersion": self._question.api_version}
        body: Object = {**head, "path": file.path, "hash": file.hash if file.data else ""}
        if self._ref:
            body["ref"] = self._ref
        body["repository"] = {
            "name": repository.name,
            "namespace": repository.namespace,
            "title": spec.title,
            "type": spec.type,
        }
        if found := places.urls_of(self._repository, self._ref, file.path):
            body["urls"] = found
        body["resource"] = resource
        if errors:
            body["errors"] = errors
        return Reply(body, code=206 if errors and self._question.verb == "get" else 200)


def _not_found(message: str) -> StatusError:
    return StatusError(404, Reason.NOT_FOUND, message)
