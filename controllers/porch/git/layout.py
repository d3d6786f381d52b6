"""Where packages lie in a repository: branches, tags, directories, messages of commits. Pure."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from inkube.controllers.porch.git.content import HEADS, TAGS
from inkube.schemas.objects import Object

DRAFT, PROPOSED = "Draft", "Proposed"
PUBLISHED, DELETION_PROPOSED = "Published", "DeletionProposed"
LIFECYCLES = (DRAFT, PROPOSED, PUBLISHED, DELETION_PROPOSED)
FINAL = (PUBLISHED, DELETION_PROPOSED)
PLACEHOLDER = -1
"""The revision that shows the main branch."""
_REVISION = re.compile(r"v?([1-9][0-9]*)")
BRANCHES = {DRAFT: "drafts", PROPOSED: "proposed"}


class Layout(NamedTuple):
    """A Repository's main branch, and the directory its packages lie below ("" is the root)."""

    branch: str
    directory: str = ""

    @property
    def main(self) -> str:
        """The ref of the main branch."""
        return f"{HEADS}{self.branch}"

    def path(self, package: str) -> str:
        """The directory of a package."""
        return f"{self.directory}/{package}" if self.directory else package

    def package(self, path: str) -> str | None:
        """The package of a directory; None for one that lies elsewhere."""
        if not self.directory:
            return path
        if path.startswith(f"{self.directory}/"):
            return path[len(self.directory) + 1 :]
        return None

    def working(self, lifecycle: str, package: str, workspace: str) -> str:
        """The branch of a draft or a proposed revision."""
        return f"{HEADS}{BRANCHES[lifecycle]}/{self.path(package)}/{workspace}"

    def tag(self, package: str, revision: int) -> str:
        """The tag of a published revision."""
        return f"{TAGS}{self.path(package)}/v{revision}"

    def deletion(self, package: str, revision: int) -> str:
        """The branch that marks a published revision that is to be deleted."""
        last = self.branch if revision == PLACEHOLDER else f"v{revision}"
        return f"{HEADS}deletionProposed/{self.path(package)}/{last}"

    def refs_of(self, package: str) -> list[str]:
        """Prefixes of all refs that concern a package, the main branch among them."""
        path = self.path(package)
        kinds = [f"{HEADS}{kind}/{path}/" for kind in ("drafts", "proposed", "deletionProposed")]
        return [self.main, *kinds, f"{TAGS}{path}/"]

    def shown(self, ref: str) -> str:
        """A ref as locks name it: `drafts/PKG/WS`, `PKG/v1`, the branch's name."""
        return ref.removeprefix(HEADS).removeprefix(TAGS)


def directory(text: str) -> str:
    """The directory of a Repository without slashes at its ends."""
    return text.strip("/")


def revision_of(tag: str) -> int:
    """The number that the last segment of a tag stands for; -1 for any other word."""
    match = _REVISION.fullmatch(tag)
    return int(match[1]) if match else PLACEHOLDER


def name_of(repository: str, package: str, workspace: str) -> str:
    """The name of a PackageRevision."""
    return f"{repository}.{package.replace('/', '.')}.{workspace}"


def package_name(repository: str, package: str) -> str:
    """The name of a package's summary."""
    return f"{repository}.{package.replace('/', '.')}"


def message(text: str, package: str, workspace: str, revision: int, tasks: Sequence[Object]) -> str:
    """The message of a commit: a line for people, and one that is read after a restart.

    `task` is the last of the revision's tasks, as Porch writes it; all are told where there are
    several.
    """
    told: Object = {"package": package, "workspaceName": workspace, "revision": str(revision)}
    if tasks:
        told["task"] = tasks[-1]
    if len(tasks) > 1:
        told["tasks"] = list(tasks)
    return f"{text}\n\nkpt:{json.dumps(told, separators=(',', ':'))}\n"


def tasks_of(told: Object) -> list[Object] | None:
    """The tasks that a commit's message tells; None where it tells none."""
    several = told.get("tasks")
    tasks: list[Any] = several if isinstance(several, list) else [told.get("task")]
    return tasks if all(isinstance(each, dict) for each in tasks) else None


def told(message: str) -> Object:
    """What a commit's message says for machines; {} where it says nothing."""
    for line in message.splitlines():
        if line.startswith("kpt:"):
            try:
                found = json.loads(line.removeprefix("kpt:"))
            except ValueError:
                return {}
            return found if isinstance(found, dict) else {}
    return {}
