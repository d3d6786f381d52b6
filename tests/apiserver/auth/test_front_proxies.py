"""Users that an authenticating proxy names in headers, and who may send such headers."""

import json
import ssl

import aiohttp
import pytest
import trustme

from inkube import APIServer

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
CONFIG = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
USER = {
    "X-Remote-User": "ada",
    "X-Remote-Uid": "7",
    "X-Remote-Group": "dev",
    "X-Remote-Extra-Scopes%2fa": "read",
}


@pytest.fixture
async def served(tmp_path):
    """A server that trusts the proxy `front` of one authority and clients of another, the
    addresses of their certificates by name, and the folder of their files."""
    clients, proxies = trustme.CA(), trustme.CA()
    for name, authority in (("clients", clients), ("proxies", proxies)):
        authority.cert_pem.write_to_path(tmp_path / f"{name}.pem")
    for name, authority in (("front", proxies), ("other", proxies), ("client", clients)):
        issued = authority.issue_cert(common_name=name, organization_name="system:masters")
        issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / f"{name}.crt")
    options = {
        "client_ca_file": tmp_path / "clients.pem",
        "requestheader_client_ca_file": tmp_path / "proxies.pem",
        "requestheader_allowed_names": ("front",),
        "requestheader_uid_headers": ("X-Remote-Uid",),
    }
    async with APIServer(tls=True, authorization_mode="RBAC", **options) as server:
        yield server, tmp_path


async def asked(served, certificate, headers, method="POST", path=WHO):
    server, folder = served
    context = ssl.create_default_context(cadata=server.security.certificate.authority.decode())
    if certificate:
        context.load_cert_chain(folder / f"{certificate}.crt")
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.request(method, server.url + path, json=REVIEW, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


async def test_a_proxy_names_the_user_in_headers(served) -> None:
    code, body = await asked(served, "front", USER)
    assert (code, body["status"]["userInfo"]) == (
        201,
        {
            "username": "ada",
            "uid": "7",
            "groups": ["dev", "system:authenticated"],
            "extra": {"scopes/a": ["read"]},
        },
    )


async def test_headers_from_clients_that_are_no_proxy_name_no_user(served) -> None:
    # of another authority, the headers mean nothing
    code, body = await asked(served, "client", USER)
    assert (code, body["status"]["userInfo"]["username"]) == (201, "client")
    for certificate, headers in (
        ("front", {}),  # a certificate of a proxy is no user
        ("other", USER),  # of the authority, with another name
        ("", USER),
    ):
        code, body = await asked(served, certificate, headers)
        assert (code, body["reason"]) == (403, "Forbidden"), certificate
        assert 'User "system:anonymous" cannot create' in body["message"], certificate


async def test_servers_behind_this_one_learn_both_authorities(served) -> None:
    _, body = await asked(served, "client", {}, "GET", CONFIG)
    data, folder = body["data"], served[1]
    assert data["client-ca-file"] == (folder / "clients.pem").read_text()
    assert data["requestheader-client-ca-file"].startswith((folder / "proxies.pem").read_text())
    assert data["requestheader-client-ca-file"].count("BEGIN CERTIFICATE") == 2
    assert json.loads(data["requestheader-allowed-names"]) == ["front", "front-proxy-client"]
    assert json.loads(data["requestheader-username-headers"]) == ["X-Remote-User"]
