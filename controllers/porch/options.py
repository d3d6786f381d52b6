"""Options of Porch, as `inkube serve` takes them."""

from typing import NamedTuple

ERRORS = ("document", "upstream")
FUNCTIONS = ("builtin", "skip")


class Options(NamedTuple):
    """How refusals are coded, what rendering may leave out, how often git is read (seconds)."""

    errors: str = ERRORS[0]
    """`document`: the codes of the engine's documents; `upstream`: those of the real server."""
    functions: str = FUNCTIONS[0]
    """`builtin`: an unknown function fails; `skip`: it is passed by."""
    enforce_readiness: bool = False
    """Whether publishing waits for the readiness gates."""
    sync_interval: float = 0.0
    """Seconds between two full syncs of a healthy repository; 0 means as healthy objects are."""
    allow_private_hosts: bool = False
    local_path_prefixes: tuple[str, ...] = ()
