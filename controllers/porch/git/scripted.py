"""Repositories of the scripted world as git repositories in memory. Blocks.

The first access creates a repository from the `packages` of a GitHost. It exists as long as the
server and accepts pushes. Packages that are scripted later are added; packages are never removed.
"""

from collections import OrderedDict

from dulwich.refs import Ref
from dulwich.repo import MemoryRepo

from inkube.controllers.porch.files import documents
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.git.content import HEADS, TAGS, LocalRepository, Update
from inkube.controllers.provisioning import HostedPackage, HostedRepository

MAX_REPOSITORIES = 256
"""The number of repositories that are kept."""
AUTHOR = ("world", "world@inkube.dev")


class ScriptedRepositories:
    """The repositories of one server."""

    def __init__(self) -> None:
        self._stores: OrderedDict[tuple[str, str], LocalRepository] = OrderedDict()

    def store(self, host: str, repository: HostedRepository) -> LocalRepository:
        """Return the repository, with all packages that are currently scripted."""
        key = (host, repository.path.strip("/"))
        store = self._stores.get(key)
        if store is None:
            store = self._stores[key] = LocalRepository(MemoryRepo())
            while len(self._stores) > MAX_REPOSITORIES:
                self._stores.popitem(last=False)
        self._stores.move_to_end(key)
        with store.lock:
            _fill(store, repository)
        return store


def _fill(store: LocalRepository, repository: HostedRepository) -> None:
    default = repository.default_branch or next(iter(repository.branches), "main")
    names = dict.fromkeys([default, *repository.branches])
    if not repository.branches and not repository.packages and not repository.default_branch:
        names = {}
    for name in names:
        ref = f"{HEADS}{name}"
        if ref not in store.refs([ref]):
            tree = store.write({"README.md": f"# {repository.path}\n"}, None)
            commit = store.commit(tree, (), "Initial commit\n", AUTHOR)
            store.push([Update(ref, "", commit)])
    if names:
        store.repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(f"{HEADS}{default}".encode()))
    for package in repository.packages:
        _package(store, f"{HEADS}{default}", package)


def _package(store: LocalRepository, main: str, package: HostedPackage) -> None:
    path = package.path.strip("/")
    number = 0
    for each in package.revisions:
        number = each.revision or number + 1
        tag = f"{TAGS}{path}/v{number}"
        refs = store.refs([main, tag])
        if tag in refs:
            continue
        commit = _commit(store, refs[main], path, each.files, f"Publish {path} v{number}\n")
        store.push([Update(main, refs[main], commit), Update(tag, "", commit)])
    for draft in package.drafts:
        ref = f"{HEADS}{layout.BRANCHES[layout.DRAFT]}/{path}/{draft.workspace}"
        refs = store.refs([main, f"{HEADS}drafts/{path}/", f"{HEADS}proposed/{path}/"])
        taken = {name.rpartition("/")[2] for name in refs if name != main}
        if draft.workspace not in taken:
            text = f"Draft of {path}\n"
            store.push([Update(ref, "", _commit(store, refs[main], path, draft.files, text))])


def _commit(
    store: LocalRepository, parent: str, path: str, files: dict[str, str], text: str
) -> str:
    root = store.head(parent).tree
    made_up = documents.dump(
        {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": path}}
    )
    tree = store.write({"Kptfile": made_up, **files}, None)
    return store.commit(store.replace(root, path, tree), [parent], text, AUTHOR)
