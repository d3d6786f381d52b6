"""Real git servers with dulwich, without a git binary: list, fetch one commit, push one commit.

dulwich blocks, so it runs in a few separate threads. Each operation has a time limit, which also
ends responses without an end. Errors are distinguished by their HTTP status code before dulwich
receives them.
"""

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import urllib3
from dulwich.client import LocalGitClient, Urllib3HttpGitClient
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository
from dulwich.object_store import commit_tree_changes, iter_tree_contents
from dulwich.objects import Blob, ObjectID
from dulwich.objects import Commit as GitCommit
from dulwich.pack import pack_objects_to_data
from dulwich.refs import Ref
from dulwich.repo import MemoryRepo
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.connection import create_connection

from inkube.controllers.provisioning.outside import allowances, urls
from inkube.controllers.provisioning.outside.contents import (
    MAX_BYTES,
    MAX_FILES,
    Branch,
    Commit,
    Edit,
    File,
    RefNotFound,
    TooMuch,
    Tree,
    Unsupported,
)
from inkube.controllers.provisioning.outside.hosts import (
    NotAuthorized,
    RepositoryNotFound,
    Target,
    late,
    refusal,
    untrusted,
)
from inkube.controllers.provisioning.outside.ssrf import Guard
from inkube.kinds import Memo, Unavailable, Unreachable

T = TypeVar("T")

THREADS = 16
"""The number of concurrent operations; others wait."""
LARGEST = 64 * 1024 * 1024
"""The maximum size of a response in bytes: some hundred thousand branches and tags."""
_TOKEN_USERS = {
    "github": "x-access-token",
    "githubEnterprise": "x-access-token",
    "gitlab": "oauth2",
    "bitbucket": "x-token-auth",
}
_HEADS = b"refs/heads/"
PUSHES = 3
"""The number of attempts to push a commit if other clients push in the meantime."""
REGULAR = 0o100644
AUTHOR = b"inkube <inkube@localhost>"


class Git:
    """Opens sessions with git servers; `close` ends its threads."""

    def __init__(self, guard: Guard, *, timeout: float = 10.0) -> None:
        self._guard = guard
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="git")

    def open(self, target: Target) -> "GitSession":
        """Return a session for one repository."""
        return GitSession(self, target)

    def close(self) -> None:
        """Start no more operations; running ones end by their time limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, host: str, question: Callable[[], T]) -> T:
        """Run an operation in a thread, within the time limit. Raises Unavailable after the time
        limit."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                limited = allowances.limited(question)
                return await loop.run_in_executor(self._threads, limited)
        except TimeoutError as error:
            raise late(host, f"did not answer within {self._timeout:g} seconds") from error

    @contextlib.contextmanager
    def client(self, url: str, target: Target) -> Iterator[Urllib3HttpGitClient]:
        """A dulwich client for one operation at one URL, with the credentials of the target."""
        user, token = _login(target)
        with self._pool() as pool:
            yield Urllib3HttpGitClient(
                url, pool_manager=pool, username=user or None, password=token or None
            )

    def may_push(self, url: str, target: Target) -> bool:
        """Request `git push`; return whether the server permits it. Raises RepositoryNotFound,
        OutsideError."""
        user, token = _login(target)
        headers = urllib3.make_headers(basic_auth=f"{user}:{token}") if token else {}
        question = f"{url.rstrip('/')}/info/refs?service=git-receive-pack"
        try:
            with self._pool() as pool:
                pool.request("GET", question, headers=headers, preload_content=False)
        except NotAuthorized:
            return False
        return True

    def _pool(self) -> "_Pool":
        return _Pool(self._guard, self._timeout)


