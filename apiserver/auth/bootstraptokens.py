"""Bootstrap tokens: Secrets in kube-system whose users may join nodes to a cluster.

A token is `ID.SECRET`; its Secret is `bootstrap-token-ID`. Follows
plugin/pkg/auth/authenticator/token/bootstrap and cluster-bootstrap/token.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Callable

from inkube.apiserver.registry import User, keys
from inkube.schemas import golang
from inkube.schemas.objects import Object
from inkube.storage import BaseStore

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})", re.ASCII)
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", re.ASCII)
_TYPE = "bootstrap.kubernetes.io/token"
_BOOTSTRAPPERS = "system:bootstrappers"


class BootstrapTokens:
    """Finds the users of bootstrap tokens. `now` returns seconds since 1970."""

    def __init__(self, store: BaseStore, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now

    def user(self, token: str) -> User | None:
        """Return the user of a token, or None if it is no valid bootstrap token."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        identity, secret = match.groups()
        entry = self._store.get(keys.key("secrets", "kube-system", f"bootstrap-token-{identity}"))
        if entry is None or "deletionTimestamp" in entry.value["metadata"]:
            return None
        data = entry.value.get("data") or {}
        is_valid = (
            entry.value.get("type") == _TYPE
            and hmac.compare_digest(_text(data, "token-secret").encode(), secret.encode())
            and _text(data, "token-id") == identity
            and not self._is_expired(_text(data, "expiration"))
            and _text(data, "usage-bootstrap-authentication") == "true"
        )
        groups = _groups(_text(data, "auth-extra-groups"))
        if not is_valid or groups is None:
            return None
        return User(f"system:bootstrap:{identity}", groups=groups)

    def _is_expired(self, expiration: str) -> bool:
        """Return whether a token has expired. One whose time cannot be read has."""
        if not expiration:
            return False
        try:
            return golang.rfc3339.parse(expiration).timestamp() <= self._now()
        except golang.DecodeError:
            return True


def _text(data: Object, name: str) -> str:
    try:
        return base64.b64decode(data.get(name) or "").decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _groups(extra: str) -> tuple[str, ...] | None:
    """Return the groups of a token, or None if one of them is not allowed."""
    groups = {group for group in extra.split(",") if group}
    if not all(_GROUP.fullmatch(group) for group in groups):
        return None
    return tuple(sorted({_BOOTSTRAPPERS, *groups}))
