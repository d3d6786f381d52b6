"""Splits the text of a template into texts and actions, and an action into lexemes.

Follows text/template/parse/lex.go.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from inkube.controllers.workloads.stages.gotemplates.values import TemplateError

# The content of an action. String literals match as a whole: braces in them do not end it. Nothing
# follows the repetition, so it never backtracks.
_INNER = re.compile(
    r"""(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\\n]|\\.)*'|[^"`'}]|\}(?!\}))*""", re.DOTALL
)
_COMMENT = re.compile(r"-?\s*/\*.*?\*/\s*-?", re.DOTALL)
_LEXEMES = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    |(?P<char>'(?:[^'\\\n]|\\.)')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+))
    |(?P<variable>\$\w*)
    |(?P<field>\.[A-Za-z_]\w*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<symbol>:=|[.()|,=])""",
    re.VERBOSE,
)


class Lexeme(NamedTuple):
    """One lexeme of an action; `kind` is a group of `_LEXEMES`."""

    kind: str
    text: str
    glued: bool
    """Whether the lexeme follows the previous one without a space."""


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield ("text", …) and ("action", …) in order, with trim markers applied. Raises TemplateError
    for an unclosed action."""
    at, trims = 0, False
    while (start := text.find("{{", at)) >= 0:
        inner = _COMMENT.match(text, start + 2) or _INNER.match(text, start + 2)
        if inner is None or not text.startswith("}}", inner.end()):
            raise TemplateError(f"unclosed action: {text[start : start + 40]!r}")
        action = inner[0]
        before = text[at:start].lstrip() if trims else text[at:start]
        trims = len(action) > 1 and action[-1] == "-" and action[-2].isspace()
        if action[:1] == "-" and action[1:2].isspace():
            action, before = action[1:], before.rstrip()
        if before:
            yield "text", before
        action = (action[:-1] if trims else action).strip()
        if not action.startswith("/*"):
            yield "action", action
        at = inner.end() + 2
    rest = text[at:].lstrip() if trims else text[at:]
    if rest:
        yield "text", rest


def tokenize(text: str) -> list[Lexeme]:
    """Return the lexemes of an action, without spaces. Raises TemplateError."""
    found: list[Lexeme] = []
    at, glued = 0, False
    while at < len(text):
        match = _LEXEMES.match(text, at)
        if match is None:
            raise TemplateError(f"unexpected {text[at]!r} in {text.strip()!r}")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Lexeme(kind, match[0], glued))
        glued = kind != "space"
        at = match.end()
    return found
