"""Functions that the table of rules names with `call=`: irregular rules, one module per family.

`call=affinity` in core.pods.rules is `affinity` in `calls/core_pods.py`; `call=core_storage.source`
names another module. A function receives (value, path, frame) and returns or yields field errors.
`if=@name` names a predicate of the frame. `default=@name` and `defaults=name` name functions that
receive the object of the struct.
"""

from typing import Any

from inkube.schemas import lazy


def find(file: str, name: str, where: str) -> Any:
    """Return the function with that name. Raises LookupError with the place in the table that names
    it."""
    module, dot, function = name.rpartition(".")
    home = module if dot else file.replace(".", "_").replace("-", "_")
    try:
        return lazy.named(f"{__name__}.{home}", function)
    except AttributeError as error:
        raise LookupError(f"{where}: calls/{home}.py has no function {function!r}") from error
