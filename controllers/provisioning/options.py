"""Options of provisioning, as `inkube serve` takes them. Rechecks are the environment's."""

from typing import NamedTuple

GITHUB_API = "https://api.github.com"
BITBUCKET_API = "https://api.bitbucket.org/2.0"
TYPES = ("local", "github", "githubEnterprise", "git", "bitbucket", "gitlab")


class Options(NamedTuple):
    """How far the checks may reach and how patient they are (times in seconds)."""

    offline: bool = False
    """Only the scripted world answers; any other host is not reachable."""
    allow_private_hosts: bool = False
    """Hosts that resolve to loopback or private addresses may be asked, and `file://` URLs."""
    local_path_prefixes: tuple[str, ...] = ()
    """Directories below which local repositories and `file://` URLs may lie."""
    github_api_url: str = GITHUB_API
    """The REST API of GitHub, an Enterprise server or an emulator; trusted as given."""
    bitbucket_api_url: str = BITBUCKET_API
    """The REST API of Bitbucket or an emulator; trusted as given."""
    timeout: float = 10.0
    """At most so long one question to an outside system may take."""
    enabled_types: tuple[str, ...] = TYPES
    minimum_sync_interval: int = 10
    """Seconds; shorter intervals are raised to it."""
    max_repositories: int = 10
    """So many repositories a namespace may have; 0 means no limit."""
    max_resources_per_repository: int = 0
    """So many resources a repository may declare; 0 means no limit."""
    job_history: float = 600.0
    """Seconds that finished jobs are kept."""
