"""The commits for writes of package revisions.

Each function returns a commit that is not pushed yet; `origin` pushes it. All of them block.
"""

from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git.depots import Depot


def commit_new(
    depot: Depot, main: str, package: str, files: Files, *, source: str, text: str, user: str
) -> str:
    """Commit the files of a new revision on top of the main branch; `main` is "" if the branch is
    empty. `source` is the commit whose package the files are based on, or ""."""
    base = _directory(depot, source, package) if source else None
    return _commit_package(
        depot, main, package, depot.store.write(files, base), text=text, user=user
    )


def commit_changes(
    depot: Depot, head: str, package: str, files: Files, *, text: str, user: str
) -> str:
    """Commit these files on top of the head of a branch. Return the head itself if no file
    differs."""
    before = _directory(depot, head, package)
    own = depot.store.write(files, before)
    if own == before:
        return head
    return _commit_package(depot, head, package, own, text=text, user=user)


def commit_files(
    depot: Depot, head: str, package: str, files: Files, *, text: str, user: str
) -> str:
    """Commit these files on top of the head of a branch, even if no file differs."""
    own = depot.store.write(files, _directory(depot, head, package))
    return _commit_package(depot, head, package, own, text=text, user=user)


def _directory(depot: Depot, head: str, package: str) -> bytes | None:
    return depot.store.directory(depot.store.head(head).tree, depot.layout.path(package))


def commit_publication(
    depot: Depot, main: str, head: str, package: str, *, text: str, user: str
) -> str:
    """Commit the package from the head of a draft on top of the main branch."""
    store = depot.store
    store.fetch([each for each in (main, head) if each])
    own = _directory(depot, head, package)
    return _commit_package(depot, main, package, own, text=text, user=user)


def commit_removal(depot: Depot, main: str, package: str, *, user: str) -> str:
    """Commit the main branch without the package."""
    depot.store.fetch([main])
    return _commit_package(depot, main, package, None, text=f"Delete {package}\n", user=user)


def _commit_package(
    depot: Depot, parent: str, package: str, directory: bytes | None, *, text: str, user: str
) -> str:
    """Commit the tree of the parent ("" is an empty tree) with the directory of the package
    replaced, or removed if `directory` is None."""
    store = depot.store
    root = store.head(parent).tree if parent else None
    tree = store.replace(root, depot.layout.path(package), directory)
    return store.commit(tree, [parent] if parent else [], text, depot.signature(user))
