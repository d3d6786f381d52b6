"""The functions that the table of rules names: `find` loads them from `calls` at their first use.

The modules that compile the table know no function. The functions use these modules, to run the
rules of the types inside a value.
"""

from functools import partial
from typing import Any

from inkube.schemas import lazy

_CALLS = "inkube.schemas.builtin.rules.calls"


def find(file: str, name: str, where: str) -> Any:
    """Return the function `name` or `module.name`. `name(word)` is called with the word as its
    first argument. Raises LookupError with the place in the table that names it."""
    name, parenthesis, word = name.partition("(")
    module, dot, function = name.rpartition(".")
    home = module if dot else file.replace(".", "_").replace("-", "_")
    try:
        found = lazy.named(f"{_CALLS}.{home}", function)
        return partial(found, word.removesuffix(")")) if parenthesis else found
    except AttributeError as error:
        raise LookupError(f"{where}: calls/{home}.py has no function {function!r}") from error
