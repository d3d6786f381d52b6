"""The options of Porch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inkube.kinds import option

GROUP = "Modules and outside systems"
"""The heading in the help of the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The error codes, the handling of unknown functions, and the interval of syncs."""

    porch_errors: str = option(
        "document",
        "Status codes of Porch: by its documents, or by the real server (`upstream`).",
        choices=("document", "upstream"),
        group=GROUP,
    )
    porch_functions: str = option(
        "builtin",
        "Functions that are not built in are errors, or are skipped (`skip`).",
        choices=("builtin", "skip"),
        group=GROUP,
    )
    porch_enforce_readiness: bool = option(
        False, "Publish a package revision only if all its readiness gates are True.", group=GROUP
    )
    porch_sync_interval: float = option(
        0.0,
        "Seconds between full syncs of a repository of packages; 0 means --recheck-healthy.",
        least=0,
        group=GROUP,
    )
    allow_private_hosts: bool = False
    local_path_prefixes: Sequence[Path] = ()

    @property
    def local_folders(self) -> tuple[str, ...]:
        """The folders in `local_path_prefixes`, as text."""
        return tuple(map(str, self.local_path_prefixes))
