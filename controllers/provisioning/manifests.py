"""The resources that the files of a repository declare: dashboards, and folders for their
directories.

A file declares a resource if it is JSON or YAML with apiVersion and kind, or a dashboard in the
classic form (`schemaVersion`, `panels`, `tags`; its name is `uid`). A problem of one file does not
prevent other files from being read.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.provisioning.outside.contents import File
from inkube.formats import DecodeError, bodies

DASHBOARDS = ("dashboard.grafana.app", "dashboards")
FOLDERS = ("folder.grafana.app", "folders")
KINDS = {
    ("dashboard.grafana.app", "Dashboard"): DASHBOARDS,
    ("folder.grafana.app", "Folder"): FOLDERS,
}
EXTENSIONS = (".json", ".yaml", ".yml")
_NAME = 40
"""The maximum number of characters of the name of a folder, before its hash."""


class Scope(NamedTuple):
    """The context of resources: the repository that creates them, and their namespace."""

    repository: str
    namespace: str
    title: str
    has_root: bool
    """Whether a folder with the name of the repository contains all resources (sync target
    folder)."""


class DeclaredResource(NamedTuple):
    """One resource that a file declares."""

    path: str
    group: str
    version: str
    kind: str
    resource: str
    name: str
    title: str
    folder: str
    hash: str
    is_classic: bool
    object: Object

    @property
    def identity(self) -> tuple[str, str, str]:
        """Group, resource and name; only one file can declare each identity."""
        return self.group, self.resource, self.name

    @property
    def state(self) -> tuple[str, str]:
        """A pair that differs after each change of the file."""
        return self.path, self.hash


class FileProblem(NamedTuple):
    """A problem of a file. A warning is not an error of the job."""

    path: str
    name: str
    cause: str
    group: str = ""
    kind: str = ""
    is_warning: bool = False

    def text(self, action: str = "create") -> str:
        """Return the text in the errors or warnings of a job."""
        return f"{self.cause} (file: {self.path}, name: {self.name}, action: {action})"


class Unreadable(ValueError):
    """A file that does not declare a resource; the message gives the reason. `name`, `group` and
    `kind` are set as far as they are known."""

    def __init__(self, cause: str, name: str = "", *, group: str = "", kind: str = "") -> None:
        super().__init__(cause)
        self.name, self.group, self.kind = name, group, kind


class ManifestReader:
    """The resources that files declare, and the problems of files; files are added one at a
    time."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._resources_by_identity: dict[tuple[str, str, str], DeclaredResource] = {}
        self.troubles: list[FileProblem] = []

    def add(self, file: File) -> None:
        """Read one more file; a file with another extension is ignored."""
        if not file.path.endswith(EXTENSIONS):
            return
        try:
            one = parse(file, self._scope)
        except Unreadable as error:
            trouble = FileProblem(file.path, error.name, str(error), error.group, error.kind)
            self.troubles.append(trouble)
            return
        other = self._resources_by_identity.get(one.identity)
        if other is not None:
            cause = f"duplicate resource name: {other.path} has it already"
            self.troubles.append(FileProblem(file.path, one.name, cause, one.group, one.kind))
        elif (one.group, one.kind) not in KINDS:
            cause = f"kind {one.kind} of {one.group} is not supported"
            self.troubles.append(
                FileProblem(file.path, one.name, cause, one.group, one.kind, is_warning=True)
            )
        else:
            self._resources_by_identity[one.identity] = one

    def resources(self) -> list[DeclaredResource]:
        """Return the resources: folders first, then those that files declare."""
        found = list(self._resources_by_identity.values())
        folders = {folder.identity: folder for folder in _folders(found, self._scope)}
        return [*folders.values(), *found]


def parse(file: File, scope: Scope) -> DeclaredResource:
    """Return the resource that one file declares. Raises Unreadable."""
    obj = content(file)
    is_classic = all(obj.get(member) is not None for member in ("schemaVersion", "panels", "tags"))
    if obj.get("apiVersion") and obj.get("kind"):
        is_classic = False
    elif is_classic:
        obj = {
            "apiVersion": "dashboard.grafana.app/v1",
            "kind": "Dashboard",
            "metadata": {"name": obj.get("uid") or ""},
            "spec": obj,
        }
    else:
        raise Unreadable("unable to read file as a resource")
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    kind, metadata = str(obj["kind"]), _map(obj.get("metadata"))
    name = str(metadata.get("name") or "")
    if not name:
        raise Unreadable("name is required", group=group, kind=kind)
    namespace = metadata.get("namespace") or scope.namespace
    if namespace != scope.namespace:
        cause = "the file namespace does not match target namespace"
        raise Unreadable(cause, name, group=group, kind=kind)
    folder = folder_of(file.path, scope)
    _, resource = KINDS.get((group, kind), ("", f"{kind.lower()}s"))
    title = str(_map(obj.get("spec")).get("title") or "")
    made = as_stored(obj, file, folder, scope)
    return DeclaredResource(
        file.path, group, version, kind, resource, name, title, folder, file.hash, is_classic, made
    )


def as_stored(obj: Object, file: File, folder: str, scope: Scope) -> Object:
    """Return the object as Grafana stores it: in the namespace, with annotations for its manager
    and source."""
    metadata = _map(obj.get("metadata"))
    annotations = {
        **_map(metadata.get("annotations")),
        "grafana.app/managedBy": "repo",
        "grafana.app/managerId": scope.repository,
        "grafana.app/sourcePath": file.path,
        "grafana.app/sourceChecksum": file.hash,
    }
    if folder:
        annotations["grafana.app/folder"] = folder
    named = {**metadata, "namespace": scope.namespace, "annotations": annotations}
    return {**obj, "metadata": named}


def folder_of(path: str, scope: Scope) -> str:
    """Return the name of the folder of a file; "" if the file is not in a folder."""
    directory = path.rpartition("/")[0]
    if not directory:
        return scope.repository if scope.has_root else ""
    slug = re.sub(r"[^a-z0-9]+", "-", directory.rpartition("/")[2].lower()).strip("-")
    short = hashlib.sha256(f"{scope.repository}/{directory}".encode()).hexdigest()[:8]
    return f"{slug[:_NAME].rstrip('-') or 'folder'}-{short}"


def _folders(resources: list[DeclaredResource], scope: Scope) -> Iterator[DeclaredResource]:
    if scope.has_root:
        yield _folder("", scope.repository, scope.title, "", scope)
    directories: set[str] = set()
    for each in resources:
        parts = each.path.split("/")[:-1]
        directories.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    for path in sorted(directories):
        name = folder_of(f"{path}/", scope)
        yield _folder(f"{path}/", name, path.rpartition("/")[2], folder_of(path, scope), scope)


def _folder(path: str, name: str, title: str, parent: str, scope: Scope) -> DeclaredResource:
    group, resource = FOLDERS
    obj = {
        "apiVersion": f"{group}/v1",
        "kind": "Folder",
        "metadata": {"name": name},
        "spec": {"title": title},
    }
    file = File(path, b"")
    made = as_stored(obj, file, parent, scope)
    return DeclaredResource(
        path, group, "v1", "Folder", resource, name, title, parent, "", False, made
    )


def content(file: File) -> Object:
    """Return the object in a file. Raises Unreadable if the file does not contain an object."""
    media: bodies.Media = "json" if file.path.endswith(".json") else "yaml"
    try:
        value = bodies.decode(file.data, media, want_duplicates=False).value
    except DecodeError as error:
        raise Unreadable(f"unable to read file as a resource: {error.text}") from error
    if not isinstance(value, dict):
        raise Unreadable("unable to read file as a resource")
    return value


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
