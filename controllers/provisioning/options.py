"""The options of provisioning for `inkube serve`. The intervals of rechecks are in the
environment."""

from typing import NamedTuple

GITHUB_API = "https://api.github.com"
BITBUCKET_API = "https://api.bitbucket.org/2.0"
TYPES = ("local", "github", "githubEnterprise", "git", "bitbucket", "gitlab")


class Options(NamedTuple):
    """The limits and timeouts of checks (times in seconds)."""

    offline: bool = False
    """Use only the scripted world; other hosts are not reachable."""
    allow_private_hosts: bool = False
    """Allow hosts that resolve to loopback or private addresses, and `file://` URLs of any path."""
    local_path_prefixes: tuple[str, ...] = ()
    """The directories that can contain local repositories and the repositories of `file://`
    URLs."""
    github_api_url: str = GITHUB_API
    """The REST API of GitHub, of an Enterprise server or of an emulator; not restricted by the
    guard."""
    bitbucket_api_url: str = BITBUCKET_API
    """The REST API of Bitbucket or of an emulator; not restricted by the guard."""
    timeout: float = 10.0
    """The maximum time of one request to an outside system."""
    enabled_types: tuple[str, ...] = TYPES
    minimum_sync_interval: int = 10
    """The minimum interval of syncs in seconds; shorter intervals are raised to it."""
    max_repositories: int = 10
    """The maximum number of repositories in a namespace; 0 means no limit."""
    max_resources_per_repository: int = 0
    """The maximum number of resources that a repository declares; 0 means no limit."""
    job_history: float = 600.0
    """The time in seconds for which finished jobs are kept."""