class GitSession:
    """A session with one git server for one repository."""

    def __init__(self, git: Git, target: Target) -> None:
        self._git = git
        self._target = target
        self._host = urls.host_of(target.url) or "the local repository"
        self._is_file = target.url.startswith("file://")
        self._memo = Memo()

    async def default_branch(self) -> str:
        _, symbolic = await self._refs()
        return symbolic.get(b"HEAD", b"").removeprefix(_HEADS).decode()

    async def head(self, branch: str) -> str | None:
        refs, _ = await self._refs()
        commit = refs.get(_HEADS + branch.encode())
        return commit.decode() if commit else None

    async def branch_names(self) -> list[str]:
        return [branch.name for branch in await self.branches()]

    async def is_protected(self, branch: str) -> bool:
        """Return False: git does not report protection rules."""
        return False

    async def branches(self) -> list[Branch]:
        """Return all branches; git does not report protection rules."""
        refs, _ = await self._refs()
        return sorted(
            Branch(name.removeprefix(_HEADS).decode(), commit.decode())
            for name, commit in refs.items()
            if name.startswith(_HEADS)
        )

    async def tree(self, branch: str) -> Tree:
        """Return the files at the head of a branch, read with a shallow fetch. Raises
        RefNotFound."""
        head = await self.head(branch)
        if head is None:
            raise RefNotFound
        return await self._git.run(self._host, lambda: self._fetch(head))

    async def commit(self, branch: str, edits: Sequence[Edit], message: str, base: str = "") -> str:
        """Fetch the head, commit on top of it and push. The attempt is repeated if another client
        pushed first, at most PUSHES times. Return the new head. Raises RefNotFound, Unavailable."""
        for _ in range(PUSHES):
            self._memo = Memo()
            head = await self.head(branch)
            above = head or (await self.head(base) if base else None)
            if above is None:
                raise RefNotFound
            push = _Push(branch, edits, message, parent=above, is_new=head is None)
            made = await self._git.run(self._host, partial(self._push, push))
            if made is not None:
                self._memo = Memo()
                return made
        raise Unavailable(self._host, f"moved the branch {branch} again and again")

    async def history(self, branch: str) -> list[Commit]:
        """Raise Unsupported: git servers have no request for it."""
        raise Unsupported("history is not supported for pure git repositories")

    def _fetch(self, head: str) -> Tree:
        return Tree(head, _files(self._fetch_blocking(head), head.encode()))

    def _fetch_blocking(self, head: str) -> MemoryRepo:
        """Return a repository in memory with one commit and all its files."""
        found = MemoryRepo()
        with self._translate_errors("the repository could not be read"):
            wanted, depth = [ObjectID(head.encode())], None if self._is_file else 1
            self._try_urls(
                lambda client, path: client.fetch(
                    path, found, lambda refs, depth=None: wanted, progress=_on_progress, depth=depth
                )
            )
        return found

    def _push(self, push: "_Push") -> str | None:
        """Commit and push. Return the new head, or None if the branch has moved."""
        repo = self._fetch_blocking(push.parent)
        objects, made = push.commit(repo)
        with self._translate_errors("the repository could not be written to"):
            try:
                result = self._try_urls(
                    lambda client, path: client.send_pack(
                        path, push.update(made), lambda *_, **options: pack_objects_to_data(objects)
                    )
                )
            except _MovedError:
                return None
        refused = [text for text in (result.ref_status or {}).values() if text]
        if refused:
            raise Unavailable(self._host, f"refused the push: {refused[0]}")
        return made

    def _try_urls(self, question: Callable[[Any, str | bytes], T]) -> T:
        """Ask a dulwich client at the given URL, then with `.git` appended: servers differ in which
        form they accept, and the stored URL has no suffix. `question` gets the client and the path
        for it. Raises RepositoryNotFound, and the errors of dulwich."""
        for url in (self._target.url, f"{self._target.url}.git"):
            with contextlib.suppress(RepositoryNotFound, NotGitRepository):
                if self._is_file:
                    return question(LocalGitClient(), _file_path(url))
                with self._git.client(url, self._target) as client:
                    return question(client, b"")
        raise RepositoryNotFound

    @contextlib.contextmanager
    def _translate_errors(self, unreadable: str = "") -> Iterator[None]:
        """Translate the exceptions of dulwich to the errors of `hosts`. A repository that is
        `unreadable` without a reason does not exist."""
        try:
            yield
        except NotGitRepository as error:
            raise RepositoryNotFound from error
        except (GitProtocolError, HangupException, ValueError, KeyError, AssertionError) as error:
            raise Unavailable(self._host, "did not speak the git protocol") from error
        except OSError as error:
            raise (
                Unreachable(self._host, unreadable) if unreadable else RepositoryNotFound()
            ) from error

    async def may_write(self) -> bool:
        return await self._memo("write", lambda: self._git.run(self._host, self._may_push))

    async def _refs(self) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        return await self._memo("refs", lambda: self._git.run(self._host, self._list_refs))

    def _list_refs(self) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        prefixes = None if self._is_file else [b"HEAD", _HEADS]
        with self._translate_errors():
            found = self._try_urls(lambda client, path: client.get_refs(path, ref_prefix=prefixes))
        return _existing_refs(found.refs), _existing_refs(found.symrefs)

    def _may_push(self) -> bool:
        if self._is_file:
            path = _file_path(self._target.url)
            return os.access(path, os.W_OK) or os.access(f"{path}.git", os.W_OK)
        for url in (self._target.url, f"{self._target.url}.git"):
            try:
                return self._git.may_push(url, self._target)
            except RepositoryNotFound:
                continue
        return False


