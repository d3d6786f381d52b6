"""A group of another server, aggregated over TLS through an APIService, also during its
downtime."""

import base64
import io
import json

import aggregated
import aiohttp
import pytest
import pytest_asyncio
from aggregated import GROUP, NAME, PREFIX, VERSION
from patience import within
from yarl import URL

from inkube import APIServer
from inkube.apiserver.aggregation import delegates
from inkube.controllers.client import Selection
from inkube.controllers.core.apiservices import RESOURCE

pytestmark = pytest.mark.asyncio(loop_scope="module")
BUNDLE = base64.b64encode(aggregated.SERVER.authority).decode()
TOKENS = "admin-token,admin,admin-uid,system:masters\nplain-token,plain,plain-uid,people\n"
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SERVICE = {"namespace": "default", "name": "api"}
UNKNOWN = "failed to verify certificate: x509: certificate signed by unknown authority"
ADDRESS = "aggregation.inkube.dev/url"


def registration(*, url="", service=SERVICE, **spec):
    """Return an APIService for the group things.example.com."""
    meta = {"name": NAME, "annotations": {ADDRESS: url} if url else {}}
    known = {"group": GROUP, "version": VERSION, "groupPriorityMinimum": 100, "versionPriority": 15}
    if service:
        known |= {"service": service, "caBundle": BUNDLE}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": meta,
        "spec": known | spec,
    }


async def available(server, state, reason=""):
    """Wait until the Available condition of the APIService has this state; return it."""
    selection = Selection(fields=f"metadata.name={NAME}")
    async with within():
        async for event in server.client.watch(RESOURCE, selection):
            found = (event.object.get("status") or {}).get("conditions") or [{}]
            if found[0].get("status") == state and reason in ("", found[0]["reason"]):
                return found[0]
    raise AssertionError("the watch ended")


class Client:
    """A user's client of the server."""

    def __init__(self, server, session, token="admin-token"):
        self.server = server
        self.session = session
        self.token = token

    async def ask(self, method, path, *, token="", **options):
        headers = {"Authorization": f"Bearer {token or self.token}", **options.pop("headers", {})}
        url = URL(self.server.url + path, encoded=True)
        async with self.session.request(method, url, headers=headers, **options) as answer:
            return answer.status, await answer.read(), answer.headers

    async def json(self, path, **options):
        code, body, _ = await self.ask("GET", path, **options)
        assert code == 200, body
        return json.loads(body)

    async def discovered(self):
        """Return the version in aggregated discovery; None if it is missing."""
        document = await self.json("/apis", headers={"Accept": V2})
        items = [one for one in document["items"] if one["metadata"]["name"] == GROUP]
        return items[0]["versions"][0] if items else None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory):
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(TOKENS)
    async with (
        APIServer(token_auth_file=tokens, authorization_mode="RBAC") as server,
        aiohttp.ClientSession() as session,
    ):
        yield Client(server, session)


@pytest_asyncio.fixture(loop_scope="module")
async def things(client):
    """An aggregated server that requires inkube's certificate, registered and available."""
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    trusted = (await client.json(path))["data"]
    known = aggregated.Things()
    authority = trusted["requestheader-client-ca-file"]
    async with aggregated.serving(known, authority=authority) as port:
        # the certificate is for api.default.svc, and the service leads to this machine
        await client.server.client.create(service(port))
        await client.server.client.create(registration(service={**SERVICE, "port": port}))
        await available(client.server, "True")
        await client.server.settled()
        yield known
    await client.server.client.delete(RESOURCE, NAME)
    await client.server.client.delete("v1/services", "api", "default")


