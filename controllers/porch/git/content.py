"""Git repositories as packages need them: refs, trees of directories, commits, pushes. It blocks.

    Store                    objects and refs of one repository
    ├── LocalRepository      a repository in a file, or one of the scripted world in memory
    └── RemoteRepository     one behind http(s), with a clone of the fetched commits

Everything runs in threads of `outside.Git`, one call for each repository at a time. Raises
the hosts' errors (`NotAuthorized`, `RepositoryNotFound`, `OutsideError`) and

    Moved      a ref differs from what a push expected: another push was faster
    Refused    the host rejects a push, with a reason
"""

import stat
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from dulwich.client import HTTPUnauthorized, Urllib3HttpGitClient
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository, SendPackError
from dulwich.objects import Blob, Commit, ObjectID, Tag, Tree
from dulwich.protocol import ZERO_SHA
from dulwich.refs import Ref
from dulwich.repo import BaseRepo, Repo

from inkube.controllers.provisioning import (
    MAX_BYTES,
    MAX_FILES,
    NotAuthorized,
    RepositoryNotFound,
    TooMuch,
    allowances,
)
from inkube.kinds import OutsideError, Unavailable

HEADS, TAGS = "refs/heads/", "refs/tags/"
Refs = dict[str, str]
"""Full ref names and their commits; annotated tags are resolved to commits."""
_REGULAR = 0o100644


class RefMoved(Exception):
    """A ref is not at the commit that a push expects."""


class PushRejected(Exception):
    """The host rejects a push."""


class Entry(NamedTuple):
    """An entry of a tree. Only the data of regular files is used."""

    mode: int
    sha: bytes

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)


class Head(NamedTuple):
    """The used parts of a commit."""

    id: str
    tree: bytes
    message: str
    author: str
    """The e-mail address of the author."""
    seconds: int


class Update(NamedTuple):
    """A ref to move from one commit to another; "" means that the ref does not exist."""

    ref: str
    old: str
    new: str


class ClientFactory(Protocol):
    """Creates clients for a remote host."""

    def client(self, url: str) -> AbstractContextManager[Urllib3HttpGitClient]:
        """Return a dulwich client with the credentials of the target, for one operation."""
        ...