class _Pool(urllib3.PoolManager):
    """Connections for one operation, only to permitted addresses, with limits and the errors of
    `hosts`.

    It does not retry requests, because the checks do. A redirect to another host drops the
    credentials. At the end of `with`, every connection is closed, including those with unread
    responses, which dulwich would leave to the garbage collector.
    """

    def __init__(self, guard: Guard, timeout: float) -> None:
        retries = urllib3.Retry(connect=0, read=0, status=0, other=0, redirect=3)
        super().__init__(timeout=urllib3.Timeout(timeout), retries=retries, maxsize=1)
        self.pool_classes_by_scheme = _guarded_pools(guard)
        self._deadline = time.monotonic() + timeout
        self._responses: list[urllib3.BaseHTTPResponse] = []

    def clear(self) -> None:
        """Close all connections."""
        for answer in self._responses:
            vars(answer).pop("read", None)  # it refers to the response
            answer.close()
        self._responses.clear()
        for key in self.pools.keys():  # noqa: SIM118 # it has no other way
            self.pools[key].close()
        super().clear()

    def request(self, method: str, url: str, *args: Any, **options: Any) -> Any:
        """Send a request with urllib3. Raises the matching error for any status code other than
        200."""
        host = urls.host_of(url)
        try:
            response = super().request(method, url, *args, **options)
        except urllib3.exceptions.HTTPError as error:
            raise _network_error(host, error) from error
        self._responses.append(response)
        if response.status != HTTPStatus.OK:
            raise refusal(host, response.status)
        limited = self._limited(host, response.read)
        response.read = limited  # type: ignore[method-assign]  # every reader goes through here
        return response

    def _limited(self, host: str, read: Callable[..., bytes]) -> Callable[..., bytes]:
        received = 0

        def limited(*args: Any, **options: Any) -> bytes:
            nonlocal received
            try:
                data = read(*args, **options)
            except urllib3.exceptions.HTTPError as error:
                raise _network_error(host, error) from error
            received += len(data)
            if received > LARGEST:
                raise Unavailable(host, "answered more than a list of branches can be")
            if time.monotonic() > self._deadline:
                raise late(host, "did not finish its answer in time")
            return data

        return limited


class _Guarded(HTTPConnection):
    """A connection that resolves names with a guard.

    `_new_conn` is the only place where urllib3 resolves a name; it has no public hook. If a version
    of urllib3 does not call it, nothing is sent through the connection.
    """

    addresses: Guard
    is_guarded = False

    def _new_conn(self) -> Any:
        self.is_guarded = True
        return _connect(self, self.addresses)

    def connect(self) -> None:
        super().connect()
        if not self.is_guarded:
            self.close()
            raise Unavailable(self.host, "cannot be reached safely with this version of urllib3")


class _GuardedTLS(_Guarded, HTTPSConnection):
    """The same over TLS: `_Guarded.connect` calls that of HTTPSConnection."""


def _guarded_pools(guard: Guard) -> dict[str, type[HTTPConnectionPool]]:
    """Return connection pools by scheme, whose connections resolve names with the guard."""

    class Plain(_Guarded):
        addresses = guard

    class Encrypted(_GuardedTLS):
        addresses = guard

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = Encrypted

    return {"http": PlainPool, "https": EncryptedPool}


def _connect(connection: HTTPConnection, guard: Guard) -> Any:
    host, port = connection.host.strip("[]"), connection.port or connection.default_port
    failure: OSError | None = None
    for address in guard.resolve(host, port):
        try:
            return create_connection(address, connection.timeout)
        except OSError as error:
            failure = error
    assert failure is not None
    raise _socket_error(host, failure) from failure


