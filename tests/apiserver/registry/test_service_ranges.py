"""ServiceCIDRs and IPAddresses over HTTP, as their controllers and the allocator use them."""

import asyncio

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.registry import JSONCodec
from inkube.controllers.clock import FakeClock
from inkube.storage import Store, sqlite_log

NETWORKING = "/apis/networking.k8s.io/v1"
SERVICES = "/api/v1/namespaces/default/services"
MERGE = {"Content-Type": "application/merge-patch+json"}


class Http:
    """Requests for one server."""

    def __init__(self, session):
        self._session = session

    async def __call__(self, method, path, body=None, **headers):
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def service(self, name, **spec):
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
        return await self("POST", SERVICES, body)

    async def addresses(self):
        _, found = await self("GET", f"{NETWORKING}/ipaddresses")
        return {each["metadata"]["name"]: each for each in found["items"]}


@pytest.fixture
async def server():
    ranges = "10.0.0.0/24,fd00::/108"
    async with APIServer(service_cluster_ip_range=ranges) as server:
        yield server


@pytest.fixture
async def http(server):
    async with aiohttp.ClientSession(server.url) as session:
        yield Http(session)


def parent(address):
    reference = address["spec"]["parentRef"]
    return reference["resource"], reference["namespace"], reference["name"]


