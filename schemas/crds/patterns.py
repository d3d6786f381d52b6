"""Do a schema's patterns compile? If not, why, in the words of Go's regexp."""

import functools

import re2

_QUIET = re2.Options()
_QUIET.log_errors = False
_GO = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
}


@functools.lru_cache(maxsize=4096)
def error(pattern: str) -> str | None:
    """Why the pattern does not compile (regexp/syntax.Error), or None."""
    try:
        re2.compile(pattern, options=_QUIET)
    except re2.error as failure:
        reason = failure.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    else:
        return None
    code, _, part = text.partition(": ")
    if code not in _GO:
        code, part = "expression too large", pattern
    return f"error parsing regexp: {_GO.get(code, code)}: `{part}`"
