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
_PLAIN = "!#$&'*+-.^_`|~"  # permitted in a header's name, in addition to letters and digits


class Identity(NamedTuple):
    """The authority that other servers must trust, and the client certificate with its key, as
    PEM."""

    authority: bytes
    shown: bytes

    def show(self, context: ssl.SSLContext) -> None:
        """Let connections with that context use the certificate."""
        with tempfile.TemporaryDirectory() as folder:  # mode 0700; ssl reads keys from files only
            path = Path(folder, "client.pem")
            path.write_bytes(self.shown)
            context.load_cert_chain(path)


def new() -> bytes:
    """Return a new authority, certificate and key, in their stored form."""
    made = certificates.make_client(NAME, _AUTHORITY, _VALID)
    return made.authority + made.chain + made.key


def load(keys: Keys) -> Identity:
    """The stored identity, or a new one, which is then stored."""
    kept = keys.load(KEY, new)
    first = _CERTIFICATE.match(kept)
    assert first is not None, "made by `new`"
    return Identity(first[0], kept[first.end() :])


def trust(identity: Identity) -> dict[str, str]:
    """Return the data of the ConfigMap."""
    return {
        "requestheader-allowed-names": json.dumps([NAME]),
        "requestheader-client-ca-file": identity.authority.decode(),
        "requestheader-extra-headers-prefix": json.dumps([_EXTRA]),
        "requestheader-group-headers": json.dumps([_GROUP]),
        "requestheader-uid-headers": json.dumps([_UID]),
        "requestheader-username-headers": json.dumps([_USER]),
    }


def is_own(header: str) -> bool:
    """Whether a header describes a user. Such headers from clients must not be forwarded."""
    lower = header.lower()
    own = (_USER.lower(), _UID.lower(), _GROUP.lower(), "authorization")
    return lower in own or lower.startswith((_EXTRA.lower(), "impersonate-"))


def headers(user: User) -> CIMultiDict[str]:
    """Return the headers that describe a user."""
    found = CIMultiDict({_USER: user.name})
    if user.uid:
        found[_UID] = user.uid
    for group in user.groups:
        found.add(_GROUP, group)
    extra: Mapping[str, tuple[str, ...]] = dict(user.extra)
    for key, values in extra.items():
        for value in values:
            found.add(_EXTRA + quote(key, safe=_PLAIN), value)
    return found


def read(found: CIMultiDictProxy[str]) -> User:
    """Return the user in such headers. Only for requests from a trusted sender."""
    extra: dict[str, list[str]] = {}
    for name, value in found.items():
        if name.lower().startswith(_EXTRA.lower()):
            extra.setdefault(unquote(name[len(_EXTRA) :]), []).append(value)
    return User(
        found.get(_USER, ""),
        found.get(_UID, ""),
        tuple(found.getall(_GROUP, ())),
        tuple((key, tuple(values)) for key, values in extra.items()),
    )
