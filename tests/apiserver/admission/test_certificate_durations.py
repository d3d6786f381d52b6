"""Certificates that were issued for a requested duration are counted, once each."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from inkube import APIServer

REQUESTS = "certificates.k8s.io/v1/certificatesigningrequests"
PREFIX = "apiserver_certificates_registry_csr"
KEY = ec.generate_private_key(ec.SECP256R1())
HOUR = 3600
ASKED = [
    # signer, requested seconds, seconds of the certificate
    ("kubernetes.io/kube-apiserver-client", HOUR, HOUR),
    ("kubernetes.io/kube-apiserver-client", HOUR, HOUR + 479),
    ("kubernetes.io/kube-apiserver-client", HOUR, HOUR + 481),
    ("kubernetes.io/kube-apiserver-client", None, HOUR),
    ("example.com/own", HOUR, HOUR - 479),
    ("example.com/own", HOUR, 24 * HOUR),
]


def encoded(made: Any) -> str:
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def certificate(seconds: int) -> str:
    name, now = x509.Name([]), datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(
        name, name, KEY.public_key(), 1, now, now + timedelta(seconds=seconds)
    )
    return encoded(builder.sign(KEY, hashes.SHA256()))


def request(name: str, signer: str, seconds: int | None) -> dict[str, Any]:
    pem = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(KEY, hashes.SHA256())
    spec = {
        "request": encoded(pem), "signerName": signer, "usages": ["client auth"],
        **({} if seconds is None else {"expirationSeconds": seconds}),
    }  # fmt: skip
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": spec,
    }


async def test_issued_certificates_with_a_requested_duration_are_counted_once():
    async with APIServer(controllers=False, modules="none") as server:
        for number, (signer, asked, issued) in enumerate(ASKED):
            made = await server.client.create(request(f"r{number}", signer, asked))
            made["status"] = {"certificate": certificate(issued)}
            await server.client.update(made, subresource="status", dry_run=True)
            stale = {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}}
            with pytest.raises(Exception, match="has been modified"):
                await server.client.update(stale, subresource="status")
            stored = await server.client.update(made, subresource="status")
            stored["status"]["conditions"] = [
                {"type": "Noted", "status": "True", "reason": "Again"}
            ]
            await server.client.update(stored, subresource="status")
        counts = {
            series: value
            for series, value in server.parts.core.samples.numbers.items()
            if series[0].startswith(PREFIX)
        }
    client, other = "kubernetes.io/kube-apiserver-client", "other"
    assert counts == {
        (f"{PREFIX}_requested_duration_total", client): 3,
        (f"{PREFIX}_honored_duration_total", client): 2,
        (f"{PREFIX}_requested_duration_total", other): 2,
        (f"{PREFIX}_honored_duration_total", other): 1,
    }
