"""The addresses that a server may listen on, TLS, and the web pages that may send requests."""

import asyncio
import ssl

import aiohttp
import pytest
import trustme
import yaml

from inkube.apiserver.access import kubeconfig, security
from inkube.apiserver.configuration import BadOption, Options
from inkube.apiserver.http.guards import is_loopback
from inkube.apiserver.server import APIServer
from inkube.controllers.clock import FakeClock

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
async def test_an_open_server_stays_on_loopback(host: str) -> None:
    with pytest.raises(ValueError, match="not a loopback address"):
        async with APIServer(host=host):
            pass


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost:80", True),
        ("127.0.0.1", True),
        ("127.8.8.8:1", True),
        ("[::1]:443", True),
        ("[::1]", True),
        ("example.com", False),
        ("127.0.0.1.example.com", False),
        ("localhost.example.com:8001", False),
        ("[::2]:80", False),
        ("LOCALHOST", True),
        ("LocalHost:8001", True),
        ("localhost.:80", True),
        ("localhost:x@evil.example", False),
        ("x@localhost", False),
        ("127.0.0.256", False),
        ("localhost:80:80", False),
        ("", False),
    ],
)
def test_only_this_machines_names_are_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local


async def test_a_name_bound_to_loopback_by_a_page_is_refused(ask_open) -> None:
    code, body = await ask_open("GET", "/api", headers={"Host": "rebound.example.com"})
    assert (code, body["reason"]) == (403, "Forbidden")


FOREIGN = (
    "null",
    "http://localhost:x@evil.example",
    "http://localhost:80@evil.example",
    "http://localhost.evil.example",
    "http://localhost/.evil.example",
    "http://evil.example/http://localhost",
    "evil://localhost",
    "//localhost",
    "localhost",
    "http://localhost evil.example",
)


async def test_a_foreign_page_cannot_write_to_an_open_server(ask_open) -> None:
    path = "/api/v1/namespaces"
    for origin in FOREIGN:
        code, _ = await ask_open("POST", path, NAMESPACE, headers={"Origin": origin})
        assert code == 403, origin
    code, _ = await ask_open("POST", path, NAMESPACE, headers={"Origin": "http://evil.example"})
    assert code == 403
    own = {"Origin": "http://LOCALHOST:3000"}
    code, _ = await ask_open("POST", path, NAMESPACE, token=None, headers=own)
    assert code == 201


async def test_only_allowed_origins_have_cors_headers() -> None:
    page = {"Origin": "http://page.example"}
    async with (
        APIServer(allow_origins=["http://page.example"]) as server,
        aiohttp.ClientSession() as session,
    ):
        async with session.options(f"{server.url}/api", headers=page) as answer:
            assert answer.status == 204
            assert "PATCH" in answer.headers["Access-Control-Allow-Methods"]
        async with session.get(f"{server.url}/api", headers=page) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == page["Origin"]
        other = {"Origin": "http://other.example"}
        async with session.get(f"{server.url}/api", headers=other) as answer:
            assert "Access-Control-Allow-Origin" not in answer.headers


