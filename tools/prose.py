"""`make lint`: the texts that users read, held against a list of words and patterns.

Read are README, docs, examples, the help and error texts of the command line, options, fixtures and
the docstrings of public modules. The rules follow the Google developer documentation style guide
(https://developers.google.com/style): short sentences, active voice, one term per thing.

    python tools/prose.py [FILE…]    prints FILE:LINE: what is wrong, what to write instead
"""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).parents[1]
WORDS = 40
"""The longest sentence, in words."""
ERRORS = frozenset({
    "BadOption", "BadParameter", "ClickException", "DamagedError", "LogError", "ManifestError",
    "Problem", "RuntimeError", "StagesError", "StorageError", "TimeoutError", "TypeError",
    "UnknownScenario", "Unloadable", "UsageError", "ValueError",
})  # fmt: skip
"""Exceptions with texts for users. Texts of StatusError are kube-apiserver's."""
PUBLIC = (
    "inkube",
    "inkube.testing",
    "inkube.kinds",
    "inkube.client",
    "inkube.explore",
    "inkube.formats",
)


class Rule(NamedTuple):
    """A pattern that no text may contain, and what to write instead."""

    pattern: re.Pattern[str]
    advice: str


def _rule(pattern: str, advice: str) -> Rule:
    return Rule(re.compile(pattern), advice)


RULES = (
    _rule(r"\b(?:told|tells?|telling)\b", "name the action: prints, logs, shows, reports, returns"),
    _rule(
        r"\b(?:say|says|said|know|knows|known|hear|hears|heard|speaks?|warn|warned|learns?)"
        r"(?: nothing| something| anything| more| less| it| them)? of\b",
        '"about", not "of"',
    ),
    _rule(
        r"(?:^|(?<=[.;:!?] ))[Ww]hat (?!.*\?)", "a clause with what is no subject: name the thing"
    ),
    _rule(r"(?:^|(?<=[.;:!?] ))[Ww]ho (?!.*\?)", "name the user or the program"),
    _rule(
        r"\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody|whom|[Ww]hoever|[Ww]hatever|whence)\b",
        "name the user, the program or the thing",
    ),
    _rule(
        r"\bmay (?:everything|nothing|anything|all|what)\b|\bmay(?: not)?(?=[.,;:)|]|$)",
        "may takes a verb",
    ),
    _rule(r"\bone's\b", '"your" or "its"'),
    _rule(
        r"(?<![Tt]here )\b(?:is|are|was|were) (?:none\b|no (?!longer\b|more\b|fewer\b|less\b))",
        '"is not a …", "does not …"',
    ),
    _rule(r"\b(?:has|have|had) (?:none|not)(?=[.,;:)|]|$)", "complete the sentence"),
    _rule(r"\bof (?:(?:its|their|your|our|my) own|theirs|yours|ours|mine)\b", '"its own …"'),
    _rule(r"\b[Bb]eside\b", '"next to", "in addition to", "compared with"'),
    _rule(r"\b(?:go(?:es)?|going|went) on\b", '"continue", "happen"'),
    _rule(r"\ball the same\b", '"still", "anyway", or leave it out'),
    _rule(r"\banew\b", '"again"'),
    _rule(r"\bany more\b", '"no longer"'),
    _rule(r"\b(?:has|have|had|having) to\b", '"must"'),
    _rule(r"\banswer(?:s|ed)?(?: with)?(?: a)? `?[1-5]\d\d\b", '"returns" a status code'),
    _rule(r"\bas (?:often|many) as\b", '"repeat the option", or a number'),
    _rule(r"\bso (?:many|much|long)\b", "say how many"),
    _rule(r"\b[Ww]ithout more\b|\bas it stands\b|\bfor good\b|\bby turns\b", "be literal"),
    _rule(r"\bin the place of\b", '"instead of"'),
    _rule(r"\b(?:ends?|ended) with [012]\b", '"exits with code …"'),
    _rule(r"\b(?:shall|thereof|whereof|thereby|herein|upon|lest)\b", "plain words"),
    _rule(r"\b(?:simply|obviously|of course)\b", "leave it out"),
)


class Text(NamedTuple):
    """A paragraph, a heading, an item or a cell of a table."""

    place: str
    line: int
    text: str


class Finding(NamedTuple):
    """A violation of the rules in a text."""

    text: Text
    words: str
    advice: str

    def __str__(self) -> str:
        where = f"{self.text.place}:{self.text.line}" if self.text.line else self.text.place
        return f"{where}: {self.words!r}: {self.advice}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "files", nargs="*", type=Path, help="Markdown files or folders; none: all texts"
    )
    given = [path.resolve() for path in parser.parse_args().files]
    files = [page for path in given for page in (markdown(path) if path.is_dir() else [path])]
    found = list(judged(texts(files) if files else everything()))
    for each in found:
        print(each)
    sys.exit(bool(found))