class _MovedError(Exception):
    """The branch moved after it was fetched."""


class _Push:
    """One commit to create on top of a head, and the branch to move to it."""

    def __init__(
        self, branch: str, edits: Sequence[Edit], message: str, *, parent: str, is_new: bool
    ) -> None:
        self._ref = Ref(_HEADS + branch.encode())
        self._edits = edits
        self._message = message
        self.parent = parent
        self._is_new = is_new

    def commit(self, repo: MemoryRepo) -> tuple[list[tuple[Any, None]], str]:
        """Return the new objects, and the name of the new commit."""
        store, known = repo.object_store, set(repo.object_store)
        above = repo[ObjectID(self.parent.encode())]
        assert isinstance(above, GitCommit), "a branch points to a commit"
        changes: list[tuple[bytes, int | None, ObjectID | None]] = []
        for edit in self._edits:
            if edit.data is None:
                changes.append((edit.path.encode(), None, None))
                continue
            blob = Blob.from_string(edit.data)
            store.add_object(blob)
            changes.append((edit.path.encode(), REGULAR, blob.id))
        made = GitCommit()
        made.tree = commit_tree_changes(store, above.tree, changes)
        made.parents = [above.id]
        made.author = made.committer = AUTHOR
        made.author_time = made.commit_time = int(time.time())
        made.author_timezone = made.commit_timezone = 0
        made.message = self._message.encode()
        store.add_object(made)
        return [(store[name], None) for name in store if name not in known], made.id.decode()

    def update(self, commit: str) -> Callable[[Mapping[Ref, ObjectID]], dict[Ref, ObjectID]]:
        """Return the update of the branch, for dulwich. It raises _MovedError if another client
        changed the branch."""

        def update(refs: Mapping[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            there = refs.get(self._ref)
            wanted = None if self._is_new else self.parent.encode()
            if there != wanted:
                raise _MovedError
            return {self._ref: ObjectID(commit.encode())}

        return update


def _on_progress(_progress: bytes) -> None:
    """Handle progress of a fetch. Raises Exhausted."""
    allowances.spend()


def _files(repo: MemoryRepo, head: bytes) -> list[File]:
    """Return the regular files of a commit; hidden files and links are omitted. Raises TooMuch,
    Exhausted."""
    commit = repo[ObjectID(head)]
    assert isinstance(commit, GitCommit), "a branch points to a commit"
    files: list[File] = []
    size = 0
    for entry in iter_tree_contents(repo.object_store, commit.tree, include_trees=True):
        allowances.spend()
        assert entry.path is not None, "entries of a tree have names"
        assert entry.sha is not None, "and objects"
        assert entry.mode is not None, "and modes"
        path = entry.path.decode("utf-8", "replace")
        is_hidden = any(part.startswith(".") for part in path.split("/"))
        if is_hidden or not stat.S_ISREG(entry.mode):
            continue
        blob = repo[entry.sha]
        assert isinstance(blob, Blob), "a regular file is a blob"
        size += len(blob.data)
        if len(files) >= MAX_FILES or size > MAX_BYTES:
            raise TooMuch
        files.append(File(path, blob.data))
    return sorted(files)


def _login(target: Target) -> tuple[str, str]:
    """Return user name and token; "" and "" without a token."""
    token = target.credentials.token
    user = target.credentials.user or _TOKEN_USERS.get(target.type, "git")
    return (user, token) if token else ("", "")


def _network_error(host: str, error: BaseException) -> Exception:
    if isinstance(error, urllib3.exceptions.MaxRetryError):
        error = error.reason or error
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return late(host)
    if isinstance(error, urllib3.exceptions.SSLError):
        return untrusted(host)
    if isinstance(error, urllib3.exceptions.ResponseError):
        return Unavailable(host, "redirects too often")
    return Unreachable(host, f"host {host} closed the connection")


def _socket_error(host: str, error: OSError) -> Exception:
    if isinstance(error, TimeoutError):
        return late(host)
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(host, f"host {host} refused the connection")
    return Unreachable(host, f"no way to host {host}")


def _file_path(url: str) -> str:
    return unquote(urlsplit(url).path)


def _existing_refs(refs: Any) -> dict[bytes, bytes]:
    return {bytes(name): bytes(value) for name, value in refs.items() if value}
