"""Cluster IPs and node ports, compared with a model: no two services ever have the same."""

import ipaddress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inkube.schemas.builtin.strategies import allocation
from inkube.schemas.builtin.strategies.allocators import (
    NODE_PORTS,
    Allocator,
    ServiceRange,
    items,
    key_of,
)
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Reservation, ReservationLost

NAMES = st.sampled_from("abcdef")
PORTS = st.sampled_from([None, *NODE_PORTS[:4]])


def service(name, *ports, kind="NodePort"):
    meta = {"namespace": "ns", "name": name, "uid": name * 8}
    listed = [
        {"port": 80 + index, "protocol": "TCP"} | ({"nodePort": number} if number else {})
        for index, number in enumerate(ports)
    ]
    return {"metadata": meta, "spec": {"type": kind, "ports": listed}}


def claim(name, resource="gateways"):
    parent = {"group": "x.io", "resource": resource, "namespace": "ns", "name": "a"}
    return {"metadata": {"name": name}, "spec": {"parentRef": parent}}


class Services(RuleBasedStateMachine):
    """Concurrent writes, some of them refused, as the registry makes them."""

    def __init__(self):
        super().__init__()
        self.allocator = Allocator("10.0.0.0/28")
        self.stored = {}
        self.underway = []
        self.claimed = set()

    @rule(name=NAMES, ports=st.lists(PORTS, min_size=1, max_size=3))
    def begin(self, name, ports):
        made, reservation = service(name, *ports), Reservation()
        old = self.stored.get(name)
        if old is not None:
            made["spec"] |= {each: old["spec"][each] for each in ("clusterIP", "clusterIPs")}
        try:
            allocation.allocate(made, self.allocator, reservation, old)
        except StatusError:  # there are more ports than one run needs
            assert self.addresses() | self.claimed >= set(
                ServiceRange("10.0.0.0/28").addresses(0)
            ) - {"10.0.0.1"}
            reservation.release()
            return
        if allocation.refused(made, old, self.allocator):
            reservation.release()
        else:
            self.underway.append((made, reservation))

    def addresses(self):
        """Return the addresses of stored services and of pending writes."""
        every = [*self.stored.values(), *(made for made, _ in self.underway)]
        return {each["spec"]["clusterIP"] for each in every}

    @precondition(lambda self: self.underway)
    @rule(at=st.integers(0, 50), refuses=st.booleans())
    def end(self, at, refuses):
        made, reservation = self.underway.pop(at % len(self.underway))
        if not refuses:
            for check in reservation.checks:
                check()  # only this test writes the store
            name = made["metadata"]["name"]
            self.allocator.change(self.stored.get(name), made)
            self.stored[name] = made
        reservation.release()

    @precondition(lambda self: self.stored)
    @rule(at=st.integers(0, 50))
    def delete(self, at):
        name = sorted(self.stored)[at % len(self.stored)]
        self.allocator.change(self.stored.pop(name), None)

    @rule(last=st.integers(2, 14))
    def claim(self, last):
        """A client makes an IPAddress for something else than a service."""
        name = f"10.0.0.{last}"
        if name not in self.addresses():
            self.claimed.add(name)
            self.allocator.change_claim(claim(name), is_deleted=False)

    @precondition(lambda self: self.claimed)
    @rule(at=st.integers(0, 50))
    def unclaim(self, at):
        name = sorted(self.claimed)[at % len(self.claimed)]
        self.claimed.remove(name)
        self.allocator.change_claim(claim(name), is_deleted=True)

    @rule()
    def restart(self):
        if not self.underway:
            self.allocator = Allocator("10.0.0.0/28")
            self.allocator.load(self.stored.values())
            self.allocator.claim(map(claim, self.claimed))

    @invariant()
    def nobody_has_what_another_has(self):
        held = [item for each in self.stored.values() for item in items(each)] + [*self.claimed]
        assert len(held) == len(set(held))

    def teardown(self):
        """Check that finished writes reserve nothing."""
        while self.underway:
            self.underway.pop()[1].release()
        for each in self.stored.values():
            self.allocator.change(each, None)
        assert self.allocator.take_port("ns/z", 0) is not None
        assert not any(self.allocator.is_anothers(port, "ns/z") for port in NODE_PORTS)


Services.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestServices = Services.TestCase


def test_a_write_that_finds_no_address_left_holds_none_of_its_ports():
    allocator, reservations = Allocator("10.0.0.0/28"), []
    for name in "abcdefghijklm":
        reservations.append(Reservation())
        allocation.allocate(service(name, None), allocator, reservations[-1])
    late = Reservation()
    with pytest.raises(StatusError, match="failed to allocate a serviceIP: range is full"):
        allocation.allocate(service("n", 30_500), allocator, late)
    late.release()
    assert not allocator.is_anothers(30_500, "ns/z")
    assert allocator.take_address("ns/z", 0) is None
    reservations[4].release()
    assert allocator.take_address("ns/z", 0) is not None


def test_every_port_of_the_range_is_given_once_before_it_is_full():
    allocator = Allocator()
    given = [allocator.take_port(f"ns/{index}", index * 7919) for index in range(len(NODE_PORTS))]
    assert sorted(filter(None, given)) == list(NODE_PORTS)
    assert allocator.take_port("ns/late", 0) is None


def test_the_lower_ports_are_left_to_those_who_choose_until_they_are_needed():
    allocator = Allocator()
    given = [allocator.take_port(f"ns/{index}", 0) for index in range(len(NODE_PORTS))]
    assert given[-86:] == list(NODE_PORTS[:86])


