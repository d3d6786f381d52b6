"""Webhooks with a Service are called at the Service's real address, without a cluster network."""

import base64
from contextlib import asynccontextmanager

import boats
import pytest
from aiohttp import web
from endpoints import configuration, serving

from inkube import APIServer
from inkube.apiserver.auth import certificates
from inkube.apiserver.configuration import BadOption, Options
from inkube.apiserver.serviceaddresses import ServiceAddresses, UnresolvedError
from inkube.schemas.status import StatusError

OURS = certificates.make_server(["hook.system.svc"])
OTHERS = certificates.make_server(["other.system.svc"])
CRD = boats.definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
(V1,) = CRD["spec"]["versions"]
CRD["spec"]["versions"].append({**V1, "name": "v2", "storage": False})


class Hook:
    """Allows reviews, converts by changing apiVersion, and stores the requested hosts."""

    def __init__(self):
        self.hosts = []

    async def __call__(self, request):
        self.hosts.append(f"{request.headers['Host']}{request.path}")
        review = await request.json()
        asked = review["request"]
        if review["kind"] == "ConversionReview":
            version = asked["desiredAPIVersion"]
            converted = [{**obj, "apiVersion": version} for obj in asked["objects"]]
            told = {"result": {"status": "Success"}, "convertedObjects": converted}
        else:
            told = {"allowed": True}
        return web.json_response({**review, "response": {"uid": asked["uid"], **told}})


@asynccontextmanager
async def listening(certificate=OURS):
    """A hook and the port on which it is served."""
    hook = Hook()
    async with serving(hook, certificate) as url:
        yield hook, int(url.rpartition(":")[2])


@asynccontextmanager
async def served(**options):
    async with APIServer(Options(**options)) as server:
        await server.client.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "system"}}
        )
        yield server


def client_config(certificate=OURS, **more):
    return {
        "service": {"namespace": "system", "name": "hook", "path": "/review", **more},
        "caBundle": base64.b64encode(certificate.authority).decode(),
    }


async def configure(server, config):
    webhook = configuration(config, operations=["CREATE"], timeoutSeconds=5)
    await server.client.create(webhook)


async def write(server):
    await server.client.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "default"},
        }
    )


def service(**spec):
    meta = {"name": "hook", "namespace": "system"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


async def test_an_address_that_is_given_needs_no_service():
    async with (
        listening() as (hook, port),
        served(service_addresses=[f"system/hook=127.0.0.1:{port}"]) as server,
    ):
        await configure(server, client_config())
        await write(server)
        assert hook.hosts == ["hook.system.svc:443/review"]


async def test_an_external_name_is_called_on_the_port_of_the_webhook():
    async with listening() as (hook, port), served() as server:
        await server.client.create(service(type="ExternalName", externalName="localhost"))
        await configure(server, client_config(port=port))
        await write(server)
        assert hook.hosts == [f"hook.system.svc:{port}/review"]


OWN = {"service": {"namespace": "default", "name": "kubernetes", "path": "/apis/hooks.io/v1/a"}}
"""A webhook that an aggregated API server serves, and that is called through its aggregator."""


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tls": True},
        {"tls": True, "token_auth_file": "tokens", "authorization_mode": "RBAC"},
        {"token_auth_file": "tokens", "anonymous_auth": False, "host": "0.0.0.0"},
    ],
    ids=["open", "tls", "rbac", "all addresses"],
)
@pytest.mark.parametrize("bundle", ["", client_config()["caBundle"]], ids=["", "bundle"])
async def test_the_service_kubernetes_is_this_server(tmp_path, options, bundle):
    """From the first request on, with any certificate, and as a user of all rights."""
    if "token_auth_file" in options:
        (tmp_path / "tokens").write_text("token,admin,1,system:masters\n")
        options = {**options, "token_auth_file": tmp_path / "tokens"}
    users = []

    async def hook(request):
        users.append((request.headers["X-Remote-User"], request.headers.getall("X-Remote-Group")))
        uid = (await request.json())["request"]["uid"]
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return web.json_response({**answer, "response": {"uid": uid, "allowed": True}})

    app = web.Application()
    app.router.add_post("/apis/hooks.io/v1/a", hook)
    async with APIServer(aggregated={"v1.hooks.io": app}, **options) as server:
        await server.client.create(configuration({**OWN, "caBundle": bundle}, timeoutSeconds=5))
        await write(server)
    assert users == [("system:apiserver", ["system:masters", "system:authenticated"])]


async def test_a_webhook_that_this_server_does_not_serve():
    async with served() as server:
        await configure(server, {"service": {"namespace": "default", "name": "kubernetes"}})
        with pytest.raises(StatusError, match="invalid webhook response: webhook response was abs"):
            await write(server)


