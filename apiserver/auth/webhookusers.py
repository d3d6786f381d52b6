"""Who the server is for admission webhooks: the users of a kubeconfig, by the address of a webhook.

The file is named in the configuration of the two plugins. Follows apiserver/pkg/util/webhook,
authentication.go.
"""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from inkube.apiserver import http
from inkube.apiserver.auth import frontproxy, webhookcalls
from inkube.schemas import caches
from inkube.schemas.objects import Object

_DEFAULT_PORT = 443
_UNSUPPORTED = ("exec", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra")


class Credentials(NamedTuple):
    """What a request to a webhook carries: headers, and a client certificate with its key as
    PEM."""

    headers: Mapping[str, str] = {}
    certificate: bytes = b""

    def context(self, bundle: str) -> ssl.SSLContext:
        """Return a cached TLS context that trusts a base64 bundle of PEM certificates, and shows
        the certificate. Raises ssl.SSLError or ValueError for an invalid bundle."""
        if not self.certificate:
            return http.dialing.context(bundle)
        return _identified(bundle, self.certificate)


@caches.of_values(64)
def _identified(bundle: str, certificate: bytes) -> ssl.SSLContext:
    context = http.dialing.client_context(bundle)
    frontproxy.Identity(b"", certificate).configure(context)
    return context


class Users:
    """The users of a kubeconfig. A user is named after the `HOST:PORT` of a webhook, its `HOST`, a
    part of it (`*.example.com`), or `*`."""

    def __init__(self, users: Mapping[str, Credentials], otherwise: Credentials) -> None:
        """`otherwise` are the credentials for a webhook without a user of its own."""
        self._users = users
        self._otherwise = otherwise

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a kubeconfig. Raises ValueError, OSError."""
        config = webhookcalls.load(path)
        users = {user["name"]: _credentials(path, user) for user in config.get("users") or ()}
        current = config.get("current-context") or ""
        contexts = {
            each["name"]: each.get("context") or {} for each in config.get("contexts") or ()
        }
        default = users.get(contexts.get(current, {}).get("user") or "", Credentials())
        return cls(users, default)

    def find(self, host: str, port: int) -> Credentials:
        """Return the credentials for a webhook."""
        return next(
            (self._users[name] for name in _names(host, port) if name in self._users),
            self._otherwise,
        )


def _names(host: str, port: int) -> Iterator[str]:
    """Return the names of users for an address, the most specific one first."""
    place = f"[{host}]" if ":" in host else host
    yield from _patterns(f"{place}:{port}")
    if port == _DEFAULT_PORT:
        yield from _patterns(host)
    yield "*"


def _patterns(target: str) -> Iterator[str]:
    yield target
    steps = target.split(".")
    for first in range(1, len(steps)):
        yield f"*.{'.'.join(steps[first:])}"


def _credentials(path: Path, named: Object) -> Credentials:
    user: Object = named.get("user") or {}
    for member in _UNSUPPORTED:
        if user.get(member):
            raise ValueError(f'{path}: user "{named["name"]}": {member} is not supported')
    certificate = webhookcalls.certificate_of(path, user)
    return Credentials(webhookcalls.headers_of(path, user), certificate)
