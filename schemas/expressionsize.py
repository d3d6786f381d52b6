"""The limit of CEL text in one object, because compiling takes microseconds for each character.

Upstream limits one expression (100,000 characters) and the run-time cost of rules; only the time
limit of the request limits the cost of compiling. The validation of every kind with expressions
calls `errors` before it compiles them.
"""

from collections.abc import Iterator
from typing import Any, Final

from inkube.schemas import fielderrors
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import may_mention

MOST: Final = 200_000
"""The largest number of characters of all expressions of an object: two of the longest ones."""
EACH: Final = 40
"""Characters that are added for every expression."""
_MEMBERS: Final = frozenset({"rule", "messageExpression", "expression", "valueExpression"})


def errors(value: Any, path: str) -> list[FieldError]:
    """Return an error if the expressions in a JSON value at `path` are too large together, else
    []."""
    if not may_mention(value, *_MEMBERS):
        return []
    size = sum(_sizes(value))
    if size <= MOST:
        return []
    detail = f"all expressions of an object may have {MOST} characters together, and these {size}"
    return [fielderrors.forbidden(path, detail)]


def _sizes(value: Any) -> Iterator[int]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += [item for item in value if isinstance(item, dict | list)]
        elif isinstance(value, dict):
            for name, member in value.items():
                if isinstance(member, dict | list):
                    waiting.append(member)
                elif name in _MEMBERS and isinstance(member, str):
                    yield len(member) + EACH
