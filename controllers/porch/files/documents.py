"""YAML files as documents that keep their text: comments stay, what nobody changed keeps its bytes.

A package is a map of file names to texts. Here its YAML files are taken apart into documents, these
are edited one by one, and put together again. Pure.
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

from inkube.schemas.golang import DecodeError, goyaml
from inkube.schemas.objects import Object

Files = dict[str, str]
_SEPARATOR = re.compile(r"^---(?:[ \t]+#[^\n]*|[ \t]*)\n", re.MULTILINE)
_LOCAL = "config.kubernetes.io/local-config"
_INDENT = 2
_AMBIGUOUS = re.compile(r"(?i)y|n|yes|no|on|off|[-+]?0[0-7_]+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+")


class Unreadable(ValueError):
    """A text that is no YAML; says why."""


def is_yaml(name: str) -> bool:
    """Whether a file holds documents, as far as its name says."""
    return name.endswith((".yaml", ".yml")) or is_kptfile(name)


def is_kptfile(name: str) -> bool:
    """Whether a file is the Kptfile of a package or of one inside of it."""
    return name.rpartition("/")[2] == "Kptfile"


@dataclass(slots=True)
class Document:
    """One document: where it stands, its text, and its value as Kubernetes reads it."""

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
        """Whether it is configuration of the package itself, never to be applied."""
        return annotations(self.value).get(_LOCAL) == "true"

    def replace(self, text: str) -> None:
        """Give it another text. Raises Unreadable."""
        if text != self.text:
            self.value = parse(text)
            self.text = text

    def edit(self, change: Callable[[Any], None]) -> bool:
        """Change its tree in place, comments kept; whether that made another value."""
        edited_text = edited(self.text, change)
        different: bool = edited_text != self.text
        self.replace(edited_text)
        return different


def parse(text: str) -> Any:
    """The value of one document. Raises Unreadable."""
    try:
        return goyaml.loads(text.encode()).value
    except DecodeError as error:
        raise Unreadable(error.text) from error


def edited(text: str, change: Callable[[Any], None]) -> str:
    """The text with its tree changed in place; the same text where that changes no value."""
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
    """The YAML of a plain value."""
    made = io.StringIO()
    _round_trip().dump(value, made)
    return made.getvalue()


class _Plain(str):
    """A text that stands in a file without quotes; ruamel gives its own such kind to new texts."""

    __slots__ = ()


class _Constructor(RoundTripConstructor):
    """Remembers which texts stood there plain: they are written so again."""

    def construct_scalar(self, node: Any) -> Any:
        found = super().construct_scalar(node)
        return _Plain(found) if type(found) is str else found


class _Representer(RoundTripRepresenter):
    """Quotes new texts that Kubernetes, which reads YAML 1.1, would take for something else."""

    def represent_str(self, data: Any) -> Any:
        if type(data) is str and _AMBIGUOUS.fullmatch(data):
            return self.represent_scalar("tag:yaml.org,2002:str", data, style="'")
        return super().represent_str(data)


_Representer.add_representer(str, _Representer.represent_str)
_Representer.add_representer(_Plain, RoundTripRepresenter.represent_str)


def _round_trip() -> YAML:
    yaml = YAML()
    yaml.Constructor, yaml.Representer = _Constructor, _Representer
    yaml.preserve_quotes = True
    yaml.width = 1_000_000  # no line is folded that was not
    yaml.indent(mapping=_INDENT, sequence=_INDENT, offset=0)
    return yaml


def split(text: str) -> list[str]:
    """The texts of a file's documents; joined by `---` they are the file, up to its separators."""
    return [part for part in _SEPARATOR.split(text) if part.strip()]


def parts(text: str) -> list[str]:
    """A file taken apart so that nothing is lost: documents and, between them, separators."""
    return re.split(f"({_SEPARATOR.pattern})", text, flags=re.MULTILINE)


def join(texts: Iterable[str]) -> str:
    """A file of documents."""
    return "---\n".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def read(files: Files) -> list[Document]:
    """Every document of every YAML file, in order of files. Raises Unreadable, naming the file."""
    return [each for name in sorted(files) if is_yaml(name) for each in read_file(name, files)]


def read_file(name: str, files: Files) -> list[Document]:
    """The documents of one file. Raises Unreadable."""
    try:
        return [Document(name, index, text) for index, text in enumerate(split(files[name]))]
    except Unreadable as error:
        raise Unreadable(f"{name}: {error}") from error


def write(files: Files, documents: Iterable[Document]) -> Files:
    """The files with what documents became; those nobody changed keep their bytes."""
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
    """Group, kind, namespace and name: what tells objects of a package apart."""
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
    """The annotations of an object, {} where there are none to be read."""
    return _map_of(value, "annotations")


def labels(value: Any) -> dict[str, str]:
    """Its labels."""
    return _map_of(value, "labels")


def _map_of(value: Any, member: str) -> dict[str, str]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    found = metadata.get(member) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def descend(tree: Any, *path: str) -> Any:
    """The map at a path of an editable tree, made where it is missing."""
    for name in path:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    return tree


def scalars(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Every scalar of a tree: its path, who holds it, under which key, its value."""
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