class Store:
    """One repository. Only one thread uses it at a time; the others wait."""

    def __init__(self, repo: BaseRepo) -> None:
        self.repo = repo
        self.lock = threading.RLock()

    def close(self) -> None:
        """Close the files of the repository. The next access opens them again."""
        if isinstance(self.repo, Repo):
            with self.lock:
                self.repo.close()

    # refs

    def refs(self, prefixes: Sequence[str] = ("",)) -> Refs:
        """Return the refs below each prefix that ends with a slash, and the refs with the other
        names."""
        raise NotImplementedError

    def fetch(self, commits: Iterable[str]) -> None:
        """Make these commits available locally."""
        raise NotImplementedError

    def push(self, updates: Sequence[Update]) -> None:
        """Move refs, in the given order. Raises Moved, Refused."""
        raise NotImplementedError

    # objects

    def head(self, commit: str) -> Head:
        """Read a commit. Raises KeyError."""
        with self.lock:
            found = self._object(commit.encode())
        assert isinstance(found, Commit), "refs are peeled"
        message = found.message.decode("utf-8", "replace")
        author = found.author.decode("utf-8", "replace")
        email = author.rpartition("<")[2].rstrip(">") if "<" in author else author
        return Head(commit, bytes(found.tree), message, email, int(found.author_time))

    def directory(self, tree: bytes, path: str) -> bytes | None:
        """Return the tree of a directory below a tree; None if the directory does not exist."""
        for segment in filter(None, path.split("/")):
            found = self._entries(tree).get(segment)
            if found is None or not stat.S_ISDIR(found.mode):
                return None
            tree = found.sha
        return tree

    def entries(self, tree: bytes) -> Mapping[str, Entry]:
        """Return the direct entries of a tree."""
        return self._entries(tree)

    def walk(self, tree: bytes, path: str = "") -> dict[str, Entry]:
        """Return all entries below a tree except directories. Raises TooMuch."""
        found: dict[str, Entry] = {}
        for name, entry in self._entries(tree).items():
            if stat.S_ISDIR(entry.mode):
                found.update(self.walk(entry.sha, f"{path}{name}/"))
            else:
                found[f"{path}{name}"] = entry
            if len(found) > MAX_FILES:
                raise TooMuch
        return found

    def text(self, entry: Entry) -> str:
        """Return the text of a file; invalid UTF-8 is replaced."""
        with self.lock:
            blob = self._object(entry.sha)
        assert isinstance(blob, Blob), "a file is a blob"
        return blob.data.decode("utf-8", "replace")

    def files(self, tree: bytes) -> dict[str, str]:
        """Return the texts of all regular files below a tree. Raises TooMuch."""
        found: dict[str, str] = {}
        size = 0
        for name, entry in self.walk(tree).items():
            if _is_shown(name, entry):
                found[name] = self.text(entry)
                size += len(found[name])
                if size > MAX_BYTES:
                    raise TooMuch
        return found

    def hidden(self, tree: bytes) -> list[str]:
        """Return the entries that `files` does not show: links, submodules, names that are not
        UTF-8. Raises TooMuch."""
        return [name for name, entry in self.walk(tree).items() if not _is_shown(name, entry)]

    def write(self, files: Mapping[str, str], base: bytes | None) -> bytes:
        """Create a tree of these files. Files that are unchanged from `base` stay, and so do its
        hidden entries, whose names must not conflict with those of the files."""
        before = self.walk(base) if base is not None else {}
        wanted: dict[str, Entry] = {
            name: entry for name, entry in before.items() if not _is_shown(name, entry)
        }
        for name, text in files.items():
            old = before.get(name)
            if old is not None and old.is_file and self.text(old) == text:
                wanted[name] = old
            else:
                mode = old.mode if old is not None and old.is_file else _REGULAR
                wanted[name] = Entry(mode, self._add(Blob.from_string(text.encode())))
        return self._tree(wanted)

    def replace(self, root: bytes | None, path: str, tree: bytes | None) -> bytes:
        """Return the root tree with a directory replaced, or removed if `tree` is None; the path ""
        is the root itself."""
        head, _, rest = path.partition("/")
        if not head:
            return tree if tree is not None else self._add(Tree())
        entries = dict(self._entries(root)) if root is not None else {}
        old = entries.get(head)
        below = old.sha if old is not None and stat.S_ISDIR(old.mode) else None
        if rest:
            made: bytes | None = self.replace(below, rest, tree)
            if not self._entries(made or b""):
                made = None
        else:
            made = tree
        if made is None:
            entries.pop(head, None)
        else:
            entries[head] = Entry(stat.S_IFDIR, made)
        return self._plain_tree(entries)

    def commit(
        self, tree: bytes, parents: Sequence[str], message: str, author: tuple[str, str]
    ) -> str:
        """Create a commit, which is local until it is pushed. `author` is a name and an e-mail
        address."""
        made = Commit()
        made.tree = ObjectID(tree)
        made.parents = [ObjectID(parent.encode()) for parent in parents]
        name, email = ("".join(c for c in part if c not in "<>\n\0") for part in author)
        made.author = made.committer = f"{name} <{email}>".encode()
        made.author_time = made.commit_time = int(time.time())
        made.author_timezone = made.commit_timezone = 0
        made.encoding = b"UTF-8"
        made.message = message.encode()
        return self._add(made).decode()

    def _add(self, obj: Any) -> bytes:
        with self.lock:
            self.repo.object_store.add_object(obj)
        return bytes(obj.id)

    def _tree(self, files: Mapping[str, Entry]) -> bytes:
        here: dict[str, Entry] = {}
        below: dict[str, dict[str, Entry]] = {}
        for name, entry in files.items():
            head, slash, rest = name.partition("/")
            if slash:
                below.setdefault(head, {})[rest] = entry
            else:
                here[head] = entry
        for head, inner in below.items():
            here[head] = Entry(stat.S_IFDIR, self._tree(inner))
        return self._plain_tree(here)

    def _plain_tree(self, entries: Mapping[str, Entry]) -> bytes:
        tree = Tree()
        for name, entry in entries.items():
            tree.add(name.encode(errors="surrogateescape"), entry.mode, ObjectID(entry.sha))
        return self._add(tree)

    def _entries(self, tree: bytes) -> Mapping[str, Entry]:
        if not tree:
            return {}
        with self.lock:
            found = self._object(tree)
        assert isinstance(found, Tree), "asked for directories only"
        return {
            item.path.decode("utf-8", "surrogateescape"): Entry(item.mode, bytes(item.sha))
            for item in found.iteritems()
        }

    def _object(self, sha: bytes) -> Any:
        allowances.spend()
        found = self.repo.object_store[ObjectID(sha)]
        allowances.spend(found.raw_length())
        return found

    def _peel(self, sha: bytes) -> bytes | None:
        found = self._object(sha)
        while isinstance(found, Tag):
            found = self._object(found.object[1])
        return bytes(found.id) if isinstance(found, Commit) else None

    def has(self, commit: str) -> bool:
        """Return whether the commit is available locally."""
        with self.lock:
            return ObjectID(commit.encode()) in self.repo.object_store


