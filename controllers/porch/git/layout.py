"""The location of packages in a repository: branches, tags, directories, commit messages. Pure."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.porch.git.content import HEADS, TAGS

DRAFT, PROPOSED = "Draft", "Proposed"
PUBLISHED, DELETION_PROPOSED = "Published", "DeletionProposed"
LIFECYCLES = (DRAFT, PROPOSED, PUBLISHED, DELETION_PROPOSED)
FINAL = (PUBLISHED, DELETION_PROPOSED)
PLACEHOLDER = -1
"""The number of the revision that represents the main branch."""
_REVISION = re.compile(r"v?([1-9][0-9]*)")
BRANCHES = {DRAFT: "drafts", PROPOSED: "proposed"}


class Layout(NamedTuple):
    """The main branch of a Repository, and the directory that contains its packages ("" is the
    root)."""

    branch: str
    directory: str = ""

    @property
    def main(self) -> str:
        """The ref of the main branch."""
        return f"{HEADS}{self.branch}"

    def path(self, package: str) -> str:
        """Return the directory of a package."""
        return f"{self.directory}/{package}" if self.directory else package

    def package(self, path: str) -> str | None:
        """Return the package in a directory; None if the directory is outside the directory of the
        Repository."""
        if not self.directory:
            return path
        if path.startswith(f"{self.directory}/"):
            return path[len(self.directory) + 1 :]
        return None

    def draft_branch(self, lifecycle: str, package: str, workspace: str) -> str:
        """Return the branch of a draft or a proposed revision."""
        return f"{HEADS}{BRANCHES[lifecycle]}/{self.path(package)}/{workspace}"

    def tag(self, package: str, revision: int) -> str:
        """Return the tag of a published revision."""
        return f"{TAGS}{self.path(package)}/v{revision}"

    def deletion(self, package: str, revision: int) -> str:
        """Return the branch that marks a published revision as proposed for deletion."""
        last = self.branch if revision == PLACEHOLDER else f"v{revision}"
        return f"{HEADS}deletionProposed/{self.path(package)}/{last}"

    def refs_of(self, package: str) -> list[str]:
        """Return the prefixes of all refs that concern a package, including the main branch."""
        path = self.path(package)
        kinds = [f"{HEADS}{kind}/{path}/" for kind in ("drafts", "proposed", "deletionProposed")]
        return [self.main, *kinds, f"{TAGS}{path}/"]

    def ref_name(self, ref: str) -> str:
        """Return a ref in the form that locks use: `drafts/PKG/WS`, `PKG/v1`, or the name of the
        branch."""
        return ref.removeprefix(HEADS).removeprefix(TAGS)


def directory(text: str) -> str:
    """Return the directory of a Repository without slashes at its ends."""
    return text.strip("/")


def revision_of(tag: str) -> int:
    """Return the revision number in the last segment of a tag; -1 for any other text."""
    match = _REVISION.fullmatch(tag)
    return int(match[1]) if match else PLACEHOLDER


def name_of(repository: str, package: str, workspace: str) -> str:
    """Return the name of a PackageRevision."""
    return f"{repository}.{package.replace('/', '.')}.{workspace}"


def package_name(repository: str, package: str) -> str:
    """Return the name of the summary of a package."""
    return f"{repository}.{package.replace('/', '.')}"


def message(text: str, package: str, workspace: str, revision: int, tasks: Sequence[Object]) -> str:
    """Return the message of a commit: a line for readers, and a line that the server parses after a
    restart.

    `task` is the last task of the revision, as in Porch. If there are several tasks, `tasks`
    contains all of them.
    """
    metadata: Object = {"package": package, "workspaceName": workspace, "revision": str(revision)}
    if tasks:
        metadata["task"] = tasks[-1]
    if len(tasks) > 1:
        metadata["tasks"] = list(tasks)
    return f"{text}\n\nkpt:{json.dumps(metadata, separators=(',', ':'))}\n"


def tasks_of(metadata: Object) -> list[Object] | None:
    """Return the tasks in the metadata of a commit message; None if it contains no tasks."""
    several = metadata.get("tasks")
    tasks: list[Any] = several if isinstance(several, list) else [metadata.get("task")]
    return tasks if all(isinstance(each, dict) for each in tasks) else None


def metadata_of(message: str) -> Object:
    """Return the metadata in a commit message; {} if the message contains none."""
    for line in message.splitlines():
        if line.startswith("kpt:"):
            try:
                found = json.loads(line.removeprefix("kpt:"))
            except ValueError:
                return {}
            return found if isinstance(found, dict) else {}
    return {}
