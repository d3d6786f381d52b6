"""The file of `--authentication-config`: which paths anonymous requests may use.

JWT issuers are not supported: their tokens are refused, and the log says so. Follows
apiserver/pkg/apis/apiserver AuthenticationConfiguration.
"""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from inkube.schemas import golang

logger = logging.getLogger(__name__)
_GROUP = "apiserver.config.k8s.io"
_KIND = "AuthenticationConfiguration"


class Anonymous(NamedTuple):
    """Whether requests without credentials are anonymous, and on which paths; None for all."""

    enabled: bool = True
    paths: Collection[str] | None = None


def read(path: Path) -> Anonymous:
    """Read a file. Raises ValueError for a file that is no such configuration."""
    failure = f'failed to load authentication configuration from file "{path}"'
    try:
        document = golang.goyaml.loads(path.read_bytes()).value
    except OSError as error:
        raise ValueError(f"{failure}: {golang.gotext.open_error(path, error)}") from error
    except golang.unmarshal.DecodeError as error:
        raise ValueError(f"{failure}: {error}") from error
    members = document if isinstance(document, dict) else {}
    group = str(members.get("apiVersion", "")).partition("/")[0]
    if (group, members.get("kind")) != (_GROUP, _KIND):
        raise ValueError(f"{failure}: expected {_KIND} of {_GROUP}")
    if members.get("jwt"):
        logger.warning("JWT issuers of %s are not supported: their tokens are refused", path)
    anonymous = members.get("anonymous")
    if anonymous is None:
        return Anonymous()
    conditions = anonymous.get("conditions")
    paths = None if conditions is None else frozenset(each.get("path", "") for each in conditions)
    return Anonymous(bool(anonymous.get("enabled")), paths or None)
