"""YAML files as documents that keep their text: comments stay, and unchanged documents keep their
bytes.

A package is a map from file names to texts. This module splits its YAML files into documents, edits
each document separately, and joins the documents again. Pure.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter

from inkube.client import Object
from inkube.formats import DecodeError, goyaml

Files = dict[str, str]
_SEPARATOR = re.compile(r"^---(?:[ \t]+#[^\n]*|[ \t]*)\n", re.MULTILINE)
_LOCAL = "config.kubernetes.io/local-config"
_INDENT = 2
_AMBIGUOUS = re.compile(r"(?i)y|n|yes|no|on|off|[-+]?0[0-7_]+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+")


class Unreadable(ValueError):
    """A text that is not valid YAML; the message gives the reason."""


def is_yaml(name: str) -> bool:
    """Return whether a file contains YAML documents, according to its name."""
    return name.endswith((".yaml", ".yml")) or is_kptfile(name)


def is_kptfile(name: str) -> bool:
    """Return whether a file is the Kptfile of a package or of a subpackage."""
    return name.rpartition("/")[2] == "Kptfile"


@dataclass(slots=True)
class Document:
    """One document: its file and index, its text, and its value as Kubernetes parses it."""

    file: str
    index: int
    text: str
    value: Any = field(init=False)

    def __post_init__(self) -> None:
        self.value = parse(self.text)

    @property
    def is_object(self) -> bool:
        """Whether it is a Kubernetes object."""
        value = self.value
        return isinstance(value, dict) and bool(value.get("apiVersion")) and bool(value.get("kind"))

    @property
    def is_local(self) -> bool:
        """Whether it configures the package itself and is never applied to a cluster."""
        return annotations(self.value).get(_LOCAL) == "true"

    def replace(self, text: str) -> None:
        """Replace the text. Raises Unreadable."""
        if text != self.text:
            self.value = parse(text)
            self.text = text

    def edit(self, change: Callable[[Any], None]) -> bool:
        """Change the tree of the document in place and keep its comments. Return whether the text
        changed."""
        edited_text = edited(self.text, change)
        different: bool = edited_text != self.text
        self.replace(edited_text)
        return different


def parse(text: str) -> Any:
    """Return the value of one document. Raises Unreadable."""
    try:
        return goyaml.loads(text.encode()).value
    except DecodeError as error:
        raise Unreadable(error.text) from error


def edited(text: str, change: Callable[[Any], None]) -> str:
    """Return the text after a change of its tree in place; the same text if no value changes.
    Raises Unreadable."""
    yaml = _round_trip()
    try:
        tree = yaml.load(text)
    except YAMLError as error:
        raise Unreadable(str(error)) from error
    if tree is None:
        tree = yaml.map()
    change(tree)
    made = io.StringIO()
    yaml.dump(tree, made)
    result = made.getvalue()
    return text if parse(result) == parse(text) else result


def dump(value: Any) -> str:
    """Serialize a plain value as YAML."""
    made = io.StringIO()
    _round_trip().dump(value, made)
    return made.getvalue()


class _PlainString(str):
    """A text without quotes in the file; ruamel uses a different type for new texts."""

    __slots__ = ()


class _Constructor(RoundTripConstructor):
    """Marks texts that have no quotes in the file, so that they are written without quotes
    again."""

    def construct_scalar(self, node: Any) -> Any:
        found = super().construct_scalar(node)
        return _PlainString(found) if type(found) is str else found


class _Representer(RoundTripRepresenter):
    """Quotes new texts that Kubernetes, which parses YAML 1.1, would not parse as strings."""

    def represent_str(self, data: Any) -> Any:
        if type(data) is str and _AMBIGUOUS.fullmatch(data):
            return self.represent_scalar("tag:yaml.org,2002:str", data, style="'")
        return super().represent_str(data)


_Representer.add_representer(str, _Representer.represent_str)
_Representer.add_representer(_PlainString, RoundTripRepresenter.represent_str)


def _round_trip() -> YAML:
    yaml = YAML()
    yaml.Constructor, yaml.Representer = _Constructor, _Representer
    yaml.preserve_quotes = True
    yaml.width = 1_000_000  # existing long lines are not folded
    yaml.indent(mapping=_INDENT, sequence=_INDENT, offset=0)
    return yaml


def split(text: str) -> list[str]:
    """Return the texts of the documents in a file. Joined by `---`, they are the file, except for
    the exact form of its separators."""
    return [part for part in _SEPARATOR.split(text) if part.strip()]


def parts(text: str) -> list[str]:
    """Split a file without loss: documents, with the separators between them."""
    return re.split(f"({_SEPARATOR.pattern})", text, flags=re.MULTILINE)


def join(texts: Iterable[str]) -> str:
    """Join documents into one file."""
    return "---\n".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def read(files: Files) -> list[Document]:
    """Parse every document of every YAML file, ordered by file name. Raises Unreadable with the
    name of the file."""
    return [each for name in sorted(files) if is_yaml(name) for each in read_file(name, files)]


def read_file(name: str, files: Files) -> list[Document]:
    """Parse the documents of one file. Raises Unreadable with the name of the file."""
    try:
        return [Document(name, index, text) for index, text in enumerate(split(files[name]))]
    except Unreadable as error:
        raise Unreadable(f"{name}: {error}") from error


def write(files: Files, documents: Iterable[Document]) -> Files:
    """Return the files with the current texts of the documents; files without changes keep their
    bytes."""
    made = dict(files)
    by_file: dict[str, list[Document]] = {}
    for document in documents:
        by_file.setdefault(document.file, []).append(document)
    for name, own in by_file.items():
        texts = [document.text for document in own]
        if name not in files or split(files[name]) != texts:
            made[name] = join(texts)
    return made


def identity(value: Object) -> tuple[str, str, str, str]:
    """Return group, kind, namespace and name, which identify an object in a package."""
    group = str(value.get("apiVersion", "")).rpartition("/")[0]
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return (
        group,
        str(value.get("kind", "")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
    )


def annotations(value: Any) -> dict[str, str]:
    """Return the annotations of an object; {} if it has no map of annotations."""
    return _map_of(value, "annotations")


def labels(value: Any) -> dict[str, str]:
    """Return the labels of an object; {} if it has no map of labels."""
    return _map_of(value, "labels")


def _map_of(value: Any, member: str) -> dict[str, str]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    found = metadata.get(member) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def descend(tree: Any, *path: str) -> Any:
    """Return the map at a path of an editable tree. Missing maps are created."""
    for name in path:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    return tree


def scalars(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield every scalar of a tree: its path, the collection that contains it, its key there, its
    value."""
    items: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for key, member in items:
        step = f"[{key}]" if isinstance(value, list) else (f".{key}" if path else str(key))
        if isinstance(member, dict | list):
            yield from scalars(member, path + step)
        else:
            yield path + step, value, key, member
