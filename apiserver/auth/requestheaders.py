"""Users that an authenticating proxy names in headers. Loaded only with its authority.

The proxy shows a client certificate of its own authority. Its certificates name no users, and
certificates of other authorities allow no such headers. Follows
apiserver/pkg/authentication/request/headerrequest.
"""

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID
from multidict import CIMultiDictProxy

from inkube.apiserver.auth import impersonation, tls
from inkube.apiserver.auth.frontproxy import Names
from inkube.apiserver.registry import User

_MAX_CERTIFICATES = 256  # whose kinds are remembered


class _Kind(NamedTuple):
    """What the certificate of a client can be used for; it can be both."""

    is_proxy: bool
    is_client: bool
    common_name: str


class FrontProxy:
    """Reads the user in the headers of a trusted proxy. The authorities of proxies and of other
    clients are those with which the connection has begun."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._kinds = weakref.WeakKeyDictionary[tls.Context, dict[bytes, _Kind]]()

    def user(self, request: web.BaseRequest) -> User | None:
        """Return the user in the headers; None if no trusted proxy has sent them."""
        name = _first(request.headers, self._names.users)
        kind = self._kind(request) if name else None
        if kind is None or not kind.is_proxy:
            return None
        if self._names.allowed and kind.common_name not in self._names.allowed:
            return None
        return self._read(name, request.headers)

    def is_client(self, request: web.BaseRequest) -> bool:
        """Return whether the certificate of a request is that of a user."""
        kind = self._kind(request)
        return kind is not None and kind.is_client

    def _kind(self, request: web.BaseRequest) -> "_Kind | None":
        connection = request.get_extra_info("ssl_object")
        raw = None if connection is None else connection.getpeercert(binary_form=True)
        if raw is None:
            return None
        kinds = self._kinds.setdefault(connection.context, {})
        if raw not in kinds:
            if len(kinds) >= _MAX_CERTIFICATES:
                kinds.clear()
            kinds[raw] = _kind_of(raw, connection.context)
        return kinds[raw]

    def _read(self, name: str, headers: CIMultiDictProxy[str]) -> User:
        groups = tuple(
            value for header in self._names.groups for value in headers.getall(header, ())
        )
        extras = impersonation.extra_values(headers, self._names.extras)
        return User(name, _first(headers, self._names.uids), groups, extras)


def _kind_of(raw: bytes, context: tls.Context) -> _Kind:
    certificate = x509.load_der_x509_certificate(raw)
    proxies, clients = _certificates(context.proxies), _certificates(context.clients)
    # TLS has found one of these authorities above the certificate
    trusted = map(x509.load_der_x509_certificate, context.get_ca_certs(binary_form=True))
    clients += [each for each in trusted if each not in proxies]
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return _Kind(
        _is_signed(certificate, proxies),
        _is_signed(certificate, clients),
        str(names[-1].value) if names else "",
    )


def _certificates(pem: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem.encode()) if pem else []


def _first(headers: CIMultiDictProxy[str], names: Sequence[str]) -> str:
    return next(filter(None, (headers.get(name, "") for name in names)), "")


def _is_signed(certificate: x509.Certificate, authorities: Sequence[x509.Certificate]) -> bool:
    """Return whether one of the authorities has signed a certificate directly."""
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False
