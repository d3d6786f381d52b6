"""Finds every package revision in the branches and tags of a repository. Blocks."""

import logging
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from inkube.client import Object
from inkube.controllers.porch.files import kptfile
from inkube.controllers.porch.files.documents import Unreadable
from inkube.controllers.porch.files.kptfile import Kptfile
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.git.content import HEADS, TAGS, Head, Refs, Store
from inkube.controllers.porch.git.layout import Layout
from inkube.formats import format_time

logger = logging.getLogger(__name__)
MAX_REVISIONS = 50_000
"""The maximum number of revisions in one repository."""


@dataclass(slots=True)
class FoundRevision:
    """One package revision in git."""

    package: str
    workspace: str
    revision: int
    lifecycle: str
    ref: str
    """The form that locks use."""
    commit: str
    kptfile: Kptfile | None
    """None if the commit is already known and was not read again."""
    tasks: list[Object] | None = None
    published_by: str = ""
    published_at: str = ""


@dataclass(slots=True)
class Discovery:
    """The revisions of a repository, and the packages that cannot be read: a directory at a ref,
    and the reason."""

    revisions: list[FoundRevision] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)


KnownCommits = Mapping[tuple[str, str], str]
"""Workspace names by (ref, commit), for revisions that do not need to be read again."""


def discover(
    store: Store, refs: Refs, layout: Layout, known: KnownCommits | None = None
) -> Discovery:
    """Find every revision below the directory of the Repository, including the placeholders of the
    main branch."""
    made = _Discoverer(store, refs, layout, known or {})
    made.tags()
    made.main()
    made.drafts()
    return made.result


class _Discoverer:
    def __init__(self, store: Store, refs: Refs, layout: Layout, known: KnownCommits) -> None:
        self._store, self._refs, self._layout, self._known = store, refs, layout, known
        self.result = Discovery()
        self._kptfiles: dict[bytes, Kptfile | Unreadable] = {}
        self._published: dict[tuple[str, str], FoundRevision] = {}
        self._highest: dict[str, tuple[FoundRevision, bytes]] = {}

    def tags(self) -> None:
        """Find published revisions."""
        for ref, commit in sorted(self._refs.items()):
            if not ref.startswith(TAGS):
                continue
            path, slash, last = ref.removeprefix(TAGS).rpartition("/")
            package = self._layout.package(path) if slash else None
            if package is None:
                continue
            revision = layout.revision_of(last)
            shown = self._layout.ref_name(ref)
            workspace = self._known.get((shown, commit))
            head = self._store.head(commit) if workspace is None else None
            if head is not None:
                text = self._kptfile_at(head, path, shown)
                if text is None:
                    continue
                metadata = layout.metadata_of(head.message)
                own = metadata.get("package") == package and revision > 0
                default = last if revision == layout.PLACEHOLDER else f"v{revision}"
                workspace = str(metadata.get("workspaceName") or default) if own else default
                found = FoundRevision(
                    package, workspace, revision, layout.PUBLISHED, shown, commit, text,
                    layout.tasks_of(metadata) if own else None, head.author, _time(head),
                )  # fmt: skip
            else:
                assert workspace is not None, "it is known"
                found = FoundRevision(
                    package, workspace, revision, layout.PUBLISHED, shown, commit, None
                )
            if revision > 0 and self._layout.deletion(package, revision) in self._refs:
                found.lifecycle = layout.DELETION_PROPOSED
            self._published[package, workspace] = found
            self._add(found)

    def main(self) -> None:
        """Find the placeholders: every topmost package of the main branch."""
        commit = self._refs.get(self._layout.main)
        if commit is None:
            return
        head = self._store.head(commit)
        root = self._store.directory(head.tree, self._layout.directory)
        if root is None:
            return
        tasks: dict[str, tuple[int, list[Object] | None]] = {}
        for each in self.result.revisions:
            if each.revision >= tasks.get(each.package, (0, None))[0]:
                tasks[each.package] = (each.revision, each.tasks)
        for package in _packages(self._store, root, ""):
            path = self._layout.path(package)
            text = self._kptfile_at(head, path, self._layout.branch)
            if text is None:
                continue
            found = FoundRevision(
                package, self._layout.branch, layout.PLACEHOLDER, layout.PUBLISHED,
                self._layout.branch, commit, text, tasks.get(package, (0, None))[1],
                head.author, _time(head),
            )  # fmt: skip
            if self._layout.deletion(package, layout.PLACEHOLDER) in self._refs:
                found.lifecycle = layout.DELETION_PROPOSED
            self._add(found)

    def drafts(self) -> None:
        """Find drafts and proposed revisions; branches of revisions that are already published are
        ignored."""
        for lifecycle in (layout.PROPOSED, layout.DRAFT):
            prefix = f"{HEADS}{layout.BRANCHES[lifecycle]}/"
            for ref, commit in sorted(self._refs.items()):
                if ref.startswith(prefix):
                    self._draft(lifecycle, ref, commit, ref.removeprefix(prefix))

    def _draft(self, lifecycle: str, ref: str, commit: str, package_path: str) -> None:
        path, slash, workspace = package_path.rpartition("/")
        package = self._layout.package(path) if slash else None
        if package is None or (package, workspace) in self._published:
            return
        shown = self._layout.ref_name(ref)
        found = FoundRevision(package, workspace, 0, lifecycle, shown, commit, None)
        if (shown, commit) not in self._known:
            head = self._store.head(commit)
            found.kptfile = self._kptfile_at(head, path, shown)
            if found.kptfile is None:
                return
            found.tasks = layout.tasks_of(layout.metadata_of(head.message))
        self._published[package, workspace] = found
        self._add(found)

    def _add(self, revision: FoundRevision) -> None:
        if len(self.result.revisions) < MAX_REVISIONS:
            self.result.revisions.append(revision)

    def _kptfile_at(self, head: Head, path: str, ref_name: str) -> Kptfile | None:
        directory = self._store.directory(head.tree, path)
        if directory is None:
            return None
        entry = self._store.entries(directory).get(kptfile.NAME)
        if entry is None or not entry.is_file:
            return None
        made = self._kptfiles.get(entry.sha)
        if made is None:
            try:
                made = Kptfile(self._store.text(entry))
            except Unreadable as error:
                made = error
            self._kptfiles[entry.sha] = made
        if isinstance(made, Kptfile):
            return made
        self.result.unreadable.append((f"{path} at {ref_name}", str(made)))
        return None


def _packages(store: Store, tree: bytes, path: str) -> Iterator[str]:
    entries = store.entries(tree)
    if path and kptfile.NAME in entries:
        yield path
        return
    for name, entry in entries.items():
        if stat.S_ISDIR(entry.mode):
            yield from _packages(store, entry.sha, f"{path}/{name}" if path else name)


def _time(head: Head) -> str:
    return format_time(datetime.fromtimestamp(head.seconds, UTC))
