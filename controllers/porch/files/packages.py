"""The files of a new package: init and clone, and the rules for files. Pure."""

import re
from collections.abc import Container, Iterable, Iterator
from functools import partial
from typing import Any

from inkube.client import Object
from inkube.controllers.porch.files import documents, kptfile
from inkube.controllers.porch.files.documents import Document, Files, Unreadable
from inkube.controllers.porch.files.kptfile import Kptfile, Upstream

CONTEXT = "package-context.yaml"
IDENTIFIER = "internal.kpt.dev/upstream-identifier"
LOCAL = {"config.kubernetes.io/local-config": "true"}
_GIT = frozenset({".git", "git~1"})
"""Names of git's own directory, also as Windows and macOS read them."""
_LONGEST = 255
"""The most bytes of a name in a file system (NAME_MAX)."""
_METADATA = re.compile(r"^metadata:[ \t]*$", re.MULTILINE)
_MERGE_COMMENT = re.compile(r"^metadata:[ \t]*#[ \t]*kpt-merge:[ \t]*(\S*)", re.MULTILINE)


def new_package(name: str, options: Object) -> Files:
    """Return the three files of a new package; `options` is the block of the init task."""
    info: Object = {}
    if options.get("site"):
        info["site"] = options["site"]
    info["description"] = options.get("description") or "sample description"
    if options.get("keywords"):
        info["keywords"] = list(options["keywords"])
    head: Object = {
        "apiVersion": "kpt.dev/v1",
        "kind": "Kptfile",
        "metadata": {"name": name, "annotations": dict(LOCAL)},
        "info": info,
    }
    files = {
        "Kptfile": documents.dump(head),
        "README.md": _readme(name, info["description"]),
        CONTEXT: context_text({"name": "example"}),
    }
    below = (options.get("subpackage") or "").strip("/")
    return {f"{below}/{each}" if below else each: text for each, text in files.items()}


def with_kptfile(files: Files, name: str, options: Object) -> Files:
    """Return the files of a package, with the files of an init task added.

    Existing files stay. An existing Kptfile receives the `info` members that the task sets.
    """
    made = {**new_package(name, options), **files}
    below = (options.get("subpackage") or "").strip("/")
    own = f"{below}/{kptfile.NAME}" if below else kptfile.NAME
    info = {m: options[m] for m in ("site", "description", "keywords") if options.get(m)}
    if own in files and info:

        def change(tree: Any) -> None:
            documents.descend(tree, "info").update(info)

        made[own] = documents.edited(files[own], change)
    return made


def _readme(name: str, description: str) -> str:
    return (
        f"# {name}\n\n## Description\n\n{description}\n\n## Usage\n\n"
        f"    kpt pkg get REPOSITORY.git/{name} {name}\n"
        f"    kpt live init {name}\n    kpt live apply {name}\n"
    )


def context_text(data: Object) -> str:
    """Return the ConfigMap from which functions read the name of the package."""
    return documents.dump(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kptfile.kpt.dev", "annotations": dict(LOCAL)},
            "data": data,
        }
    )


def with_context(files: Files, data: Object) -> Files:
    """Return the files with members of the context's data set; a missing context is created."""
    text = files.get(CONTEXT)
    if text is None:
        return {**files, CONTEXT: context_text(data)}

    def change(tree: Any) -> None:
        documents.descend(tree, "data").update(data)

    return {**files, CONTEXT: documents.edited(text, change)}


def cloned_package(files: Files, name: str, upstream: Upstream) -> Files:
    """Return the files of an upstream package as a package with another name, with its upstream
    recorded. Raises Unreadable."""
    read = documents.read(files)
    for document in read:
        if document.is_object:
            mark(document)
    made = documents.write(files, read)
    return kptfile.edit(
        made, partial(kptfile.rename, name), partial(kptfile.set_upstream, upstream)
    )


