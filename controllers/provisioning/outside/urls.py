"""Syntax rules for URLs, branches and paths: pure functions that return the problem, or ""."""

import os
import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

LONGEST_PATH = 1024
_END = re.compile(r"[/\s]+\Z")
_PATH = re.compile(r"[A-Za-z0-9 /_.\-]*")
_BRANCH = re.compile(r"[A-Za-z0-9\-_/.]+")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9\-.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")


def normalised(url: str) -> str:
    """Return the URL without surrounding spaces, trailing slashes and a trailing `.git`."""
    return _END.sub("", _END.sub("", url.strip()).removesuffix(".git"))


def without_credentials(url: str) -> str:
    """Return the URL without user and password, for messages."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def host_of(url: str) -> str:
    """Return the host name, in lower case and without a port; "" if the URL has no host."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def path_of(url: str) -> str:
    """Return the path without slashes at its ends: `grafana/grafana`."""
    return urlsplit(url).path.strip("/")


def owner_and_name(url: str) -> tuple[str, str]:
    """Return the owner and repository of a GitHub URL. Raises ValueError if the path does not have
    two segments."""
    owner, name = path_of(url).split("/")
    return owner, name


NO_PATH = "must name a repository after the host, such as https://host/owner/repository"


def wrong_with_url(url: str) -> str:
    """Return the reason why a text is not the URL of a repository; "" if it is valid."""
    parts, why = _split(url)
    if parts is None:
        return why
    if parts.query or parts.fragment:
        return "must not have a query or a fragment"
    path = parts.path.strip("/").removesuffix(".git")
    if not path:
        return NO_PATH
    return ""


def wrong_with_http_url(url: str) -> str:
    """Return the reason why a text is not an http(s) URL; "" if it is valid."""
    return _split(url)[1]


def wrong_with_branch(branch: str) -> str:
    """Return the reason why a text is not a branch name; "" if it is valid or empty (the default
    branch)."""
    if not branch:
        return ""
    if not _BRANCH.fullmatch(branch):
        return "may hold letters, digits and - _ / . only"
    if branch.startswith("/") or branch.endswith(("/", ".", ".lock")):
        return "must not begin with / nor end with /, . or .lock"
    if ".." in branch or "//" in branch:
        return "must not hold .. or //"
    return ""


def wrong_with_path(path: str) -> str:
    """Return the reason why a text is not a path inside a repository, with Grafana's text; "" if it
    is valid."""
    if len(path) > LONGEST_PATH:
        return "path too long"
    if "%" in path:
        return "path contains percent character which could be used for URL encoding attacks"
    if not _PATH.fullmatch(path):
        return "path contains invalid characters"
    if path.startswith("/"):
        return "path must be relative"
    if "//" in path:
        return "path contains double slashes"
    segments = path.split("/")
    if "." in segments or ".." in segments:
        return "path contains traversal attempt (./ or ../)"
    if any(segment.startswith(".") for segment in segments):
        return "path contains hidden file or directory (starting with dot)"
    return ""


def wrong_with_local_path(path: str, prefixes: tuple[str, ...]) -> str:
    """Return the reason why a path is not a permitted directory of the server; "" if it is
    permitted."""
    if not path.startswith("/"):
        return "must be an absolute path"
    if why := _wrong_with_segments(path):
        return why
    if not any(
        overlaps(prefix, path) and len(path) >= len(prefix.rstrip("/")) for prefix in prefixes
    ):
        permitted = ", ".join(prefixes)
        return f"must lie below one of: {permitted}" if permitted else NO_PREFIX
    real = os.path.realpath(path)
    if not any(_lies_below(os.path.realpath(prefix), real) for prefix in prefixes):
        return "leads out of the permitted directories by a symbolic link"
    return ""


def wrong_with_file_url(url: str, prefixes: tuple[str, ...], *, anywhere: bool) -> str:
    """Return the reason why a `file://` URL is not a permitted repository of this machine; "" if it
    is permitted.

    With `anywhere`, the server permits its users every directory.
    """
    path = url.removeprefix("file://")
    if not anywhere:
        return wrong_with_local_path(path, prefixes)
    return "" if path.startswith("/") else NO_PATH


def _lies_below(parent: str, path: str) -> bool:
    return os.path.commonpath([parent, path]) == parent


NO_PATH = "must name an absolute path, as in file:///srv/git/repository"
NO_PREFIX = "no local directory is permitted; the server's option --local-path-prefix permits one"


def overlaps(path: str, other: str) -> bool:
    """Return whether the paths are equal or one contains the other. The empty path contains all
    paths."""
    first = [part for part in path.split("/") if part]
    second = [part for part in other.split("/") if part]
    shared = min(len(first), len(second))
    return first[:shared] == second[:shared]


def _split(url: str) -> tuple[SplitResult | None, str]:
    if re.search(r"[\s\x00-\x1f\x7f\\]", url):
        return None, "must not hold spaces, control characters or backslashes"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None, "must be a URL such as https://host/owner/repository"
    if parts.scheme not in ("http", "https"):
        return None, "must begin with https:// or http://"
    if "@" in parts.netloc:
        return None, "must not hold a user or password; put the token into secure.token"
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc.rstrip(":")
    if not _HOST.fullmatch(host):
        return None, "must name a host, such as https://host/owner/repository"
    return parts, ""


def _wrong_with_segments(path: str) -> str:
    if len(path) > LONGEST_PATH:
        return f"may not be longer than {LONGEST_PATH} characters"
    if "//" in path:
        return "must not hold //"
    if "%" in path:
        return "must not hold %"
    segments = path.split("/")
    if ".." in segments:
        return "must not hold .."
    if any(segment.startswith(".") for segment in segments):
        return "must not hold hidden segments, which begin with a dot"
    if re.search(r"[\x00-\x1f\x7f\\]", path):
        return "must not hold control characters or backslashes"
    return ""
