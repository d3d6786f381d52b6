"""Checks of stored keys, which load PyJWT and `cryptography`: a start without keys needs none."""

from collections.abc import Callable, Mapping

from inkube.apiserver.auth import frontproxy
from inkube.apiserver.auth.ciphers import Fernet
from inkube.apiserver.auth.keyfiles import StoredKey
from inkube.apiserver.auth.signatures import pemkeys

_CHECKS: Mapping[str, Callable[[bytes], object]] = {
    "tokens.key": pemkeys.private_key,
    "key": Fernet,
    "front-proxy.pem": frontproxy.parse,
}
"""Functions that raise an exception for a damaged key, by the names in `keyfiles.CHECKED`."""


def check(stored: StoredKey) -> None:
    """Raise ValueError for a damaged key, with its location and what to do."""
    try:
        _CHECKS[stored.name](stored.key)
    except Exception as error:  # those of several libraries
        raise ValueError(
            f"{stored.location} is empty or damaged: {str(error) or type(error).__name__}. Restore "
            "it from a backup. If there is none, remove it: a new key is created, and what was "
            "signed or encrypted with the old one is invalid"
        ) from error