def mark(document: Document) -> None:
    """Record the upstream identity of an object, by which upgrades match it."""
    if documents.is_kptfile(document.file):
        return
    group, kind, namespace, name = documents.identity(document.value)
    if IDENTIFIER not in documents.annotations(document.value):
        identifier = "|".join((group, kind, namespace or "default", name))

        def change(tree: Any) -> None:
            documents.descend(tree, "metadata", "annotations")[IDENTIFIER] = identifier

        document.edit(change)
    if not _MERGE_COMMENT.search(document.text):
        comment = f"metadata: # kpt-merge: {namespace}/{name}"
        document.replace(_METADATA.sub(lambda _: comment, document.text, count=1))


def upstream_identity(document: Document) -> tuple[str, ...]:
    """Return the upstream identity of an object: from its annotation, from its comment, or its
    own."""
    parts = documents.annotations(document.value).get(IDENTIFIER, "").split("|")
    group, kind, namespace, name = documents.identity(document.value)
    if len(parts) == len(("group", "kind", "namespace", "name")):
        return (parts[0], parts[1], parts[2] if parts[2] != "default" else "", parts[3])
    comment = _MERGE_COMMENT.search(document.text)
    if comment is not None and "/" in comment[1]:
        namespace, _, name = comment[1].partition("/")
    return (group, kind, namespace if namespace != "default" else "", name)


def unmarked(value: Any) -> Any:
    """Return an object without the annotation of its upstream identity."""
    if IDENTIFIER not in documents.annotations(value):
        return value
    metadata = dict(value["metadata"])
    kept = {k: v for k, v in metadata["annotations"].items() if k != IDENTIFIER}
    if kept:
        metadata["annotations"] = kept
    else:
        del metadata["annotations"]
    return {**value, "metadata": metadata}


def wrong_with(
    files: Files, stored: Container[str] = (), hidden: Iterable[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the reasons why files are not a valid package: file names and texts.

    `stored` are the names of the files until now, and `hidden` those of links and of other entries
    that clients do not see. Both stay next to the files.
    """
    for name in sorted(files):
        if why := wrong_with_name(name):
            yield name, why
    yield from _conflicts(files, stored, hidden)
    try:
        Kptfile.of(files)
    except Unreadable as error:
        yield "Kptfile", str(error)
    for name in sorted(files):
        if name == "Kptfile" or not documents.is_yaml(name):
            continue
        try:
            documents.read_file(name, files)
        except Unreadable as error:
            yield name, str(error).removeprefix(f"{name}: ")


def wrong_with_name(name: str) -> str:
    """Return the reason why a text is not a valid file name in a package; "" if it is valid."""
    segments = name.split("/")
    if name.startswith("/"):
        return "file names are relative to the package and must not begin with /"
    if "" in segments:
        return "file names must not have empty segments"
    if ".." in segments or "." in segments:
        return "file names must not lead out of the package by . or .."
    if any(segment.lower().rstrip(". ") in _GIT for segment in segments):
        return "file names must not lie in .git"
    if "\\" in name or any(not letter.isprintable() and letter != "\u00a0" for letter in name):
        return "file names must not hold backslashes or control characters"
    if any(len(segment.encode()) > _LONGEST for segment in segments):
        return f"each part of a file name has at most {_LONGEST} bytes"
    return ""


def _conflicts(
    files: Files, stored: Container[str], hidden: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield the names that cannot be next to another one in a directory, with the reason."""
    links = set(hidden)
    folded = {name.casefold(): name for name in sorted(files, reverse=True)}
    for name in sorted(files):
        first = folded[name.casefold()]
        if name in links or (link := _above(name, links)):
            yield name, f"{name if name in links else link} is a link in git, which stays as it is"
        elif parent := _above(name, files):
            yield name, f"{parent} is a file, and cannot be a directory too"
        elif first != name and (name not in stored or first not in stored):
            yield name, f"it differs from {first} only in its case: some file systems keep one"
    for link in sorted(links):
        if parent := _above(link, files):
            yield parent, f"it is a directory with the link {link} in git"


def _above(name: str, names: Container[str]) -> str:
    """Return the name that is a directory of another name; "" without one."""
    parts = name.split("/")
    paths = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return next((path for path in paths if path in names), "")