def _is_shown(name: str, entry: Entry) -> bool:
    """Return whether clients see an entry of a directory as a file."""
    return entry.is_file and not any("\udc80" <= letter <= "\udcff" for letter in name)


def _matches(name: str, prefixes: Sequence[str]) -> bool:
    return any(
        name.startswith(prefix) if not prefix or prefix.endswith("/") else name == prefix
        for prefix in prefixes
    )


class LocalRepository(Store):
    """A local repository; a push moves all of its refs or none."""

    def refs(self, prefixes: Sequence[str] = ("",)) -> Refs:
        with self.lock:
            container = self.repo.refs
            names: set[bytes] = set()
            for prefix in prefixes:
                if not prefix:
                    names |= {bytes(name) for name in container.allkeys()}
                elif prefix.endswith("/"):
                    base = prefix.rstrip("/").encode()
                    names |= {base + b"/" + bytes(name) for name in container.subkeys(Ref(base))}
                else:
                    names.add(prefix.encode())
            found: Refs = {}
            for name in names:
                text = name.decode("utf-8", "replace")
                if not text.startswith((HEADS, TAGS)):
                    continue
                commit = self._read(name)
                if commit is not None:
                    found[text] = commit
            return found

    def _read(self, name: bytes) -> str | None:
        value = self.repo.refs.read_ref(Ref(name))
        if not value:
            return None
        try:
            commit = bytes(value) if name.startswith(HEADS.encode()) else self._peel(value)
        except KeyError:
            return None
        return commit.decode() if commit is not None else None

    def exists(self) -> bool:
        """Return whether a repository in a file still exists."""
        return not isinstance(self.repo, Repo) or Path(self.repo.path).exists()

    def default_branch(self) -> str:
        """Return the branch that HEAD points to."""
        with self.lock:
            target = self.repo.refs.get_symrefs().get(Ref(b"HEAD"), b"")
        return bytes(target).removeprefix(HEADS.encode()).decode()

    def fetch(self, commits: Iterable[str]) -> None:
        """Do nothing: every commit is local."""

    def push(self, updates: Sequence[Update]) -> None:
        with self.lock:
            done: list[Update] = []
            try:
                for update in updates:
                    self._update_ref(update)
                    done.append(update)
            except BaseException:
                for update in reversed(done):
                    self._update_ref(Update(update.ref, update.new, update.old))
                raise

    def _update_ref(self, update: Update) -> None:
        refs, name = self.repo.refs, Ref(update.ref.encode())
        old = ObjectID(update.old.encode()) if update.old else None
        try:
            if not update.new:
                moved = refs.remove_if_equals(name, old)
            elif old is None:
                moved = refs.add_if_new(name, ObjectID(update.new.encode()))
            else:
                moved = refs.set_if_equals(name, old, ObjectID(update.new.encode()))
        except OSError as error:
            raise PushRejected(f"the repository cannot be written: {error.strerror}") from error
        if not moved:
            raise RefMoved(update.ref)


