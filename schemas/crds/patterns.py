"""Do a schema's patterns compile? If not, why, in the words of Go's regexp."""

from inkube.schemas.golang import regexp


def error(pattern: str) -> str | None:
    """Why the pattern does not compile (regexp/syntax.Error), or None."""
    try:
        regexp.compile(pattern)
    except regexp.RegexError as why:
        return str(why)
    return None