async def test_an_allowed_origin_may_send_requested_headers_and_read_response_headers() -> None:
    page = {"Origin": "http://page.example"}
    async with (
        APIServer(allow_origins=["http://page.example"]) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        wanted = {**page, "Access-Control-Request-Headers": "traceparent,x-client-version"}
        async with session.options("/api", headers=wanted) as answer:
            allowed = answer.headers["Access-Control-Allow-Headers"]
            assert {"traceparent", "x-client-version", "Authorization"} <= set(
                allowed.replace(" ", "").split(",")
            )
        for strange in ("a b", "a,,b", "<script>"):
            wanted["Access-Control-Request-Headers"] = strange
            async with session.options("/api", headers=wanted) as answer:
                assert strange not in answer.headers["Access-Control-Allow-Headers"]
        other = {**wanted, "Origin": "http://other.example"}
        async with session.options("/api", headers=other) as answer:
            assert "Access-Control-Allow-Headers" not in answer.headers
        for path in ("/api", "/api/v1/unicorns", "/api/v1/pods?watch=1&timeoutSeconds=1"):
            async with session.get(path, headers=page) as answer:
                exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
                assert {"Warning", "Retry-After", "Audit-Id"} <= set(exposed)


async def test_an_open_server_answers_to_the_names_it_is_given() -> None:
    async with (
        APIServer(allow_hosts=["inkube", "api.test"]) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        for host, code in [
            ("inkube", 200),
            ("INKUBE:8001", 200),
            ("api.test.:8001", 200),
            ("localhost:8001", 200),
            ("rebound.example.com", 403),
            ("inkube.example.com", 403),
            ("x@inkube", 403),
            ("inkube:80:80", 403),
        ]:
            async with session.get("/api", headers={"Host": host}) as answer:
                assert answer.status == code, host


@pytest.mark.parametrize("host", ["", "http://inkube", "inkube:8001", "*", "a b", "-a"])
def test_hosts_that_are_no_names_are_refused(host: str) -> None:
    with pytest.raises(BadOption, match="is not a host name"):
        Options(allow_hosts=[host])


async def test_an_allowed_host_name_replaces_no_credentials() -> None:
    with pytest.raises(ValueError, match="not a loopback address"):
        async with APIServer(host="0.0.0.0", allow_hosts=["inkube"]):
            pass


@pytest.mark.parametrize("text", ["plain", "true", "1e3", 'a "b" \\ #c: {d}', "é😀", "- x", ""])
def test_a_kubeconfig_is_yaml_whatever_is_in_it(text) -> None:
    access = kubeconfig.Access("https://[::1]:6443", text, b"authority", text)
    document = yaml.safe_load(kubeconfig.render(access))
    assert document["clusters"][0]["cluster"] == {
        "server": "https://[::1]:6443", "certificate-authority-data": "YXV0aG9yaXR5",
    }  # fmt: skip
    assert document["users"][0]["user"] == {"token": text or "anybody"}
    assert document["contexts"][0]["context"]["namespace"] == text


async def test_a_self_signed_server_is_trusted_by_its_kubeconfig(tmp_path) -> None:
    directives = ["max-age=31536000", "includeSubDomains"]
    async with (
        APIServer(tls=True, strict_transport_security_directives=directives) as server,
        aiohttp.ClientSession() as session,
    ):
        assert server.url.startswith("https://")
        cluster = yaml.safe_load(server.kubeconfig())["clusters"][0]["cluster"]
        assert cluster["server"] == server.url
        authority = server.security.certificate.authority.decode()
        trusting = ssl.create_default_context(cadata=authority)
        for path, code in (("/readyz", 200), ("/api/v1/nodes?watch=1&timeoutSeconds=1", 200),
                           ("/nothing", 404)):  # fmt: skip
            async with session.get(f"{server.url}{path}", ssl=trusting) as answer:
                assert answer.status == code
                told = answer.headers.getall("Strict-Transport-Security")
                assert told == ["max-age=31536000; includeSubDomains"]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def test_a_client_certificate_is_its_user(authority: trustme.CA, tmp_path) -> None:
    root = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(root)
    certificate = authority.issue_cert(
        "jane@example.com", common_name="jane", organization_name="devs"
    )
    options = {"tls": True, "client_ca_file": root, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession() as session:
        own = server.security.certificate.authority.decode()
        with_one = ssl.create_default_context(cadata=own)
        certificate.configure_cert(with_one)
        without = ssl.create_default_context(cadata=own)
        url = server.url + WHO
        async with session.post(url, json=REVIEW, ssl=with_one) as answer:
            user = (await answer.json())["status"]["userInfo"]
        (credential,) = user.pop("extra")["authentication.kubernetes.io/credential-id"]
        assert credential.startswith("X509SHA256=")
        assert user == {"username": "jane", "groups": ["devs", "system:authenticated"]}
        async with session.post(url, json=REVIEW, ssl=without) as answer:
            assert answer.status == 403  # anonymous


async def test_a_foreign_page_cannot_use_the_certificate_of_its_browser(authority, tmp_path):
    root = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(root)
    jane = authority.issue_cert("jane@example.com", common_name="jane")
    async with (
        APIServer(tls=True, client_ca_file=root) as server,
        aiohttp.ClientSession() as session,
    ):
        context = ssl.create_default_context(cadata=server.security.certificate.authority.decode())
        jane.configure_cert(context)
        where = f"{server.url}/api/v1/namespaces"
        watch = f"{where}?watch=1"
        foreign, own = {"Origin": "https://evil.example"}, {"Origin": server.url}
        async with session.post(where, json=NAMESPACE, ssl=context, headers=foreign) as answer:
            assert answer.status == 403
        async with session.post(where, json=NAMESPACE, ssl=context, headers=own) as answer:
            assert answer.status == 201
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(watch, ssl=context, headers=foreign)
        assert refused.value.status == 403
        async with session.ws_connect(watch, ssl=context, headers=own) as socket:
            assert (await socket.receive_json())["type"] == "ADDED"


async def test_a_server_with_users_and_without_authorization_refuses_anonymous_users(
    token_file,
) -> None:
    async with (
        APIServer(token_auth_file=token_file) as server,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(f"{server.url}/api") as answer:
            assert answer.status == 401
        good = {"Authorization": "Bearer user-token"}
        async with session.get(f"{server.url}/api/v1/secrets", headers=good) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC"])
async def test_an_open_server_judges_every_token(mode: str) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    clock = FakeClock(ticking=True)
    async with (
        APIServer(authorization_mode=mode, clock=clock) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        async with session.post(accounts, json=account) as answer:
            assert answer.status == 201
        async with session.post(f"{accounts}/bot/token", json=request) as answer:
            token = (await answer.json())["status"]["token"]

        async def code(sent: str) -> int:
            headers = {"Authorization": f"Bearer {sent}"}
            async with session.post(WHO, json=REVIEW, headers=headers) as answer:
                return answer.status

        assert await code(token) == await code(security.OPEN_TOKEN) == 201
        signed, _, _ = token.rpartition(".")
        for bad in ("a.b.c", token[:-2], signed, signed + ".", token[:40], "wrong", "admin"):
            assert await code(bad) == 401, bad
        headers = {"Authorization": "Bearer of-another-server"}
        async with session.get("/api", headers=headers) as answer:
            assert (
                "send no token, or start the server with --token-auth-file"
                in (await answer.json())["message"]
            )
        for sent in ("Basic YTpi", "Bearer", "Bearer "):  # no tokens
            async with session.get("/api", headers={"Authorization": sent}) as answer:
                assert answer.status == 200
        clock.advance(4000)
        assert await code(token) == 401, "it has expired"


@pytest.mark.parametrize("path", ["/api", "/api/v1/configmaps?watch=1&timeoutSeconds=1", "/wrong"])
async def test_a_token_after_two_spaces_is_ignored_with_a_warning(token_file, path: str) -> None:
    text = "the provided Authorization header contains extra space before the bearer token"
    warned = [f'299 - "{text}, and is ignored"']
    async with (
        APIServer() as open_server,
        APIServer(token_auth_file=token_file) as server,
        aiohttp.ClientSession() as session,
    ):

        async def warnings(url: str, header: str) -> list[str]:
            async with session.get(url + path, headers={"Authorization": header}) as answer:
                return answer.headers.getall("Warning", [])

        for spaced in ("Bearer  user-token", "bearer   a b"):
            assert await warnings(open_server.url, spaced) == warned
            assert await warnings(server.url, spaced) == warned
        for other in ("Bearer user-token", "Bearer", "Bearer ", "Basic  YTpi", ""):
            assert await warnings(server.url, other) == []


async def test_the_suites_of_tls_are_those_of_go(tmp_path) -> None:
    every = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    every.set_ciphers("ALL:@SECLEVEL=0")
    names = {each["name"] for each in every.get_ciphers() if each["protocol"] == "TLSv1.2"}
    async with APIServer(tls=True) as server:
        authority = server.security.certificate.authority.decode()

        async def handshakes(suite: str) -> bool:
            client = ssl.create_default_context(cadata=authority)
            client.maximum_version = ssl.TLSVersion.TLSv1_2
            client.set_ciphers(f"{suite}:@SECLEVEL=0")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=client)
            except OSError:
                return False
            writer.close()
            return True

        taken = {name for name in names if "PSK" not in name and await handshakes(name)}
    assert taken == {
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    }