def judged(found: Iterable[Text]) -> Iterator[Finding]:
    """Yield all findings in the texts."""
    for each in found:
        for rule in RULES:
            for match in rule.pattern.finditer(each.text):
                yield Finding(each, each.text[match.start() :][:40], rule.advice)
        for sentence in re.split(r"(?<=[.!?:;]) ", each.text):
            if (count := len(sentence.split())) > WORDS:
                yield Finding(each, f"{sentence[:40]}…", f"{count} words: make two sentences of it")


def everything() -> Iterator[Text]:
    """Yield all texts that users read."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += [page for folder in ("docs", "examples") for page in markdown(ROOT / folder)]
    yield from texts(pages)
    yield from help_texts()
    yield from error_texts()
    yield from docstrings()


# Markdown.


def markdown(folder: Path) -> list[Path]:
    """Return the pages in a folder, except those from the code (docs/fields) or from npm."""
    pages = sorted(folder.rglob("*.md"))
    return [page for page in pages if not {"fields", "node_modules"} & set(page.parts)]


def texts(pages: Iterable[Path]) -> Iterator[Text]:
    for page in pages:
        place = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else str(page)
        for line, text in paragraphs(page.read_text(encoding="utf-8")):
            yield Text(place, line, text)


def paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each paragraph, heading, item and cell, without code blocks."""
    fence = ""
    start, lines = 0, list[str]()
    for number, line in enumerate([*page.splitlines(), ""], 1):
        opening = re.match(r" *(```+)", line)
        code = bool(fence) or bool(opening) or (line.startswith("    ") and not lines)
        row = line.lstrip().startswith("|")
        breaks = code or row or not line.strip() or re.match(r" *([-*#]|\d+\.) ?", line)
        if lines and breaks:
            yield start, plain(" ".join(lines))
            lines = []
        if opening and (not fence or line.strip() == fence):
            fence = "" if fence else opening[1]
        elif not code and row:
            for cell in re.split(r"(?<!\\)\|", line):
                yield number, plain(cell)
        elif not code and line.strip():
            start = start if lines else number
            lines.append(line.strip())


def plain(text: str) -> str:
    """Return a text without Markdown syntax. Code becomes `…`."""
    text = re.sub(r"<!--.*?-->", "", text)
    text = re.sub(r"`+[^`]+`+", "`…`", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"^(?:#+|[-*]|\d+\.) +|[\[\]*]", "", text.strip()).strip()


# The command line and Python.


def help_texts() -> Iterator[Text]:
    """Yield the help of every command, option, fixture and marker."""
    from inkube.apiserver import pytest_plugin
    from inkube.apiserver.cli import main as cli

    def of(command: click.Command, name: str) -> Iterator[Text]:
        for text in filter(None, (command.help, command.epilog)):
            yield from _parts(f"{name} --help", text)
        for each in command.params:
            if isinstance(each, click.Option) and each.help:
                yield from _parts(f"{name} {each.opts[0]}", each.help)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for sub in command.list_commands(context):
                found = command.get_command(context, sub)
                assert found is not None
                yield from of(found, f"{name} {sub}")

    yield from of(cli, "inkube")
    for marker in pytest_plugin.MARKERS:
        yield from _parts("pytest --markers", marker)


def error_texts() -> Iterator[Text]:
    """Yield the texts of errors that the command line prints."""
    for folder in ("apiserver", "controllers", "storage"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and _name(node.func) in ERRORS:
                    yield from _strings(path.relative_to(ROOT).as_posix(), node)


def _strings(place: str, call: ast.Call) -> Iterator[Text]:
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield Text(place, argument.lineno, argument.value)
        elif isinstance(argument, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else "…"
                for part in argument.values
            ]
            yield Text(place, argument.lineno, "".join(parts))


def _name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def docstrings() -> Iterator[Text]:
    """Yield the docstrings of public modules, of their names, and of public members."""
    from inkube.apiserver import configuration, pytest_plugin

    for name in PUBLIC:
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        yield from _documented(name, module)
        for each in getattr(module, "__all__", ()):
            thing = getattr(module, each)
            yield from _documented(f"{name}.{each}", thing)
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not member.startswith("_"):
                    yield from _documented(f"{name}.{each}.{member}", value)
    for module in (configuration, pytest_plugin):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                place = f"{module.__name__}, line {node.lineno}"
                yield from _parts(place, str(node.value.value))


def _documented(place: str, thing: object) -> Iterator[Text]:
    if type(thing).__doc__ != (text := getattr(thing, "__doc__", None)) and text:
        yield from _parts(place, text)


def _parts(place: str, text: str) -> Iterator[Text]:
    for _, part in paragraphs(inspect.cleandoc(text.replace("``", "`"))):
        yield Text(place, 0, part)


if __name__ == "__main__":
    main()
