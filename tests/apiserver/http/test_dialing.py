"""TLS contexts for outgoing connections."""

import ssl

from inkube.apiserver.http import dialing


def test_the_certificates_of_the_system_are_read_with_the_first_handshake():
    context = dialing.client_context("")
    assert context.cert_store_stats()["x509"] == 0
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="example.com")
    assert context.cert_store_stats() == ssl.create_default_context().cert_store_stats()
