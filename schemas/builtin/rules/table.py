"""The `.rules` files, read as text: paragraphs of types, lines of fields, words of lines.

    package coordination.v1
    type LeaseSpec
      leaseDurationSeconds  min=1 "must be greater than 0"
      preferredHolder       forbidden if=!strategy "may only be specified if …"

A paragraph is split into words when its type is compiled, so that a first write reads no more
than it needs. Raises RuleError for what does not read as a rule.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from inkube.schemas import caches, releases

NEWEST = releases.NEWEST.minor
"""The Kubernetes minor whose rules apply by default."""
FOLDER = Path(__file__).parent
_FILES = 64  # files of the table; about twenty exist
ELEMENTS = ("[]", "{}", "{keys}")
_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"=]+)(?:=("(?:[^"\\]|\\.)*"|[^\s"]\S*))?)')
_SPOKEN = re.compile(r"1\.(\d+)")
_RANGES = ("since", "until")
SILENT = frozenset({
    "always", "as", "at", "default", "defaults", "drop", "gate", "if", "known", "last", "none",
    "prune", "ratchet", "shorten", "show", *_RANGES,
})  # fmt: skip
"""Words that control a line instead of checking a value. They never have a text."""


class RuleError(Exception):
    """An invalid line of the table, with its file and number."""


class Word(NamedTuple):
    """`name=value "text"`; value and text are "" if they are missing."""

    name: str
    value: str
    text: str


class Line(NamedTuple):
    """A field, or `self`, and its words. `location` is its place, such as `core.rules:12`."""

    field: str
    words: tuple[Word, ...]
    location: str

    @property
    def element(self) -> str:
        """The part of the field that the line applies to: `[]`, `{}` or `{keys}`; "" for the
        field."""
        return next((each for each in ELEMENTS if self.field.endswith(each)), "")

    @property
    def path(self) -> list[str]:
        """The path of the field in its struct; empty for `self`."""
        name = self.field.removesuffix(self.element)
        return [] if name == "self" else name.split(".")

    def find(self, name: str) -> Word | None:
        """Return the word with that name, or None."""
        return next((word for word in self.words if word.name == name), None)


class Paragraph(NamedTuple):
    """The rules of a type on an occasion: "" is any validation, others are `update` or `status`."""

    type: str
    occasion: str
    words: tuple[Word, ...]
    body: tuple[tuple[int, str], ...]
    file: str

    def lines(self, minor: int) -> list[Line]:
        """Return the lines that apply to a Kubernetes minor."""
        return [line for line in map(self._line, _joined(self.body)) if holds(line.words, minor)]

    def _line(self, numbered: tuple[int, str]) -> Line:
        number, text = numbered
        where = f"{self.file}:{number}"
        field, _, rest = text.strip().partition(" ")
        return Line(field, words(rest, where), where)


def holds(words: tuple[Word, ...], minor: int) -> bool:
    """Return whether `since=1.34` and `until=1.35` (both inclusive) include a minor."""
    for word in words:
        if word.name in _RANGES:
            found = _SPOKEN.fullmatch(word.value)
            if found is None:
                raise RuleError(f"{word.name}={word.value}: no version like 1.36")
            bound = int(found[1])
            if minor < bound if word.name == "since" else minor > bound:
                return False
    return True


def words(text: str, where: str) -> tuple[Word, ...]:
    """Return the words of a line. A quoted text belongs to the last word before it that is a
    check."""
    made: list[Word] = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise RuleError(f"{where}: cannot read {text[at:]!r}")
        at = found.end()
        quoted, name, value = found.groups()
        if name is not None:
            made.append(Word(name, _unquoted(value or ""), ""))
        else:
            spoken = [at for at, word in enumerate(made) if word.name not in SILENT]
            if not spoken:
                raise RuleError(f"{where}: a text stands behind its word")
            made[spoken[-1]] = made[spoken[-1]]._replace(text=_plain(quoted))
    return tuple(made)


def _unquoted(value: str) -> str:
    return _plain(value[1:-1]) if value.startswith('"') else value


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def _joined(body: tuple[tuple[int, str], ...]) -> Iterator[tuple[int, str]]:
    """Yield lines joined with their continuations, which are indented further."""
    number, whole = 0, ""
    for at, text in body:
        if text.startswith("   ") and whole:
            whole = f"{whole} {text.strip()}"
            continue
        if whole:
            yield number, whole
        number, whole = at, text
    if whole:
        yield number, whole


def files(package: str) -> list[Path]:
    """Return the files that can contain types of a package: `core.v1` → core.rules,
    core.pods.rules."""
    stem = package.partition(".")[0]
    return sorted({*FOLDER.glob(f"{stem}.rules"), *FOLDER.glob(f"{stem}.*.rules")})


Paragraphs = dict[tuple[str, str], list[Paragraph]]


@caches.of_values(_FILES)
def paragraphs(package: str) -> Paragraphs:
    """Return all paragraphs of a package's files, by type and occasion."""
    found: Paragraphs = {}
    for file in files(package):
        for each in read(file.read_text(encoding="utf-8"), file.name):
            found.setdefault((each.type, each.occasion), []).append(each)
    return found


def read(text: str, file: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a file's text."""
    package = ""
    head: tuple[str, str, tuple[Word, ...]] | None = None
    body: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(" "):
            body.append((number, line))
            continue
        if head is not None:
            yield Paragraph(*head, tuple(body), file)
            head, body = None, []
        start, _, rest = line.partition(" ")
        if start == "package":
            package = rest.strip()
        elif start == "type":
            head = _head(rest, package, f"{file}:{number}")
        else:
            raise RuleError(f"{file}:{number}: a line begins with `package`, `type` or blanks")
    if head is not None:
        yield Paragraph(*head, tuple(body), file)


def _head(text: str, package: str, where: str) -> tuple[str, str, tuple[Word, ...]]:
    """Return the type, occasion and other words of the first line of a paragraph, such as `Pod
    update since=1.34`."""
    name, *others = words(text, where)
    occasion = ""
    if others and not others[0].value:
        occasion = others.pop(0).name
    return qualified(name.name, package), occasion, tuple(others)


def qualified(name: str, package: str) -> str:
    """Return a type's name with its package: `LeaseSpec` → `coordination.v1.LeaseSpec`."""
    return name if "." in name else f"{package}.{name}"


def package_of(name: str) -> str:
    """Return the package of a type's name: `core.v1.PodSpec` → `core.v1`."""
    return name.rpartition(".")[0]


def paragraph(name: str, occasion: str, minor: int) -> Paragraph | None:
    """Return the paragraph of a type and an occasion in a minor, or None. Raises RuleError if two
    paragraphs apply."""
    known = paragraphs(package_of(name)).get((name, occasion), [])
    found = [each for each in known if holds(each.words, minor)]
    if len(found) > 1:
        raise RuleError(f"{name} {occasion}: {len(found)} paragraphs hold in 1.{minor}")
    return found[0] if found else None
