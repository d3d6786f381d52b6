"""Warnings about allowed but dangerous options of a server: one line each, with a remedy.

`inkube serve` prints them. `security.check` refuses options that are never safe.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from inkube.apiserver.access import security
from inkube.apiserver.configuration import Options
from inkube.apiserver.http import is_loopback


def risks(options: Options) -> Iterator[str]:
    """Yield the warnings by importance. Refused options do not cause warnings."""
    try:
        security.check(options)
    except ValueError:
        return
    reachable = not is_loopback(options.host)
    has_tls = options.tls or options.tls_cert_file is not None
    if "*" in options.allow_origins and not security.has_credentials(options):
        yield (
            "--allow-origin '*' lets every web page you open write here without a password; "
            "name the origins of your own pages instead"
        )
    if reachable and not has_tls:
        yield f"tokens travel to {options.host} in the clear; add --tls"
    allows_all = "AlwaysAllow" in options.authorization_mode.split(",")
    if reachable and allows_all and options.authorization_config is None:
        yield (
            f"everybody with credentials may do everything on {options.host}; "
            "add --authorization-mode RBAC"
        )
    if reachable and options.value_of("allow_private_hosts"):
        yield (
            "--allow-private-hosts lets clients have any host of your network asked; "
            "leave it out where clients are not trusted"
        )
    secrets = options.token_auth_file, options.tls_private_key_file
    for path in (*secrets, options.service_account_signing_key_file):
        if path is not None and _is_readable_by_others(path):
            yield f"{path} may be read by others; run chmod 600 {path}"
    if any(
        Path(path).resolve() == Path("/") for path in options.value_of("local_path_prefixes") or ()
    ):
        yield "--local-path-prefix / lets clients see every directory; name the ones they need"


def _is_readable_by_others(path: Path) -> bool:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return False  # the code that reads the file reports the error
    return os.name != "nt" and bool(mode & 0o077)
