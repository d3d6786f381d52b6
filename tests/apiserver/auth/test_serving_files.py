"""Files of the serving certificate and of authorities for clients that change while the server
runs."""

import asyncio
import json
import ssl

import aiohttp
import pytest
import trustme

from inkube import APIServer
from inkube.apiserver.auth import certificates, servingfiles

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
CONFIG = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
PROXIED = {"X-Remote-User": "ada", "X-Remote-Group": "dev"}
MASTERS = "system:masters"


def write_pair(folder, authority):
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(folder / "tls.key")
    issued.cert_chain_pems[0].write_to_path(folder / "tls.crt")


def text(authority):
    return authority.cert_pem.bytes().decode()


def client(server, trusted, folder, authority=None):
    """Return a session that trusts one authority, with a certificate of another one."""
    context = ssl.create_default_context(cadata=text(trusted))
    if authority is not None:
        issued = authority.issue_cert(common_name="grace", organization_name=MASTERS)
        issued.private_key_and_cert_chain_pem.write_to_path(folder / "client.pem")
        context.load_cert_chain(folder / "client.pem")
    connector = aiohttp.TCPConnector(ssl=context, limit=1)
    return aiohttp.ClientSession(server.url, connector=connector)


@pytest.fixture
def pair(tmp_path):
    """The authority of the serving certificate in a folder, and the options of its server."""
    serving = trustme.CA()
    write_pair(tmp_path, serving)
    files = {"tls_cert_file": tmp_path / "tls.crt", "tls_private_key_file": tmp_path / "tls.key"}
    return serving, {**files, "modules": "none"}


async def served_by(server, authority):
    """Return whether a new connection shows a certificate of an authority."""
    context = ssl.create_default_context(cadata=text(authority))
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    except ssl.SSLCertVerificationError:
        return False
    writer.close()
    return True


async def test_new_connections_show_the_certificate_that_the_files_hold(
    tmp_path, pair, caplog
) -> None:
    serving, options = pair
    async with APIServer(**options) as server, client(server, serving, tmp_path) as session:
        other = trustme.CA()
        (tmp_path / "tls.key").unlink()
        for _ in range(2):
            assert await served_by(server, serving)
        (tmp_path / "tls.key").write_text("no key")
        assert await served_by(server, serving)
        errors = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
        names = f"reloading {tmp_path / 'tls.crt'} and {tmp_path / 'tls.key'}: "
        assert len(errors) == 2  # one for each problem
        assert all(each.startswith(names) for each in errors)
        assert "No such file" in errors[0]
        assert "holds no private key in PEM" in errors[1]
        caplog.clear()  # expected
        async with session.get("/version") as answer:
            assert answer.status == 200
        write_pair(tmp_path, other)
        assert await served_by(server, other)
        assert not await served_by(server, serving)
        async with session.get("/version") as answer:  # on the connection of before
            assert answer.status == 200


async def who(session, headers=None):
    async with session.post(WHO, json=REVIEW, headers=headers) as answer:
        body = await answer.json()
    return body["status"]["userInfo"]["username"] if answer.ok else answer.status


async def test_clients_need_the_authorities_that_the_files_hold(tmp_path, pair, caplog) -> None:
    serving, options = pair
    first, second, proxies = trustme.CA(), trustme.CA(), trustme.CA()
    own, front = tmp_path / "clients.pem", tmp_path / "proxies.pem"
    own.write_text(text(first))
    front.write_text(text(second))
    options |= {"client_ca_file": own, "requestheader_client_ca_file": front}
    async with (
        APIServer(**options, authorization_mode="RBAC") as server,
        client(server, serving, tmp_path, first) as of_first,
        client(server, serving, tmp_path, second) as of_second,
    ):
        assert (await who(of_first), await who(of_second)) == ("grace", 403)
        assert await who(of_second, PROXIED) == "ada"
        async with of_first.get(CONFIG) as answer:
            before = (await answer.json())["data"]
        assert before["client-ca-file"] == text(first)
        own.write_text("-----BEGIN CERTIFICATE-----\n")
        front.write_text(text(proxies))
        # the broken file is not used
        async with client(server, serving, tmp_path, first) as session:
            assert await who(session) == "grace"
        assert f"{own} contains no certificate in PEM" in caplog.text
        caplog.clear()  # expected
        # what the connection of before was trusted with, it is not on a new one
        with pytest.raises(aiohttp.ClientError):
            await who(of_second, PROXIED)
        own.write_text(text(second))
        async with (
            client(server, serving, tmp_path, second) as session,
            client(server, serving, tmp_path, proxies) as proxy,
        ):
            assert (await who(session), await who(session, PROXIED)) == ("grace", "grace")
            assert (await who(proxy), await who(proxy, PROXIED)) == (403, "ada")
            with pytest.raises(aiohttp.ClientError):
                await who(of_first)

            async def published():
                async with session.get(CONFIG) as answer:
                    return (await answer.json())["data"]

            data = await published()
        # clients of before may still come to servers behind this one
        assert data["client-ca-file"] == text(first) + text(second)
        assert data["requestheader-client-ca-file"].count("BEGIN CERTIFICATE") == 3
        assert json.loads(data["requestheader-username-headers"]) == ["X-Remote-User"]


