"""Files of bearer tokens, as kube-apiserver's --token-auth-file. Loaded only with that option.

Follows apiserver/pkg/authentication/token/tokenfile.
"""

import csv
from pathlib import Path

from inkube.apiserver.auth.authenticators import with_authenticated
from inkube.apiserver.registry import User


def read_tokens(path: Path) -> dict[str, User]:
    """Return users by token from kube-apiserver's CSV: token, user name, uid and optional groups,
    to which the group of all authenticated users is added.

    Raises ValueError for a file that is no CSV, for a line with fewer columns, and for a file
    without a token, because no client could authenticate.
    """
    users = {}
    for row in _rows(path):
        if len(row) < 3:
            raise ValueError(
                f"token file '{path}' must have at least 3 columns "
                f"(token, user name, user uid), found {len(row)}"
            )
        token, name, uid, *groups = row
        if token.strip():
            names = groups[0].split(",") if groups else ()
            # all groups now, so that all requests with the token have the same object
            users[token.strip()] = with_authenticated(User(name, uid, tuple(names)))
    if not users:
        raise ValueError(
            f"token file '{path}' has no token: write one line per user, TOKEN,USER,UID,GROUPS"
        )
    return users


def _rows(path: Path) -> list[list[str]]:
    """Return the rows of a file that are not empty. Raises ValueError."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [row for row in csv.reader(file, skipinitialspace=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"token file '{path}' is not a CSV file in UTF-8: {error}") from error
