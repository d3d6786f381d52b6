"""TLS: the server's certificate, and the authority of its clients.

`certificates` creates the certificates that are not given as files.
"""

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from inkube.apiserver import http

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""The suites of TLS 1.2: those of Go's crypto/tls defaults, which kube-apiserver uses, without its
CBC suites with SHA-1. The suites of TLS 1.3 are always on."""


_VERSIONS = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


class Authority(NamedTuple):
    """A certificate authority: its certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes


class Certificate(NamedTuple):
    """A certificate chain, its private key, and the authority that clients must trust, as PEM."""

    chain: bytes
    key: bytes
    authority: bytes
    clients: Authority | None = None
    """The server's own authority for client certificates, in addition to one in the options. None
    if clients do not use certificates."""


def read(certificate: Path, key: Path) -> Certificate:
    """Return a certificate from files. For a kubeconfig, it is its own authority.

    Raises OSError, and ValueError that names the invalid file.
    """
    loaded = Certificate(certificate.read_bytes(), key.read_bytes(), certificate.read_bytes())
    try:
        context(loaded)
    except ssl.SSLError as error:
        raise ValueError(_problem(certificate, key, loaded, error)) from error
    return loaded


class Context(ssl.SSLContext):
    """A server's TLS context, with the authorities by which it was made, in PEM."""

    clients = ""
    proxies = ""
    """The authorities of front proxies."""


def read_authority(path: Path) -> str:
    """Return the certificates of an authority in a file. Raises OSError, and ValueError for a file
    without certificates."""
    try:
        authority = path.read_text(encoding="ascii")
        trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), authority)
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(f"{path} contains no certificate in PEM") from error
    return authority


def context(
    certificate: Certificate, clients: str = "", proxies: str = "", oldest: str = ""
) -> Context:
    """Return a server's TLS context. With authorities of clients or front proxies, in PEM, clients
    can present certificates, which one of them must have signed. `oldest` is the oldest version of
    TLS, as Kubernetes names it. Raises ssl.SSLError for an invalid certificate or authority.
    """
    ssl_context = Context(ssl.PROTOCOL_TLS_SERVER)
    ssl_context.clients, ssl_context.proxies = clients, proxies
    ssl_context.minimum_version = _VERSIONS[oldest]
    ssl_context.set_ciphers(CIPHERS)
    with tempfile.TemporaryDirectory() as folder:  # mode 0700; ssl reads keys from files only
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        # otherwise, OpenSSL would prompt for the password of an encrypted key
        ssl_context.load_cert_chain(chain, key, password=b"")
    for authority in filter(None, (clients, proxies)):
        trust(ssl_context, authority)
    if certificate.clients is not None:
        trust(ssl_context, certificate.clients.certificate.decode())
    return ssl_context


def trust(context: ssl.SSLContext, authority: str) -> None:
    """Ask the clients of new connections for certificates, and accept those of an authority, in
    PEM. Until a context trusts one, no client is asked: browsers would ask their users.

    Raises ssl.SSLError or ValueError.
    """
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    http.dialing.verify_as_go(context)


def _problem(certificate: Path, key: Path, loaded: Certificate, error: ssl.SSLError) -> str:
    """Return which of the two files is invalid, because OpenSSL does not report it."""
    if b"-----BEGIN CERTIFICATE-----" not in loaded.chain:
        return f"{certificate} contains no certificate in PEM"
    if b"PRIVATE KEY-----" not in loaded.key:
        return f"{key} holds no private key in PEM"
    if b"ENCRYPTED" in loaded.key:
        return f"{key} is encrypted; openssl pkey -in {key} -out plain.pem writes it without"
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{key} is not the private key of {certificate}"
    return f"{certificate} or {key} is damaged: {error.reason or error}"
