"""TLS: the server's certificate, and the authority of its clients.

Certificates that nobody gave are made by `certificates`.
"""

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple


class Certificate(NamedTuple):
    """PEM: a chain, its private key, and the authority that clients have to trust."""

    chain: bytes
    key: bytes
    authority: bytes


def read(certificate: Path, key: Path) -> Certificate:
    """A certificate from files, which is its own authority for a kubeconfig. Raises OSError."""
    chain = certificate.read_bytes()
    return Certificate(chain, key.read_bytes(), chain)


def context(certificate: Certificate, client_authority: Path | None = None) -> ssl.SSLContext:
    """A server's context. With an authority, clients may show certificates, which must be its.

    Raises ssl.SSLError or OSError for what cannot be read.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:  # mode 0700; ssl reads keys from files only
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        made.load_cert_chain(chain, key)
    if client_authority is not None:
        made.load_verify_locations(cafile=client_authority)
        made.verify_mode = ssl.CERT_OPTIONAL
        verify_as_go(made)
    return made


def verify_as_go(context: ssl.SSLContext) -> None:
    """Take for trusted whatever is among the authorities, as Go does: an intermediate, or the very
    certificate that is shown; and ask of none of them what only RFC 5280 asks."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