async def test_the_service_kubernetes_has_one_port():
    async with served() as server:
        await configure(server, {"service": {**OWN["service"], "port": 444}})
        with pytest.raises(StatusError, match='no service port 444 found for service "kubernetes"'):
            await write(server)


async def test_an_address_that_is_given_for_kubernetes_is_that_of_another_server():
    async with (
        listening(certificates.make_server(["kubernetes.default.svc"])) as (hook, port),
        served(service_addresses=[f"default/kubernetes=127.0.0.1:{port}"]) as server,
    ):
        await configure(server, OWN)
        with pytest.raises(StatusError, match="failed to verify certificate: x509"):
            await write(server)
        assert hook.hosts == []


async def test_the_certificate_has_to_be_the_services():
    async with (
        listening(OTHERS) as (hook, port),
        served(service_addresses=[f"system/hook=127.0.0.1:{port}"]) as server,
    ):
        await configure(server, client_config(OTHERS))
        with pytest.raises(StatusError, match="failed to verify certificate: x509"):
            await write(server)
        assert hook.hosts == []


async def test_conversion_calls_the_service_too():
    async with (
        listening() as (hook, port),
        served(service_addresses=[f"system/hook=127.0.0.1:{port}"]) as server,
    ):
        webhook = {"clientConfig": client_config(), "conversionReviewVersions": ["v1"]}
        conversion = {"strategy": "Webhook", "webhook": webhook}
        await server.client.create({**CRD, "spec": {**CRD["spec"], "conversion": conversion}})
        await server.settled()
        boat = {"kind": "Boat", "metadata": {"name": "a", "namespace": "default"}}
        made = await server.client.create({"apiVersion": "example.com/v2", **boat})
        assert made["apiVersion"] == "example.com/v2"
        assert set(hook.hosts) == {"hook.system.svc:443/review"}


ENDPOINTS = {
    "apiVersion": "v1",
    "kind": "Endpoints",
    "metadata": {"name": "hook", "namespace": "system"},
    "subsets": [
        {"addresses": [{"ip": "198.51.100.1"}], "ports": [{"name": "https", "port": 9443}]}
    ],
}
SLICE = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {
        "name": "hook-1",
        "namespace": "system",
        "labels": {"kubernetes.io/service-name": "hook"},
    },
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["198.51.100.2"]}],
    "ports": [{"name": "https", "port": 9444}],
}


async def test_a_service_leads_to_its_endpoint_slices_or_else_to_its_endpoints():
    async with served() as server:
        addresses = ServiceAddresses(server.store, {}, "127.0.0.1:1")
        with pytest.raises(UnresolvedError, match='service "hook" not found'):
            addresses.find("system", "hook", 443)
        await server.client.create(service(ports=[{"name": "https", "port": 443}]))
        with pytest.raises(UnresolvedError, match='no endpoints available for service "hook"'):
            addresses.find("system", "hook", 443)
        await server.client.create(ENDPOINTS)
        assert addresses.find("system", "hook", 443) == "198.51.100.1:9443"
        await server.client.create(SLICE)
        assert addresses.find("system", "hook", 443) == "198.51.100.2:9444"
        with pytest.raises(UnresolvedError, match='no service port 1 found for service "hook"'):
            addresses.find("system", "hook", 1)


async def test_a_simulated_pod_is_not_looked_for_on_the_network():
    async with served() as server:
        addresses = ServiceAddresses(server.store, {}, "127.0.0.1:1")
        await server.client.create(service(ports=[{"name": "https", "port": 443}]))
        target = {"kind": "Pod", "namespace": "system", "name": "hook-1"}
        ours = {"addresses": ["10.244.0.2"], "targetRef": target}
        await server.client.create(SLICE | {"endpoints": [ours]})
        assert addresses.find("system", "hook", 443) == "10.244.0.2:9444", "there is no such pod"
        meta = {"name": "hook-1", "namespace": "system"}
        spec = {"containers": [{"name": "c", "image": "i"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        await server.client.create(pod)
        with pytest.raises(UnresolvedError, match="use --service-address system/hook=HOST:PORT"):
            addresses.find("system", "hook", 443)
        patch = {"endpoints": [ours, *SLICE["endpoints"]]}
        plural = "discovery.k8s.io/v1/endpointslices"
        await server.client.patch(plural, "hook-1", "system", patch=patch)
        assert addresses.find("system", "hook", 443) == "198.51.100.2:9444"


@pytest.mark.parametrize("text", ["hook=a:1", "a/b=c", "a/b=c:0", "a/b=c:70000", "a/b=http://c:1"])
def test_an_address_that_makes_no_sense_is_refused(text):
    with pytest.raises(BadOption, match="NAMESPACE/NAME=HOST:PORT"):
        Options(service_addresses=[text])
