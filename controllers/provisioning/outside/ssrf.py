"""The guard against fetching from places only the server can reach.

URLs come from users; a host that resolves to a loopback, private or otherwise special address is
refused unless an option allows it. The addresses checked are the ones connected to, so a name that
resolves differently the second time gains nothing.
"""

import ipaddress
import socket
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from inkube.controllers.checks import Unreachable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Is it an ordinary address of the internet, looking through embedded IPv4 addresses too?"""
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
    """Decides which addresses may be connected to."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """Addresses of a host that may be connected to; blocks. Raises Unreachable."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise Unreachable(host, f"host {host} not found") from error
        addresses = [(str(entry[4][0]), port) for entry in found]
        self.check(host, [address for address, _ in addresses])
        return addresses

    def check(self, host: str, addresses: list[str]) -> None:
        """Refuse a host one of whose addresses is not public. Raises Unreachable."""
        if self._allow_private or all(is_public(address) for address in addresses):
            return
        reason = f"host {host} has a private address, which this server is not allowed to ask"
        raise Unreachable(host, reason, is_final=True)


class GuardedResolver(AbstractResolver):
    """aiohttp's resolver behind the guard; literal addresses pass it by: `refuse_literal`."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses, all of them permitted. Raises Unreachable, OSError."""
        found = await self._resolver.resolve(host, port, family)
        self._guard.check(host, [entry["host"] for entry in found])
        return found

    async def close(self) -> None:
        """Nothing is held."""
        await self._resolver.close()


def literal_address(host: str) -> str | None:
    """The host itself when it is an address, not a name."""
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return None


def refuse_literal(guard: Guard, host: str) -> None:
    """Check a host that is an address. Raises Unreachable."""
    address: Any = literal_address(host)
    if address is not None:
        guard.check(host, [address])