def service(port):
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    meta = {"name": "api", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


async def test_forwarded_requests_carry_the_user_and_a_certificate(client, things):
    body = json.dumps({"metadata": {"name": "a"}})
    headers = {"X-Remote-User": "mallory", "X-Remote-Extra-Scopes": "all", "Accept": "a/b"}
    code, answer, told = await client.ask(
        "POST", f"{PREFIX}/things?dryRun=All&x=%2F", data=body, headers=headers
    )
    assert (code, json.loads(answer)) == (201, {"metadata": {"name": "a"}})
    assert told["Warning"] == '299 - "mine"'
    method, path, heard = things.requests[-1]
    assert (method, path) == ("POST", f"{PREFIX}/things?dryRun=All&x=%2F")
    assert heard.getall("X-Remote-User") == ["admin"]
    assert heard.getall("X-Remote-Group") == ["system:masters", "system:authenticated"]
    assert heard["X-Remote-Uid"] == "admin-uid"
    assert heard["Accept"] == "a/b"
    assert "Authorization" not in heard
    assert "X-Remote-Extra-Scopes" not in heard
    shown = dict(pair[0] for pair in things.certificates[-1]["subject"])
    assert shown == {"commonName": "front-proxy-client"}


@pytest.mark.parametrize("path", ["//things", "/../things", "/%2e%2e/things", "/./things"])
async def test_a_path_that_could_be_read_in_two_ways_is_not_passed_on(client, things, path):
    before = len(things.requests)
    assert (await client.ask("GET", PREFIX + path))[0] == 404
    assert len(things.requests) == before


async def test_the_path_passed_on_is_the_one_that_was_authorized(client, things):
    await client.ask("GET", f"{PREFIX}/things%2Fa?b=1&a=%20x&b=;")
    assert things.requests[-1][1] == f"{PREFIX}/things/a?a=+x&b=1"


async def test_what_the_other_server_refuses_is_refused_in_its_words(client, things):
    code, body, _ = await client.ask("DELETE", f"{PREFIX}/nothing/a")
    assert (code, json.loads(body)["message"]) == (404, "mine")


async def test_requests_without_permission_are_not_passed_on(client, things):
    before = len(things.requests)
    code, body, _ = await client.ask("GET", f"{PREFIX}/things", token="plain-token")
    assert code == 403
    assert json.loads(body)["message"] == (
        f'things.{GROUP} is forbidden: User "plain" cannot list resource "things" in API group '
        f'"{GROUP}" at the cluster scope'
    )
    assert len(things.requests) == before


async def test_the_other_server_sees_the_impersonated_user(client, things):
    acting = {"Impersonate-User": "admin2", "Impersonate-Group": "system:masters"}
    await client.ask("GET", f"{PREFIX}/things", headers=acting)
    heard = things.requests[-1][2]
    assert heard.getall("X-Remote-User") == ["admin2"]
    assert "Impersonate-User" not in heard


async def test_a_watch_is_passed_through_as_it_happens(client, things):
    url = f"{client.server.url}{PREFIX}/things?watch=1"
    headers = {"Authorization": "Bearer admin-token"}
    async with client.session.get(url, headers=headers) as stream:
        for name in ("one", "two"):
            body = json.dumps({"metadata": {"name": name}})
            await client.ask("POST", f"{PREFIX}/things", data=body)
            while (line := await stream.content.readline()) != f"ADDED {name}\n".encode():
                assert line.startswith(b"ADDED")


async def test_a_websocket_is_carried_in_both_directions(client, things):
    url = f"{client.server.url}{PREFIX}/echo"
    headers = {"Authorization": "Bearer admin-token"}
    async with client.session.ws_connect(
        url, headers=headers, protocols=["v4.channel.k8s.io"]
    ) as socket:
        assert socket.protocol == "v4.channel.k8s.io"
        for payload in (b"ab", b"xyz" * 50_000):
            await socket.send_bytes(payload)
            assert await socket.receive_bytes() == payload[::-1]


async def test_bodies_above_the_own_limit_are_forwarded(client, things):
    size = 8 * 1024 * 1024
    code, body, _ = await client.ask("POST", f"{PREFIX}/large", data=io.BytesIO(b"y" * size))
    assert (code, len(body)) == (200, size)


async def test_discovery_lists_an_aggregated_group_in_every_form(client, things):
    groups = (await client.json("/apis"))["groups"]
    version = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
    assert groups[-1] == {"name": GROUP, "versions": [version], "preferredVersion": version}
    assert (await client.json(f"/apis/{GROUP}"))["kind"] == "APIGroup"
    assert (await client.json(PREFIX))["kind"] == "APIResourceList"
    found = await client.discovered()
    assert found["freshness"] == "Current"
    assert [one["resource"] for one in found["resources"]] == ["things"]
    assert f"/apis/{GROUP}/{VERSION}" in (await client.json("/"))["paths"]


async def test_openapi_includes_an_aggregated_group_in_both_versions(client, things):
    paths = (await client.json("/openapi/v3"))["paths"]
    own = f"apis/{GROUP}/{VERSION}"
    assert paths[own]["serverRelativeURL"] == f"/openapi/v3/{own}?hash=ABC"
    assert "apis/other/v1" not in paths
    assert (await client.json(f"/openapi/v3/{own}?hash=ABC"))["info"]["title"] == "things"
    document = await client.json("/openapi/v2")
    assert f"{PREFIX}/things" in document["paths"]
    assert "/apis/other/v1/" not in document["paths"]
    assert "/api/v1/namespaces" in document["paths"]
    definitions = document["definitions"]
    assert "Unused" not in definitions
    own = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
    assert definitions[f"{own}_v2"]["description"] == "another"
    assert definitions["Spec"]["properties"]["meta"] == {"$ref": f"#/definitions/{own}_v2"}


async def test_requests_for_a_stopped_server_get_503_until_it_is_back(client):
    known = aggregated.Things(aggregated_discovery=False)
    server = client.server.client
    async with aggregated.serving(known) as port:
        await server.create(registration(url=f"https://127.0.0.1:{port}"))
        assert (await available(client.server, "True"))["message"] == "all checks passed"
        await client.server.settled()
        found = await client.discovered()
        assert [one["resource"] for one in found["resources"]] == ["things"]
        assert found["resources"][0]["subresources"][0]["subresource"] == "status"
    code, body, _ = await client.ask("GET", f"{PREFIX}/things")  # seen through a request
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert (code, body.decode()) == (503, f"error trying to reach service: {refused}\n")
    gone = await available(client.server, "False", "FailedDiscoveryCheck")
    url = f"https://127.0.0.1:{port}{PREFIX}"
    assert gone["message"] == (f'failing or missing response from {url}: Get "{url}": {refused}')
    assert (await client.ask("GET", f"{PREFIX}/things"))[:2] == (503, b"service unavailable\n")
    found = await client.discovered()
    assert (found["freshness"], found["resources"][0]["resource"]) == ("Stale", "things")
    assert (await client.ask("GET", "/api/v1/namespaces"))[0] == 200
    assert GROUP in [one["name"] for one in (await client.json("/apis"))["groups"]]
    async with aggregated.serving(known, port=port):
        await available(client.server, "True")
        assert (await client.ask("GET", f"{PREFIX}/things"))[0] == 200
    await server.delete(RESOURCE, NAME)
    assert (await client.ask("GET", f"{PREFIX}/things"))[:2] == (404, b"404 page not found\n")
    assert await client.discovered() is None


async def discovery_of(client, **changes):
    """Wait until aggregated discovery shows these values for things; return the entry."""
    async with within():
        while True:
            found = await client.discovered()
            if found and all(found.get(name) == value for name, value in changes.items()):
                return found
            await client.server.settled()


async def test_a_server_whose_check_fails_is_current_if_it_answers_discovery(client):
    known = aggregated.Things()
    known.failing = frozenset({PREFIX})
    async with aggregated.serving(known) as port:
        await client.server.client.create(registration(url=f"https://localhost:{port}"))
        condition = await available(client.server, "False", "FailedDiscoveryCheck")
        assert "bad status" in condition["message"]
        found = await discovery_of(client, freshness="Current")
        assert [one["resource"] for one in found["resources"]] == ["things"]
        code, _, _ = await client.ask("GET", f"{PREFIX}/things")
        assert code == 503
    await client.server.client.delete(RESOURCE, NAME)


async def test_discovery_of_a_hung_server_is_soon_repeated(client, monkeypatch):
    monkeypatch.setattr(delegates, "DISCOVERY_SECONDS", 0.05)
    known = aggregated.Things()
    known.hanging = frozenset({"/apis"})
    async with aggregated.serving(known) as port:
        await client.server.client.create(registration(url=f"https://localhost:{port}"))
        await available(client.server, "True")
        await discovery_of(client, freshness="Stale")
        monkeypatch.setattr(delegates, "DISCOVERY_SECONDS", 5.0)
        known.hanging = frozenset()
        await discovery_of(client, freshness="Current")
    await client.server.client.delete(RESOURCE, NAME)


async def test_a_certificate_of_another_authority_is_refused(client):
    known = aggregated.Things()
    async with aggregated.serving(known) as port:
        url = f"https://127.0.0.1:{port}"
        await client.server.client.create(registration(url=url, service=None))
        await available(client.server, "True")  # the check skips verification, as upstream's
        code, body, _ = await client.ask("GET", f"{PREFIX}/things")
        assert (code, body.decode()) == (
            503,
            f"error trying to reach service: tls: {UNKNOWN}\n",
        )
        form = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
        path = f"/apis/apiregistration.k8s.io/v1/apiservices/{NAME}"
        assert (await client.json(path, headers=form))["rows"][0]["cells"][1] == url
        skipping = {"insecureSkipTLSVerify": True, "service": SERVICE, "caBundle": None}
        await client.server.client.patch(RESOURCE, NAME, patch={"spec": skipping})
        await available(client.server, "True")
        assert (await client.ask("GET", f"{PREFIX}/things"))[0] == 200
    await client.server.client.delete(RESOURCE, NAME)


async def test_a_service_is_followed_as_it_comes_into_being(client):
    server = client.server.client
    await server.create(registration())
    named = 'service/api in "default"'
    assert (await available(client.server, "False"))["message"] == f"{named} is not present"
    spec = {"ports": [{"port": 8443, "name": "https"}]}
    meta = {"name": "api", "namespace": "default"}
    made = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}
    await server.create(made)
    found = await available(client.server, "False", "ServicePortError")
    assert found["message"] == f"{named} is not listening on port 443"
    spec = {"ports": [{"port": 443, "name": "https"}]}
    await server.patch("v1/services", "api", "default", patch={"spec": spec})
    found = await available(client.server, "False", "EndpointsNotFound")
    assert found["message"] == f"cannot find endpointslices for {named}"
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**meta, "labels": {"kubernetes.io/service-name": "api"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": False}}],
        "ports": [{"name": "https", "port": 443}],
    }
    await server.create(slices)
    found = await available(client.server, "False", "MissingEndpoints")
    text = f'endpointslices for {named} have no addresses with port name "https"'
    assert found["message"] == text
    await server.delete("discovery.k8s.io/v1/endpointslices", "api", "default")
    await server.delete("v1/services", "api", "default")
    await available(client.server, "False", "ServiceNotFound")
    await server.delete(RESOURCE, NAME)


