"""Functions that the table names with `call=`: what is irregular, one module per family.

`call=affinity` of core.pods.rules is `affinity` in `calls/core_pods.py`; `call=core_storage.source`
names another module. A function gets (value, path, frame) and yields what is wrong; `if=@name`
names a predicate of the frame, `default=@name` and `defaults=name` functions of the struct.
"""

from typing import Any

from inkube.schemas import lazy


def find(file: str, name: str, where: str) -> Any:
    """The function of that name. Raises LookupError, which says where it is named."""
    module, dot, function = name.rpartition(".")
    home = module if dot else file.replace(".", "_").replace("-", "_")
    try:
        return lazy.named(f"{__name__}.{home}", function)
    except AttributeError as error:
        raise LookupError(f"{where}: calls/{home}.py has no function {function!r}") from error
