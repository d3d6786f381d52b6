"""The guard against requests to addresses that only the server can reach.

URLs come from users. A host that resolves to a loopback, private or otherwise special address is
rejected unless an option permits it. The checked addresses are the ones of the connection, so a
name that later resolves to another address does not bypass the guard.
"""

import ipaddress
import socket
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from inkube.kinds import Unreachable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Return whether it is an ordinary address of the internet; embedded IPv4 addresses are checked
    too."""
    try:
        found: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or _nat64(found)
        if inner is not None:
            return is_public(str(inner))
        if found.teredo is not None:
            return False
    return found.is_global and not found.is_multicast


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None


class Guard:
    """Decides which addresses the server can connect to."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """Return the addresses of a host, if all are permitted. Blocks. Raises Unreachable."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise Unreachable(host, f"host {host} not found") from error
        addresses = [(str(entry[4][0]), port) for entry in found]
        self.check(host, [address for address, _ in addresses])
        return addresses

    def check(self, host: str, addresses: list[str]) -> None:
        """Reject a host with an address that is not public. Raises Unreachable."""
        if self._allow_private or all(is_public(address) for address in addresses):
            return
        reason = f"host {host} has a private address, which this server is not allowed to ask"
        raise Unreachable(host, reason, is_final=True)


class GuardedResolver(AbstractResolver):
    """aiohttp's resolver behind the guard. aiohttp does not resolve literal addresses; see
    `refuse_literal`."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses, if all of them are permitted. Raises Unreachable, OSError."""
        found = await self._resolver.resolve(host, port, family)
        self._guard.check(host, [entry["host"] for entry in found])
        return found

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._resolver.close()


def literal_address(host: str) -> str | None:
    """Return the address, if the host is an address; None for a name."""
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return None


def refuse_literal(guard: Guard, host: str) -> None:
    """Check a host that is an address. Raises Unreachable."""
    address: Any = literal_address(host)
    if address is not None:
        guard.check(host, [address])
