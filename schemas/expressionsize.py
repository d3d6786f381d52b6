"""How much CEL one object may bring: to compile it takes some microseconds for each character.

Upstream bounds one expression (100,000 characters) and what rules may cost when they run; what
compiling costs it leaves to the time limit of the request. Asked before anything is compiled, by
the validation of every kind that has expressions.
"""

from collections.abc import Iterator
from typing import Any, Final

from inkube.schemas import fielderrors
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import may_mention

MOST: Final = 200_000
"""Characters of all expressions of an object: two of the longest."""
EACH: Final = 40
"""Characters that every expression counts beside its own."""
_MEMBERS: Final = frozenset({"rule", "messageExpression", "expression", "valueExpression"})


def errors(value: Any, path: str) -> list[FieldError]:
    """What is wrong with the expressions in a JSON value, which stands at `path`, by their size."""
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
