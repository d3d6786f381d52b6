"""The options of Porch for `inkube serve`."""

from typing import NamedTuple

ERRORS = ("document", "upstream")
FUNCTIONS = ("builtin", "skip")


class Options(NamedTuple):
    """The error codes, the handling of unknown functions, and the interval of syncs (seconds)."""

    errors: str = ERRORS[0]
    """`document`: the codes in the documentation of the engine; `upstream`: the codes of the real
    server."""
    functions: str = FUNCTIONS[0]
    """`builtin`: an unknown function is an error; `skip`: it is skipped."""
    enforce_readiness: bool = False
    """Whether publishing requires the readiness gates to be met."""
    sync_interval: float = 0.0
    """Seconds between two full syncs of a healthy repository; 0 uses the recheck interval of
    healthy objects."""
    allow_private_hosts: bool = False
    local_path_prefixes: tuple[str, ...] = ()