async def test_the_service_kubernetes_exists_before_it_is_read():
    async with APIServer() as server, aiohttp.ClientSession() as session:
        body = registration(service={"namespace": "default", "name": "kubernetes"})
        asked = session.post(f"{server.url}/apis/apiregistration.k8s.io/v1/apiservices", json=body)
        async with asked as answer:
            assert answer.status == 201
        found = await available(server, "False", "FailedDiscoveryCheck")
    assert f"from {server.url.replace('http:', 'https:')}/apis/{GROUP}/" in found["message"]


async def test_slices_that_the_controllers_of_workloads_write_are_found():
    async with APIServer(workloads=True) as server:
        spec = {"ports": [{"port": 443}], "selector": {"app": "none"}}
        meta = {"name": "api", "namespace": "default"}
        made = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}
        await server.client.create(made)
        await server.client.create(registration())
        found = await available(server, "False", "MissingEndpoints")
        assert 'endpointslices for service/api in "default" have no addresses' in found["message"]


@pytest.mark.parametrize(
    "url", ["ftp://x", "https://", "https://h:0", "https://h/p", "https://u@h"]
)
async def test_an_address_that_leads_nowhere_is_refused(client, url):
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    code, body, _ = await client.ask("POST", path, json=registration(url=url))
    [cause] = json.loads(body)["details"]["causes"]
    assert (code, cause["field"]) == (422, f"metadata.annotations[{ADDRESS}]")


async def test_a_server_in_process_is_served_and_listed(tmp_path):
    known = aggregated.Things()
    options = {"data": tmp_path / "inkube.db", "aggregated": {NAME: known.app}}
    async with APIServer(**options) as server, aiohttp.ClientSession() as session:
        client = Client(server, session, "anybody")
        assert (await available(server, "True"))["reason"] == "Local"
        body = json.dumps({"metadata": {"name": "a"}})
        assert (await client.ask("POST", f"{PREFIX}/things", data=body))[0] == 201
        assert known.requests[-1][2]["X-Remote-User"] == "system:admin"
        found = await client.discovered()
        assert (found["freshness"], found["resources"][0]["resource"]) == ("Current", "things")
        async with session.get(f"{server.url}{PREFIX}/things?watch=1") as stream:
            assert await stream.content.readline() == b"ADDED a\n"
        async with session.ws_connect(f"{server.url}{PREFIX}/echo") as socket:
            await socket.send_bytes(b"ab")
            assert await socket.receive_bytes() == b"ba"
    async with APIServer(**{**options, "aggregated": {"v2.x.example.com": known.app}}) as server:
        names = {one["metadata"]["name"] for one in (await server.client.list(RESOURCE)).items}
        assert NAME not in names
