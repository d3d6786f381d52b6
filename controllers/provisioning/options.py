"""The options of provisioning. The intervals of rechecks are in the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from inkube.kinds import option

GITHUB_API = "https://api.github.com"
BITBUCKET_API = "https://api.bitbucket.org/2.0"
TYPES = ("local", "github", "githubEnterprise", "git", "bitbucket", "gitlab")
GROUP = "Modules and outside systems"
"""The heading in the help of the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideOptions:
    """The limits of requests to outside systems."""

    offline: bool = option(False, "Use scripted outside systems only.", group=GROUP)
    allow_private_hosts: bool = option(
        False,
        "Live checks can use private addresses. Hosts can then resolve to loopback or private "
        "addresses, and `file://` URLs can have any path.",
        group=GROUP,
    )
    local_path_prefixes: Sequence[Path] = option(
        (),
        "Allow local paths in this folder. It is for local repositories and `file://` URLs.",
        group=GROUP,
        flag="--local-path-prefix",
    )
    outside_timeout: float = option(
        10.0, "Timeout of one request to an outside system, in seconds.", above=0
    )
    github_api_url: str = option(
        GITHUB_API, "The URL of GitHub's API, of an Enterprise server or of an emulator."
    )
    bitbucket_api_url: str = option(BITBUCKET_API, "The URL of Bitbucket's API, or of an emulator.")

    @property
    def local_folders(self) -> tuple[str, ...]:
        """The folders in `local_path_prefixes`, as text."""
        return tuple(map(str, self.local_path_prefixes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutsideOptions):
    """The limits and timeouts of checks (times in seconds)."""

    max_repositories: int = option(
        10, "Limit of Repositories per namespace; 0: no limit.", least=0, group=GROUP
    )
    max_resources_per_repository: int = option(
        0, "Limit of resources in the files of a Repository; 0: no limit.", least=0, group=GROUP
    )
    min_sync_interval: int = option(
        10,
        "Shortest sync interval, in seconds; shorter ones are raised to it.",
        least=0,
        group=GROUP,
    )
    job_history: float = option(600.0, "Seconds to keep finished jobs.", least=0, group=GROUP)
    enabled_types: tuple[str, ...] = TYPES


def outside_options(settings: Mapping[str, Any]) -> OutsideOptions:
    """Return the options of outside systems among the settings of a module."""
    names = {each.name for each in fields(OutsideOptions)}
    return OutsideOptions(**{name: value for name, value in settings.items() if name in names})
