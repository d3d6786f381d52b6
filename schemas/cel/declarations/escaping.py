"""Property names as CEL identifiers: apiserver pkg/cel/escaping.go.

`x-prop` is `x__dash__prop`, `a.b` is `a__dot__b`, a reserved word `__for__`.
"""

import re

_RESERVED = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var",
        "void", "while",
    }
)  # fmt: skip
_PARTS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_PART = re.compile(r"__|[-./]|[^a-zA-Z0-9_]")


_ESCAPED = re.compile("|".join(_PARTS.values()))
_UNESCAPED = {escaped: part for part, escaped in _PARTS.items()}


def unescape(name: str) -> str:
    """Return the name of a property by its identifier; other identifiers are as they are."""
    bare = name[2:-2]
    if name == f"__{bare}__" and bare in _RESERVED:
        return bare
    return _ESCAPED.sub(lambda match: _UNESCAPED[match[0]], name)


def escape(name: str) -> str | None:
    """Return the identifier of a property, or None if rules cannot use the property."""
    if not name or "0" <= name[0] <= "9":
        return None
    if name in _RESERVED:
        return f"__{name}__"
    if name.isalnum() and name.isascii():  # nearly every name
        return name
    parts = _PART.findall(name)
    if any(part not in _PARTS for part in parts):
        return None
    return _PART.sub(lambda match: _PARTS[match[0]], name)
