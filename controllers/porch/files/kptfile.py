"""The Kptfile of a package: its content, and edits that keep its comments. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.porch.files import documents
from inkube.controllers.porch.files.documents import Files, Unreadable

NAME = "Kptfile"
RENDERED = "Rendered"
CONFLICTS = "UpgradeConflicts"
Edit = Callable[[Any], None]
"""A change of a Kptfile's editable tree, in place."""


class Upstream(NamedTuple):
    """A directory of a repository at a commit."""

    repo: str
    directory: str
    ref: str
    commit: str

    def upstream(self) -> Object:
        """Return the `upstream` member of a Kptfile."""
        git = {"repo": self.repo, "directory": self.directory, "ref": self.ref}
        return {"type": "git", "git": git}

    def lock(self) -> Object:
        """Return the `upstreamLock` member of a Kptfile, which includes the commit."""
        git = {**self.upstream()["git"], "commit": self.commit}
        return {"type": "git", "git": git}


class Kptfile:
    """The content of a Kptfile. Raises Unreadable if the text is not a Kptfile."""

    def __init__(self, text: str) -> None:
        value = documents.parse(text)
        if not isinstance(value, dict) or value.get("kind") != NAME:
            raise Unreadable("the Kptfile must be of kind: Kptfile")
        if not str(value.get("apiVersion", "")).startswith("kpt.dev/v1"):
            raise Unreadable("the Kptfile must be of apiVersion: kpt.dev/v1")
        self.value: Object = value

    @classmethod
    def of(cls, files: Mapping[str, str]) -> "Kptfile":
        """Return the Kptfile of a package. Raises Unreadable."""
        if NAME not in files:
            raise Unreadable("package must contain Kptfile at root")
        return cls(files[NAME])

    def _at(self, *path: str) -> Any:
        value: Any = self.value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return str(self._at("metadata", "name") or "")

    @property
    def gates(self) -> list[Object]:
        """`info.readinessGates`, in the form that a PackageRevision uses."""
        return [
            {"conditionType": str(gate["conditionType"])}
            for gate in self._list("info", "readinessGates")
            if gate.get("conditionType")
        ]

    @property
    def conditions(self) -> list[Object]:
        """`status.conditions`, with only the members that a PackageRevision has."""
        members = ("type", "status", "reason", "message")
        return [
            {name: str(each[name]) for name in members if each.get(name) is not None}
            for each in self._list("status", "conditions")
            if each.get("type") and each.get("status")
        ]

    @property
    def metadata(self) -> Object:
        """Labels and annotations, without empty maps."""
        found = {
            name: {str(key): str(value) for key, value in self._at("metadata", name).items()}
            for name in ("labels", "annotations")
            if isinstance(self._at("metadata", name), dict)
        }
        return {name: value for name, value in found.items() if value}

    @property
    def upstream_lock(self) -> Object:
        """`upstreamLock`; {} without an upstream."""
        git = self._at("upstreamLock", "git")
        if not isinstance(git, dict):
            return {}
        members = ("repo", "directory", "ref", "commit")
        return {"type": "git", "git": {m: str(git[m]) for m in members if git.get(m) is not None}}

    @property
    def pipeline(self) -> Object:
        """`pipeline`."""
        found = self._at("pipeline")
        return found if isinstance(found, dict) else {}

    def _list(self, *path: str) -> list[Object]:
        found = self._at(*path)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def edit(files: Files, *changes: Edit) -> Files:
    """Return the files with edits applied to the tree of the root Kptfile."""

    def change(tree: Any) -> None:
        for each in changes:
            each(tree)

    return {**files, NAME: documents.edited(files[NAME], change)}


# edits: the last parameter is the tree


def rename(name: str, tree: Any) -> None:
    """Set metadata.name."""
    documents.descend(tree, "metadata")["name"] = name


def set_upstream(source: Upstream, tree: Any) -> None:
    """Set the upstream of the package."""
    tree["upstream"] = source.upstream()
    tree["upstreamLock"] = source.lock()


def merge_metadata(metadata: Object, tree: Any) -> None:
    """Add labels and annotations; the given values replace existing ones."""
    for member in ("labels", "annotations"):
        if metadata.get(member):
            documents.descend(tree, "metadata", member).update(metadata[member])


def replace_metadata(metadata: Object, tree: Any) -> None:
    """Replace labels and annotations, each only if it is given."""
    own = documents.descend(tree, "metadata")
    for member in ("labels", "annotations"):
        if metadata.get(member):
            own[member] = dict(metadata[member])
        elif member in metadata:
            own.pop(member, None)


def replace_gates(gates: Sequence[Object], tree: Any) -> None:
    """Replace the readiness gates."""
    info = documents.descend(tree, "info")
    if gates:
        info["readinessGates"] = [{"conditionType": gate["conditionType"]} for gate in gates]
    else:
        info.pop("readinessGates", None)


def replace_conditions(conditions: Sequence[Object], tree: Any) -> None:
    """Replace the conditions, except the condition that rendering sets."""
    status = documents.descend(tree, "status")
    old = status.get("conditions") or []
    kept = [each for each in old if each.get("type") == RENDERED]
    others = [dict(each) for each in conditions if each.get("type") != RENDERED]
    status["conditions"] = [*others, *kept]


def with_condition(kind: str, is_true: bool, reason: str, message: str = "") -> Edit:
    """Return an edit that sets one condition if it differs."""
    made: Object = {"type": kind, "status": "True" if is_true else "False", "reason": reason}
    if message:
        made["message"] = message

    def change(tree: Any) -> None:
        status = documents.descend(tree, "status")
        old = status.get("conditions")
        conditions = old if isinstance(old, list) else []
        for place, each in enumerate(conditions):
            if each.get("type") == kind:
                if dict(each) != made:
                    conditions[place] = made
                return
        status["conditions"] = [*conditions, made]

    return change


def remove_condition(kind: str, tree: Any) -> None:
    """Remove one condition."""
    status = tree.get("status")
    if isinstance(status, dict) and isinstance(status.get("conditions"), list):
        kept = [each for each in status["conditions"] if each.get("type") != kind]
        if len(kept) != len(status["conditions"]):
            status["conditions"] = kept