def test_a_change_is_found_even_at_the_same_time_and_size(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    followed = servingfiles.Followed([path], path.read_text)
    assert not followed.has_changed()
    for content in ("two", "six"):
        path.write_text(content)
        assert followed.has_changed()
        assert followed.value == content
        assert not followed.has_changed()


def write_named(folder, authority, file, *names, common_name=None):
    """Write a certificate with names, and its key. Returns the value of the option."""
    issued = authority.issue_cert(*names, common_name=common_name)
    certificate, key = folder / f"{file}.crt", folder / f"{file}.key"
    issued.private_key_pem.write_to_path(key)
    issued.cert_chain_pems[0].write_to_path(certificate)
    return f"{certificate},{key}"


async def shown(server, name):
    """Return the host names in the certificate that a client sees that asks for a name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=context, server_hostname=name
    )
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return certificates.names(ssl.DER_cert_to_PEM_cert(found).encode())


async def test_clients_see_the_certificate_for_the_name_that_they_ask_for(tmp_path, pair) -> None:
    _, options = pair
    authority = trustme.CA()
    given = write_named(tmp_path, authority, "given", "a.test")
    found = write_named(tmp_path, authority, "found", "b.test", "*.c.test", "10.0.0.1")
    later = write_named(tmp_path, authority, "later", "b.test", "d.test")
    options["tls_sni_cert_key"] = [f"{given}:a.test,x.d.test", found, later]
    clients = tmp_path / "clients.crt"
    clients.write_text(text(authority))
    async with APIServer(**options, client_ca_file=clients) as server:
        of_found = ["b.test", "*.c.test"]
        for name, names in (
            ("a.test", ["a.test"]),
            ("X.D.test", ["a.test"]),
            ("b.test", of_found),
            ("e.c.test", of_found),
            ("e.e.c.test", []),
            ("d.test", ["b.test", "d.test"]),
            ("unknown.test", []),
        ):
            assert await shown(server, name) == names, name
        context = ssl.create_default_context(cadata=text(authority))
        issued = authority.issue_cert(common_name="grace", organization_name=MASTERS)
        issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / "client.pem")
        context.load_cert_chain(tmp_path / "client.pem")
        connector = aiohttp.TCPConnector(ssl=context)
        async with (
            aiohttp.ClientSession(server.url, connector=connector) as session,
            session.post(WHO, json=REVIEW, server_hostname="b.test") as answer,
        ):
            assert (await answer.json())["status"]["userInfo"]["username"] == "grace"
        write_named(tmp_path, authority, "found", "new.test")
        assert await shown(server, "b.test") == ["b.test", "d.test"]
        assert await shown(server, "new.test") == ["new.test"]


@pytest.mark.parametrize(("host", "is_seen"), [("127.0.0.1", True), ("0.0.0.0", False)])
async def test_clients_that_ask_for_no_name_see_the_certificate_for_the_address(
    tmp_path, pair, host, is_seen
) -> None:
    """A server at every address shows the usual one."""
    _, options = pair
    authority, clients = trustme.CA(), tmp_path / "clients.crt"
    clients.write_text(text(authority))
    options |= {"host": host, "client_ca_file": clients}
    value = f"{write_named(tmp_path, authority, 'at', 'at.test')}:127.0.0.1,a.test"
    async with APIServer(**options, tls_sni_cert_key=[value]) as server:
        assert await shown(server, "") == (["at.test"] if is_seen else [])
        assert await shown(server, "a.test") == ["at.test"]
        assert await shown(server, "b.test") == []


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a.crt", "expected comma separated certificate and key file paths"),
        ("a.crt,a.key:", "empty names list is not allowed"),
        ("a.crt,a.key", "No such file"),
    ],
)
async def test_certificates_for_names_that_cannot_be_read_end_the_start(pair, value, why) -> None:
    _, options = pair
    with pytest.raises((ValueError, OSError), match=why):
        await APIServer(**options, tls_sni_cert_key=[value]).__aenter__()


async def test_certificates_for_names_need_tls() -> None:
    with pytest.raises(ValueError, match="further certificates need TLS"):
        await APIServer(tls_sni_cert_key=["a.crt,a.key"]).__aenter__()
