"""The certificate and headers by which inkube forwards the identity of a user to aggregated API
servers.

The certificate authority is created once and stored next to the data. The ConfigMap
kube-system/extension-apiserver-authentication publishes it for the servers that must trust it.
Follows client-go/transport/round_trippers.go (SetAuthProxyHeaders) and
pkg/controlplane/controller/clusterauthenticationtrust.
"""

import json
import re
import ssl
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

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
    """The stored identity, or a new one, which is then stored."""
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


def config_map_data(identity: Identity) -> dict[str, str]:
    """Return the data of the ConfigMap."""
    return {
        "requestheader-allowed-names": json.dumps([NAME]),
        "requestheader-client-ca-file": identity.authority.decode(),
        "requestheader-extra-headers-prefix": json.dumps([_EXTRA]),
        "requestheader-group-headers": json.dumps([_GROUP]),
        "requestheader-uid-headers": json.dumps([_UID]),
        "requestheader-username-headers": json.dumps([_USER]),
    }


def is_identity_header(header: str) -> bool:
    """Whether a header describes a user. Such headers from clients must not be forwarded."""
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
