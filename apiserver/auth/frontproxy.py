"""The certificate and headers by which inkube forwards the identity of a user to aggregated API
servers.

The certificate authority is created once and stored next to the data. The ConfigMap
kube-system/extension-apiserver-authentication publishes it for the servers that must trust it.
Follows client-go/transport/round_trippers.go (SetAuthProxyHeaders) and
pkg/controlplane/controller/clusterauthenticationtrust.
"""

import contextlib
import json
import re
import ssl
import tempfile
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from multidict import CIMultiDict, CIMultiDictProxy

from inkube.apiserver.auth import certificates
from inkube.apiserver.auth.keyfiles import Keys
from inkube.apiserver.registry import User

KEY = "front-proxy.pem"
NAME = "front-proxy-client"
_AUTHORITY = "inkube-front-proxy-ca"
_VALID = timedelta(days=3650)
_USER, _UID, _GROUP, _EXTRA = "X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL)
_UNESCAPED = "!#$&'*+-.^_`|~"  # permitted in a header's name, in addition to letters and digits


class Names(NamedTuple):
    """The headers of front proxies that describe a user, and the common names of their
    certificates; any name if empty."""

    allowed: Collection[str] = ()
    users: Sequence[str] = ()
    uids: Sequence[str] = ()
    groups: Sequence[str] = ()
    extras: Sequence[str] = ()
    """Prefixes of headers."""


class Identity(NamedTuple):
    """The authority that other servers must trust, and the client certificate with its key, as
    PEM."""

    authority: bytes
    client: bytes

    def configure(self, context: ssl.SSLContext) -> None:
        """Let connections with that context use the certificate."""
        with tempfile.TemporaryDirectory() as folder:  # mode 0700; ssl reads keys from files only
            path = Path(folder, "client.pem")
            path.write_bytes(self.client)
            context.load_cert_chain(path)


def new() -> bytes:
    """Return a new authority, certificate and key, in their stored form."""
    certificate = certificates.make_client(NAME, _AUTHORITY, _VALID)
    return certificate.authority + certificate.chain + certificate.key


def load(keys: Keys) -> Identity:
    """Return the stored identity, or a new one, which is then stored."""
    return parse(keys.load(KEY, new))


def parse(pem: bytes) -> Identity:
    """Read the stored form of an identity. Raises ValueError or ssl.SSLError if it is damaged."""
    first = _CERTIFICATE.match(pem)
    if first is None:
        raise ValueError("it does not begin with a certificate in PEM")
    identity = Identity(first[0], pem[first.end() :])
    context = ssl.create_default_context(cadata=identity.authority.decode("ascii"))
    identity.configure(context)
    return identity


def config_map_data(
    identity: Identity, authority: str = "", trusted: Names | None = None
) -> dict[str, str]:
    """Return the data of the ConfigMap: this server's own identity, and the authority and the
    headers of the front proxies that it trusts."""
    trusted = trusted or Names(allowed=(NAME,))

    def both(own: str, others: Collection[str]) -> str:
        return json.dumps(list(dict.fromkeys((*others, own))))

    return {
        # without names, every proxy of the authorities is trusted
        "requestheader-allowed-names": both(NAME, trusted.allowed) if trusted.allowed else "[]",
        "requestheader-client-ca-file": authority + identity.authority.decode(),
        "requestheader-extra-headers-prefix": both(_EXTRA, trusted.extras),
        "requestheader-group-headers": both(_GROUP, trusted.groups),
        "requestheader-uid-headers": both(_UID, trusted.uids),
        "requestheader-username-headers": both(_USER, trusted.users),
    }


def combined(published: Mapping[str, str], data: Mapping[str, str]) -> dict[str, str]:
    """Return data of the ConfigMap with what it contains already, because other servers can use
    other authorities and names, and clients those of before. Expired certificates are left out."""
    result = dict(data)
    for key, value in data.items():
        union = _valid_certificates if key.endswith("-file") else _names
        with contextlib.suppress(ValueError):  # what is published is damaged: replace it
            result[key] = union(published[key], value) if key in published else value
    return result


def _names(*lists: str) -> str:
    return json.dumps(list(dict.fromkeys(name for each in lists for name in json.loads(each))))


def _valid_certificates(*bundles: str) -> str:
    """Return the different certificates that are not expired."""
    now = datetime.now(UTC)
    every = [one for each in bundles for one in x509.load_pem_x509_certificates(each.encode())]
    valid = dict.fromkeys(each for each in every if each.not_valid_after_utc > now)
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in valid).decode()


def is_identity_header(header: str) -> bool:
    """Return whether a header describes a user. Such headers from clients must not be forwarded."""
    lower = header.lower()
    names = (_USER.lower(), _UID.lower(), _GROUP.lower(), "authorization")
    return lower in names or lower.startswith((_EXTRA.lower(), "impersonate-"))


def headers(user: User) -> CIMultiDict[str]:
    """Return the headers that describe a user."""
    result = CIMultiDict({_USER: user.name})
    if user.uid:
        result[_UID] = user.uid
    for group in user.groups:
        result.add(_GROUP, group)
    extra: Mapping[str, tuple[str, ...]] = dict(user.extra)
    for key, values in extra.items():
        for value in values:
            result.add(_EXTRA + quote(key, safe=_UNESCAPED), value)
    return result


def read(request_headers: CIMultiDictProxy[str]) -> User:
    """Return the user in such headers. Only for requests from a trusted sender."""
    extra: dict[str, list[str]] = {}
    for name, value in request_headers.items():
        if name.lower().startswith(_EXTRA.lower()):
            extra.setdefault(unquote(name[len(_EXTRA) :]), []).append(value)
    return User(
        request_headers.get(_USER, ""),
        request_headers.get(_UID, ""),
        tuple(request_headers.getall(_GROUP, ())),
        tuple((key, tuple(values)) for key, values in extra.items()),
    )