def open_file(url: str) -> LocalRepository:
    """Return the repository of a file:// URL, at the given path or with `.git` appended. Raises
    RepositoryNotFound."""
    path = unquote(urlsplit(url).path)
    for place in (path, f"{path}.git"):
        try:
            return LocalRepository(Repo(place))
        except NotGitRepository:
            continue
    raise RepositoryNotFound


class RemoteRepository(Store):
    """A repository behind http(s), with a local clone."""

    def __init__(self, repo: BaseRepo, clients: ClientFactory, url: str, host: str) -> None:
        super().__init__(repo)
        self._clients = clients
        self._urls = [url, f"{url}.git"]
        self._host = host
        self._known_refs: Refs = {}
        """The refs of the last listing, with annotated tags not resolved."""

    def refs(self, prefixes: Sequence[str] = ("",)) -> Refs:
        asked = [p.encode() for p in prefixes if p] or [HEADS.encode(), TAGS.encode()]

        def request(client: Urllib3HttpGitClient) -> Any:
            return client.get_refs(b"", ref_prefix=asked)

        found = self._send(request)
        made: Refs = {}
        peeled: Refs = {}
        for name, value in found.refs.items():
            text = bytes(name).decode("utf-8", "replace")
            if not value or not text.startswith((HEADS, TAGS)):
                continue
            if text.endswith("^{}"):
                peeled[text.removesuffix("^{}")] = bytes(value).decode()
            else:
                made[text] = bytes(value).decode()
        return {
            name: commit for name, commit in {**made, **peeled}.items() if _matches(name, prefixes)
        }

    def fetch(self, commits: Iterable[str]) -> None:
        missing = [commit for commit in dict.fromkeys(commits) if not self.has(commit)]
        if not missing:
            return
        wants = [ObjectID(commit.encode()) for commit in missing]

        def request(client: Urllib3HttpGitClient) -> Any:
            with self.lock:
                return client.fetch(
                    b"",
                    self.repo,
                    lambda refs, depth=None: wants,
                    progress=lambda _: allowances.spend(),
                )

        self._send(request)

    def push(self, updates: Sequence[Update]) -> None:

        def change(refs: Mapping[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            known = {bytes(name).decode(): bytes(sha).decode() for name, sha in refs.items()}
            for update in updates:
                if known.get(update.ref, "") != update.old:
                    raise RefMoved(update.ref)
            return {
                Ref(update.ref.encode()): ObjectID(update.new.encode() or bytes(ZERO_SHA))
                for update in updates
            }

        def request(client: Urllib3HttpGitClient) -> Any:
            with self.lock:
                pack: Any = self.repo.generate_pack_data
                return client.send_pack(b"", change, pack)

        try:
            result = self._send(request)
        except NotAuthorized as error:
            raise PushRejected("the credentials do not allow to push") from error
        except SendPackError as error:
            raise PushRejected(str(error)) from error
        failed = {name: why for name, why in (result.ref_status or {}).items() if why}
        if failed:
            name, why = next(iter(failed.items()))
            raise PushRejected(f"{bytes(name).decode()}: {why}")

    def _send(self, request: Any) -> Any:
        """Run an operation at the given URL, then with `.git` appended."""
        for url in self._urls:
            try:
                with self._clients.client(url) as client:
                    return request(client)
            except (RepositoryNotFound, NotGitRepository):
                continue
            except HTTPUnauthorized as error:
                raise NotAuthorized from error
            except (NotAuthorized, OutsideError, SendPackError, RefMoved):
                raise
            except (GitProtocolError, HangupException, ValueError, AssertionError) as error:
                raise Unavailable(self._host, "did not speak the git protocol") from error
        raise RepositoryNotFound