async def test_each_cluster_ip_has_an_address_object_whatever_is_deleted(server, http):
    made = [await http.service(name, ipFamilyPolicy="PreferDualStack") for name in "ab"]
    ips = {ip: each["metadata"]["name"] for _, each in made for ip in each["spec"]["clusterIPs"]}
    assert len(ips) == 4
    found = await http.addresses()
    assert {name: parent(each)[2] for name, each in found.items()} == ips | {
        "10.0.0.1": "kubernetes"
    }
    lost = next(ip for ip in ips if ":" in ip)
    assert found[lost]["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv6",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    assert parent(found[lost]) == ("services", "default", ips[lost])
    await http("DELETE", f"{NETWORKING}/ipaddresses/{lost}")
    again = await http.addresses()
    assert again.keys() == found.keys()
    assert again[lost]["metadata"]["uid"] != found[lost]["metadata"]["uid"]
    # a service of one family again, and a deleted one
    single = {"spec": {"ipFamilyPolicy": "SingleStack"}}
    _, changed = await http("PATCH", f"{SERVICES}/a", single, **MERGE)
    assert changed["spec"]["clusterIPs"] == made[0][1]["spec"]["clusterIPs"][:1]
    await http("DELETE", f"{SERVICES}/b")
    assert (await http.addresses()).keys() == {"10.0.0.1", *changed["spec"]["clusterIPs"]}
    await server.settled()  # only the deletion by a client is an event
    [event] = await server.client.list("events.k8s.io/v1/events", "default")
    assert (event["reason"], event["action"]) == ("ClusterIPNotAllocated", "ClusterIPAllocation")
    assert event["note"] == f"Cluster IP [IPv6]: {lost} is not allocated; repairing"
    assert event["regarding"]["name"] == ips[lost]


async def test_addresses_that_no_service_has_are_deleted_and_wrong_ones_replaced():
    """The texts are those of a kube-apiserver 1.36.2."""
    clock, cidr = FakeClock(), "10.0.0.0/24"
    labels = {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    of_service = {"resource": "services", "namespace": "default"}
    gateway = {"group": "g.io", "resource": "gateways", "namespace": "default", "name": "g"}
    parents = {
        "10.0.0.70": gateway,
        "10.0.0.71": {**of_service, "name": "missing"},
        "10.0.0.72": {**of_service, "name": "kubernetes"},
    }
    async with (
        APIServer(service_cluster_ip_range=cidr, controllers=False, clock=clock) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        http = Http(session)
        for name, parent in parents.items():
            body = {"metadata": {"name": name, "labels": labels}, "spec": {"parentRef": parent}}
            assert (await http("POST", f"{NETWORKING}/ipaddresses", body))[0] == 201
        left = []
        for seconds in (0, 5, 55):
            clock.advance(seconds)
            await server.settled()
            left.append(set(await http.addresses()) - {"10.0.0.1"})
        events = await server.client.list("events.k8s.io/v1/events", "default")
    assert left == [{"10.0.0.71", "10.0.0.72"}, {"10.0.0.71"}, set()]
    reference = "Group:g.io,Resource:gateways,Namespace:default,Name:g,"
    reference = f"not referencing a Service &ParentReference{{{reference}}}"
    assert {(each["regarding"]["name"], each["reason"], each["note"]) for each in events} == {
        ("10.0.0.70", "IPAddressNotAllocated",
         f"IPAddress 10.0.0.70 appears to have been modified, {reference}: cleaning up"),
        ("10.0.0.71", "IPAddressNotAllocated",
         "IPAddress: 10.0.0.71 for Service default/missing appears to have leaked: cleaning up"),
        ("10.0.0.72", "IPAddressWrongReference",
         "IPAddress: 10.0.0.72 for Service default/kubernetes has a wrong reference; cleaning up"),
    }  # fmt: skip


async def test_a_service_that_becomes_a_name_loses_what_it_does_not_use(http):
    policies = {"externalTrafficPolicy": "Local", "ipFamilyPolicy": "PreferDualStack"}
    await http.service("a", type="LoadBalancer", **policies)
    name = {"spec": {"type": "ExternalName", "externalName": "x.y"}}
    code, changed = await http("PATCH", f"{SERVICES}/a", name, **MERGE)
    assert (code, changed["spec"]) == (
        200,
        {
            "type": "ExternalName",
            "externalName": "x.y",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "sessionAffinity": "None",
        },
    )


async def test_errors_of_addresses_and_ports_are_those_of_the_first_that_is_refused(http):
    """The texts and their order are those of a kube-apiserver 1.36.2."""
    outside = {"clusterIP": "10.9.0.1"}
    _, refused = await http.service("a", ipFamilyPolicy="PreferDualStack", **outside)
    assert refused["message"] == (
        'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.9.0.1",""]: failed to '
        "allocate IP 10.9.0.1: the provided network does not match the current range"
    )
    _, refused = await http.service("a", type="ExternalName", externalName="x.y", **outside)
    assert refused["message"] == (
        'Service "a" is invalid: spec.clusterIPs: Forbidden: may not be set for ExternalName '
        "services"
    )
    await http.service("a")
    ports = [{"port": 80, "nodePort": 29999}]
    changed = {"spec": {"type": "NodePort", "ports": ports, "clusterIP": "10.0.0.81"}}
    _, refused = await http("PATCH", f"{SERVICES}/a", changed, **MERGE)
    assert refused["message"] == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 29999: provided port is '
        "not in the valid range. The range of valid ports is 30000-32767"
    )


async def test_an_address_of_another_owner_is_not_assigned(http):
    reference = {"group": "gateway.networking.k8s.io", "resource": "gateways", "name": "g"}
    body = {"metadata": {"name": "10.0.0.77"}, "spec": {"parentRef": reference}}
    assert (await http("POST", f"{NETWORKING}/ipaddresses", body))[0] == 201
    code, refused = await http.service("a", clusterIP="10.0.0.77")
    assert (code, "provided IP is already allocated" in refused["message"]) == (422, True)
    code, refused = await http.service("a", clusterIP="10.0.0.1")  # of the service kubernetes
    assert (code, "provided IP is already allocated" in refused["message"]) == (422, True)
    await http("DELETE", f"{NETWORKING}/ipaddresses/10.0.0.77")
    assert (await http.service("a", clusterIP="10.0.0.77"))[0] == 201


async def test_a_range_is_used_until_it_is_deleted_and_stays_while_it_is_needed(server, http):
    outside = {"clusterIP": "10.9.0.5"}
    code, refused = await http.service("a", **outside)
    assert (code, "does not match the current range" in refused["message"]) == (422, True)
    body = {"metadata": {"name": "more"}, "spec": {"cidrs": ["10.9.0.0/28"]}}
    assert (await http("POST", f"{NETWORKING}/servicecidrs", body))[0] == 201
    assert (await http.service("a", **outside))[0] == 201
    await server.settled()
    more = f"{NETWORKING}/servicecidrs/more"
    _, found = await http("GET", more)
    (ready,) = found["status"]["conditions"]
    assert (ready["type"], ready["status"]) == ("Ready", "True")
    wider = {"spec": {"cidrs": ["10.9.0.0/27"]}}
    assert (await http("PATCH", more, wider, **MERGE))[0] == 422
    dual = {"spec": {"cidrs": ["10.9.0.0/28", "fd01::/108"]}}
    assert (await http("PATCH", more, dual, **MERGE))[0] == 200
    await http("DELETE", more)
    assert (await http.service("b", clusterIP="10.9.0.6"))[0] == 422
    await server.settled()
    _, found = await http("GET", more)
    (ready,) = found["status"]["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "Terminating")
    await http("DELETE", f"{SERVICES}/a")
    await server.settled()
    assert (await http("GET", more))[0] == 404


async def test_services_of_a_server_with_ipv6_only_have_addresses_of_ipv6():
    async with APIServer(service_cluster_ip_range="fd00::/112", controllers=False) as server:
        made = await asyncio.gather(*(
            server.client.create({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": f"s{index}"},
                "spec": {"ports": [{"port": 80}]},
            })
            for index in range(20)
        ))  # fmt: skip
        assert len({each["spec"]["clusterIP"] for each in made}) == 20
        assert {tuple(each["spec"]["ipFamilies"]) for each in made} == {("IPv6",)}


def test_a_range_that_cannot_be_used_ends_the_start():
    with pytest.raises(ValueError, match="two ranges of one family"):
        APIServer(service_cluster_ip_range="10.0.0.0/16,10.1.0.0/16")


async def test_the_default_range_gets_the_second_one_of_the_options(tmp_path):
    ranges = "networking.k8s.io/v1/servicecidrs"
    found = []
    for cidrs in ("10.0.0.0/24", "10.0.0.0/24,fd00::/108", "10.1.0.0/24"):
        async with APIServer(data=tmp_path / "data.db", service_cluster_ip_range=cidrs) as server:
            async with aiohttp.ClientSession(server.url) as session:
                await Http(session)("GET", f"{NETWORKING}/servicecidrs")
            await server.settled()
            stored = await server.client.get(ranges, "kubernetes")
            events = await server.client.list("v1/events", "default")
            found.append((stored["spec"]["cidrs"], [each["message"] for each in events]))
    both = ["10.0.0.0/24", "fd00::/108"]
    differs = "The default ServiceCIDR [10.0.0.0/24 fd00::/108] does not match the controller flag "
    assert found == [
        (["10.0.0.0/24"], []),
        (both, []),
        (both, [differs + "configurations [10.1.0.0/24]"]),
    ]


async def test_another_server_restores_the_default_range_with_its_own(tmp_path):
    """The service `kubernetes` and its ServiceCIDR exist again ten seconds after a deletion."""
    ranges = "networking.k8s.io/v1/servicecidrs"
    found = []
    for cidr in ("10.0.0.0/24", "10.1.0.0/24"):
        clock = FakeClock()
        data = tmp_path / "data.db"
        async with APIServer(data=data, service_cluster_ip_range=cidr, clock=clock) as server:
            async with aiohttp.ClientSession(server.url) as session:
                http = Http(session)
                await http("GET", f"{NETWORKING}/servicecidrs")
                if found:
                    await http("DELETE", f"{NETWORKING}/servicecidrs/kubernetes")
                    await http("DELETE", f"{SERVICES}/kubernetes")
                await server.settled()
                if found:
                    assert (await http("GET", f"{NETWORKING}/servicecidrs/kubernetes"))[0] == 404
                    clock.advance(10)
                    await server.settled()
            stored = await server.client.get(ranges, "kubernetes")
            service = await server.client.get("v1/services", "kubernetes", "default")
            [condition] = stored["status"]["conditions"]
            found.append((stored["spec"]["cidrs"], service["spec"]["clusterIP"]))
            assert condition["status"] == "True"
    assert found == [(["10.0.0.0/24"], "10.0.0.1"), (["10.1.0.0/24"], "10.1.0.1")]


async def test_services_outside_the_ranges_and_twins_are_warned_of(tmp_path):
    """The texts are those of the repair controllers of kube-apiserver."""
    data, cidr = tmp_path / "data.db", "10.0.0.0/24"
    async with (
        APIServer(data=data, controllers=False, service_cluster_ip_range=cidr) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        for name in "ab":
            ports = [{"port": 80, "nodePort": 30500 + ord(name)}]
            address = f"10.0.0.{ord(name)}"
            await Http(session).service(name, type="NodePort", ports=ports, clusterIP=address)
        await Http(session).addresses()
    async with Store(sqlite_log(data), JSONCodec()) as store:  # no write of a server can do this
        value = store.get("/registry/services/default/b").value
        twin = {**value, "metadata": {**value["metadata"], "name": "c", "uid": "c"}}
        await store.create("/registry/services/default/c", twin)
        outside = {**twin, "metadata": {**value["metadata"], "name": "d", "uid": "d"}}
        outside["spec"] = {"clusterIP": "10.9.0.1", "clusterIPs": ["10.9.0.1"]}
        await store.create("/registry/services/default/d", outside)
        key = "/registry/ipaddresses/10.0.0.97"
        found = store.get(key)
        gateway = {"group": "g.io", "resource": "gateways", "name": "g"}
        await store.update(key, {**found.value, "spec": {"parentRef": gateway}}, found.revision)
    async with APIServer(
        data=data,
        controllers=False,
        service_cluster_ip_range=cidr,
        service_node_port_range="30598-30700",
    ) as server:
        await server.settled()
        events = await server.client.list("events.k8s.io/v1/events", "default")
    told = {
        (each["regarding"]["name"], each["action"], each["reason"], each["note"]) for each in events
    }
    again = "please recreate service"
    assert told == {
        ("a", "PortAllocation", "PortOutOfRange",
         f"Port 30597 is not within the port range 30598-30700; {again}"),
        ("c", "PortAllocation", "PortAlreadyAllocated",
         f"Port 30598 was assigned to multiple services; {again}"),
        ("c", "ClusterIPAllocation", "ClusterIPAlreadyAllocated",
         f"Cluster IP [IPv4]:10.0.0.98 was assigned to multiple services; {again}"),
        ("d", "ClusterIPAllocation", "ClusterIPOutOfRange",
         f"Cluster IP [IPv4]: 10.9.0.1 is not within any configured Service CIDR; {again}"),
        ("a", "ClusterIPAllocation", "ClusterIPNotAllocated",
         "the ClusterIP [IPv4]: 10.0.0.97 for Service default/a has a wrong reference; repairing"),
    }  # fmt: skip
