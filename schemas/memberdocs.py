"""Documentation of a class with its members, for `help`: read from the source of the class.

A member of a dataclass or named tuple is described by the string below it, which Python does not
keep, or by its help if it is an option (`options`). `lazy.public` uses this module for the
documentation of a public class.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator

from inkube.schemas.options import Option, options_of


def described(cls: type, text: str) -> str:
    """Return the text, then each public member with its default and the string below it.

    Only the text if no member has such a string, or if the source cannot be read.
    """
    text = inspect.cleandoc(text)
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):  # no source beside a frozen program
        return text
    (definition,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(definition, ast.ClassDef)
    members = [*map(_option, options_of(cls)), *_members(definition)]
    if not members:
        return text
    return "\n\n".join((text, "Members:", *(textwrap.indent(each, "    ") for each in members)))


def _option(option: Option) -> str:
    kind = inspect.formatannotation(option.type)
    return f"{option.name}: {kind} = {option.default!r}\n{textwrap.indent(option.help, '    ')}"


def _members(definition: ast.ClassDef) -> Iterator[str]:
    for node, after in zip(definition.body, definition.body[1:], strict=False):
        if not isinstance(node, ast.AnnAssign) or not isinstance(after, ast.Expr):
            continue
        below = after.value
        if isinstance(below, ast.Constant) and isinstance(below.value, str):
            about = textwrap.indent(inspect.cleandoc(below.value), "    ")
            yield f"{ast.unparse(node)}\n{about}"
