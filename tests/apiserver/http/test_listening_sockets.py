"""Listening sockets for the addresses of a name."""

import contextlib
import socket
from collections.abc import Iterator, Sequence

import pytest

from inkube.apiserver.http import sites

ABSENT = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))
"""An address for documentation, which no machine has."""


def found(host: str) -> Sequence[sites.AddressInfo]:
    return socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)


@pytest.fixture
def listening(request: pytest.FixtureRequest) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(each) for each in sites.listen(request.param)]


def answers(host: str, port: int) -> bool:
    with socket.create_connection((host, port), timeout=5):
        return True


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6")
@pytest.mark.parametrize("listening", [found("::")], indirect=True)
def test_the_unspecified_address_of_ipv6_is_that_of_both_families(listening) -> None:
    [only] = listening
    assert all(answers(host, only.getsockname()[1]) for host in ("127.0.0.1", "::1"))


@pytest.mark.parametrize("listening", [[*found("127.0.0.1"), *found("127.0.0.2")]], indirect=True)
def test_the_addresses_of_a_name_share_a_port(listening) -> None:
    addresses = {each.getsockname()[0] for each in listening}
    ports = {each.getsockname()[1] for each in listening}
    assert (addresses, len(ports)) == ({"127.0.0.1", "127.0.0.2"}, 1)


@pytest.mark.parametrize("listening", [[ABSENT, *found("127.0.0.1"), ABSENT]], indirect=True)
def test_an_address_that_the_machine_does_not_have_is_left_out(listening) -> None:
    [only] = listening
    assert answers("127.0.0.1", only.getsockname()[1])


def test_an_error_is_raised_if_the_machine_has_no_address_of_a_name() -> None:
    with pytest.raises(OSError, match=r"192\.0\.2\.1"):
        list(sites.listen([ABSENT]))