@pytest.mark.parametrize(
    "cidr", ["fd00::/120", "10.0.0.0/29", "10.0.0.0/28", "10.1.0.0/24", "10.0.0.0/20"]
)
def test_every_address_of_a_range_is_given_once_but_those_nobody_may_have(cidr):
    addresses = ServiceRange(cidr)
    found, is_v4 = list(addresses.addresses(12_345)), addresses.family == "IPv4"
    assert len(found) == len(set(found)) == addresses.network.num_addresses - 1 - is_v4
    assert str(addresses.network.network_address) not in found
    assert (str(addresses.network.broadcast_address) in found) is not is_v4
    assert all(addresses.has(ipaddress.ip_address(each)) for each in found)


def test_a_range_of_ipv6_is_too_long_to_count_and_assigns_addresses():
    found = ServiceRange("fd00::/64").addresses(12_345)
    assert [next(found) for _ in range(2)] == ["fd00::3139", "fd00::313a"]


@pytest.mark.parametrize(
    ("cidrs", "why"),
    [
        ("fd00::/63", "needs a prefix of /64 to /128"),
        ("10.0.0.0/30", "10.0.0.0/30 has room for no services"),
        ("10.0.0.0/16,10.1.0.0/16", "has two ranges of one family"),
        ("10.0.0.0/16,fd00::/108,fd01::/108", "has 3 ranges"),
        ("10.0.0.1/16", "has host bits set"),
    ],
)
def test_ranges_that_cannot_be_used_are_refused(cidrs, why):
    with pytest.raises(ValueError, match=why):
        Allocator(cidrs)


def service_cidr(name, *cidrs, ready="True", **meta):
    conditions = [{"type": "Ready", "status": ready}]
    metadata = {"name": name, **meta}
    return {"metadata": metadata, "spec": {"cidrs": [*cidrs]}, "status": {"conditions": conditions}}


def test_addresses_come_from_every_range_that_is_ready_and_not_ending():
    allocator, address = Allocator("10.0.0.0/28"), ipaddress.ip_address
    default = service_cidr("kubernetes", "10.0.0.0/28")
    allocator.use_ranges([
        default,
        service_cidr("more", "10.1.0.0/30", "fd00::/120"),
        service_cidr("small", "10.5.0.0/32"),
        service_cidr("waits", "10.2.0.0/28", ready="False"),
        service_cidr("ends", "10.3.0.0/28", deletionTimestamp="2026-01-01T00:00:00Z"),
    ])  # fmt: skip
    found = []
    while (one := allocator.take_address("ns/a", 0)) is not None:
        found.append(one)
    assert set(found) == {*(f"10.0.0.{n}" for n in range(2, 15)), "10.1.0.1", "10.1.0.2"}
    assert allocator.take_address("ns/a", 0, "IPv6") is None  # no family of this cluster
    assert allocator.range_of(address("10.3.0.1")) is None
    allocator.use_ranges([service_cidr("kubernetes", "10.4.0.0/28")])
    assert allocator.range_of(address("10.0.0.1")) is None
    allocator.use_ranges([])
    assert allocator.range_of(address("10.0.0.1")) is not None


def test_a_range_that_ends_while_a_write_takes_its_address_refuses_the_commit():
    allocator, reservation = Allocator("10.0.0.0/28"), Reservation()
    made = service("a", None)
    allocation.allocate(made, allocator, reservation)
    allocator.use_ranges([service_cidr("kubernetes", "10.4.0.0/28")])
    (check,) = reservation.checks
    with pytest.raises(ReservationLost, match=made["spec"]["clusterIP"]):
        check()


def test_two_ranges_are_used_on_data_with_the_first_one():
    allocator = Allocator("10.0.0.0/28,fd00::/108")
    allocator.use_ranges([service_cidr("kubernetes", "10.0.0.0/28")])
    assert allocator.take_address("ns/a", 0, "IPv6") is not None


def test_what_another_process_stored_meanwhile_refuses_the_commit():
    allocator, reservation = Allocator(), Reservation()
    made = service("a", 30_500)
    allocation.allocate(made, allocator, reservation)
    assert allocation.refused(made, None, allocator) == []
    allocator.change(None, service("b", 30_500))
    (check,) = reservation.checks
    with pytest.raises(ReservationLost, match="30500"):
        check()
    (error,) = allocation.refused(made, None, allocator)
    assert error.text() == (
        "spec.ports[0].nodePort: Invalid value: 30500: provided port is already allocated"
    )


def test_ports_of_one_number_share_a_node_port():
    made = service("dns", None, None)
    made["spec"]["ports"] = [
        {"port": 53, "protocol": protocol, "name": protocol.lower()} for protocol in ("TCP", "UDP")
    ]
    allocation.allocate(made, Allocator(), None)
    first, second = (port["nodePort"] for port in made["spec"]["ports"])
    assert first == second


def test_a_load_balancer_that_keeps_sources_has_a_port_for_its_checks():
    made = service("a", None, kind="LoadBalancer")
    made["spec"]["externalTrafficPolicy"] = "Local"
    allocation.allocate(made, Allocator(), None)
    ports = {made["spec"]["healthCheckNodePort"], made["spec"]["ports"][0]["nodePort"]}
    assert len(ports) == 2
    assert ports <= set(NODE_PORTS)
    assert ports <= items(made)
    assert key_of(made) == "ns/a"


def test_what_another_type_has_no_use_for_is_forgotten():
    old = service("a", 30_700, kind="LoadBalancer")["spec"]
    old |= {"externalTrafficPolicy": "Local", "healthCheckNodePort": 30_701}
    old |= {"allocateLoadBalancerNodePorts": True}
    new = {**old, "type": "ClusterIP", "ports": [dict(old["ports"][0])]}
    allocation.drop_of_other_type(new, old)
    assert new == {"type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]}
