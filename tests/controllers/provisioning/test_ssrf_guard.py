"""The SSRF guard: the addresses to which users may let a server connect."""

import pytest

from inkube.controllers.checks import Unreachable
from inkube.controllers.provisioning.outside.ssrf import Guard, is_public


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1",
        "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "not an address",
    ],
)  # fmt: skip
def test_private_addresses_are_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["140.82.121.4", "2606:50c0:8000::153", "::ffff:8.8.8.8"])
def test_public_addresses_are_allowed(address):
    assert is_public(address)


def test_one_private_address_among_several_refuses_the_host():
    with pytest.raises(Unreachable, match="not allowed"):
        Guard().check("mixed.example", ["8.8.8.8", "127.0.0.1"])
    Guard(allow_private=True).check("mixed.example", ["127.0.0.1"])


def test_what_is_resolved_is_what_is_checked():
    with pytest.raises(Unreachable, match="not allowed"):
        Guard().resolve("localhost", 80)
    addresses = Guard(allow_private=True).resolve("127.0.0.1", 80)
    assert addresses == [("127.0.0.1", 80)]
