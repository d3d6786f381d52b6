"""Approved requests of Kubernetes' own signers get a certificate that the server trusts."""

import base64
import itertools
import ssl
from typing import Any

import aiohttp
import pytest
import trustme
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from inkube import APIServer, Workloads
from inkube.apiserver.auth import signers

REQUESTS = "certificates.k8s.io/v1/certificatesigningrequests"
SIGNING = Workloads(controllers={"certificatesigningrequest-signing"}, nodes=0)
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
NODE = [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, "system:node:n")]
JANE = [(NameOID.ORGANIZATION_NAME, "devs"), (NameOID.COMMON_NAME, "jane")]
SERVING = ["digital signature", "key encipherment", "server auth"]
CLIENT = ["digital signature", "client auth"]


def request(key, subject, names=()):
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(*each) for each in subject])
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(names)), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


async def answered(server, pem, signer, usages, **spec):
    """Return the status of an approved request after the controller has processed it."""
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": f"kubernetes.io/{signer}",
            "usages": usages,
            **spec,
        },
    }
    made = await server.client.create(body)
    await server.settled()
    assert "certificate" not in (await server.client.get(REQUESTS, "r")).get("status", {})
    made["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]}
    await server.client.update(made, subresource="approval")
    await server.settled()
    return (await server.client.get(REQUESTS, "r"))["status"]


@pytest.fixture
def key():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize(
    ("signer", "subject", "names", "usages", "purpose"),
    [
        ("kubelet-serving", NODE, [x509.DNSName("n")], SERVING, ExtendedKeyUsageOID.SERVER_AUTH),
        ("kube-apiserver-client-kubelet", NODE, [], CLIENT, ExtendedKeyUsageOID.CLIENT_AUTH),
        ("kube-apiserver-client", JANE, [], CLIENT, ExtendedKeyUsageOID.CLIENT_AUTH),
    ],
)
async def test_an_approved_request_is_signed(key, signer, subject, names, usages, purpose):
    async with APIServer(workloads=SIGNING) as server:
        pem = request(key, subject, names)
        status = await answered(server, pem, signer, usages, expirationSeconds=3600)
    made = x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))
    assert made.subject == x509.load_pem_x509_csr(pem).subject
    assert list(made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [purpose]
    assert (made.not_valid_after_utc - made.not_valid_before_utc).total_seconds() == 3900
    assert bool(names) == any(
        isinstance(each.value, x509.SubjectAlternativeName) for each in made.extensions
    )


OPTIONAL = ("digital signature", "key encipherment")
SIGNERS = {
    "kubelet-serving": (NODE, [x509.DNSName("n")], "server auth"),
    "kube-apiserver-client-kubelet": (NODE, [], "client auth"),
    "kube-apiserver-client": (JANE, [], "client auth"),
}


@pytest.mark.parametrize("signer", SIGNERS)
def test_a_certificate_has_the_usages_of_its_request_and_no_empty_extension(key, signer):
    authority = signers.new_authority("a")
    subject, names, purpose = SIGNERS[signer]
    pem = request(key, subject, names)
    for count in range(3):
        for more in itertools.combinations(OPTIONAL, count):
            sent = signers.Request(f"kubernetes.io/{signer}", pem, [purpose, *more], None)
            try:
                made = x509.load_pem_x509_certificate(signers.sign(authority, sent))
            except ValueError:  # kubelets have to ask for a signature
                assert "kubelet" in signer
                assert "digital signature" not in more
                continue
            found = [each.value for each in made.extensions]
            usages = [each for each in found if isinstance(each, x509.KeyUsage)]
            assert len(usages) == bool(more)
            for each in usages:
                assert each.digital_signature is ("digital signature" in more)
                assert each.key_encipherment is ("key encipherment" in more)
                assert not any((each.key_cert_sign, each.crl_sign, each.key_agreement))


@pytest.mark.parametrize(
    ("signer", "subject", "names", "usages", "why"),
    [
        ("kubelet-serving", JANE, [], SERVING, "subject organization is not system:nodes"),
        ("kubelet-serving", NODE, [], SERVING, "DNS or IP subjectAltName is required"),
        (
            "kube-apiserver-client-kubelet", NODE, [x509.DNSName("n")], CLIENT,
            "DNS subjectAltNames are not allowed",
        ),
        (
            "kube-apiserver-client-kubelet", NODE, [], SERVING,
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (
            "kube-apiserver-client", JANE, [], ["server auth"],
            "invalid usage for client certificate: server auth",
        ),
    ],
)  # fmt: skip
async def test_a_request_that_its_signer_refuses_fails(key, signer, subject, names, usages, why):
    async with APIServer(workloads=SIGNING) as server:
        status = await answered(server, request(key, subject, names), signer, usages)
    approved, failed = status["conditions"]
    assert (approved["type"], failed["type"]) == ("Approved", "Failed")
    assert (failed["reason"], failed["message"]) == ("SignerValidationFailure", why)
    assert "certificate" not in status


@pytest.mark.parametrize("usages", [CLIENT, ["client auth"]], ids=len)
@pytest.mark.parametrize("has_authority", [True, False])
async def test_a_signed_client_is_known_wherever_clients_use_tls(
    key, tmp_path, has_authority, usages
):
    """OpenSSL refuses a certificate with a key usage that allows nothing."""
    options: dict[str, Any] = {"tls": True}
    if has_authority:
        root = tmp_path / "ca.pem"
        trustme.CA().cert_pem.write_to_path(root)
        options |= {"client_ca_file": root, "authorization_mode": "RBAC"}
    own = tmp_path / "own.pem"
    async with APIServer(workloads=SIGNING, **options) as server, aiohttp.ClientSession() as http:
        status = await answered(server, request(key, JANE), "kube-apiserver-client", usages)
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        own.write_bytes(base64.b64decode(status["certificate"]) + secret)
        assert (await user(server, http, own))["username"] == "jane"


async def test_the_kubeconfig_has_a_certificate_of_the_administrator(tmp_path):
    root = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(root)
    own = tmp_path / "own.pem"
    options = {"tls": True, "client_ca_file": root, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession() as http:
        [entry] = yaml.safe_load(server.kubeconfig())["users"]
        found = [
            base64.b64decode(entry["user"][f"client-{each}-data"])
            for each in ("certificate", "key")
        ]
        own.write_bytes(b"".join(found))
        known = await user(server, http, own)
        assert "system:masters" in known["groups"]
    async with APIServer(tls=True) as server:
        [entry] = yaml.safe_load(server.kubeconfig())["users"]
        assert "client-certificate-data" not in entry["user"]


async def user(server, http, certificate):
    """Return the user name of a client with that certificate."""
    context = ssl.create_default_context(cadata=server.security.certificate.authority.decode())
    context.load_cert_chain(certificate)
    async with http.post(server.url + WHO, json=REVIEW, ssl=context) as answer:
        assert answer.status == 201
        return (await answer.json())["status"]["userInfo"]
