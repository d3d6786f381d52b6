"""The files of a server's certificate and of its authorities for clients, followed as they change.

A connection begins with what the files contain at that moment: they are checked when it begins, so
a server without new connections does nothing. Loaded only with TLS. Follows
apiserver/pkg/server/dynamiccertificates.
"""

import logging
import os
import ssl
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from inkube.apiserver.auth import tls

T = TypeVar("T")

logger = logging.getLogger(__name__)
_RECENT: Final = 2_000_000_000
"""Nanoseconds. A file that was changed less than this ago is read again, because two changes can
have the same time."""


class NamedPair(NamedTuple):
    """The files of a certificate and of its key, for clients that ask for one of the names."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()
    """`*` is the first label of any name. The address at which the server listens is for clients
    that ask for no name. Without names, those in the certificate."""


def parse_named(text: str) -> NamedPair:
    """Read `FILE,KEY` or `FILE,KEY:NAME,…`. Raises ValueError."""
    files, colon, names = (part.strip() for part in text.partition(":"))
    if colon and not names:
        raise ValueError("empty names list is not allowed")
    pair = [Path(each.strip()) for each in files.split(",")]
    if len(pair) != 2:
        raise ValueError("expected comma separated certificate and key file paths")
    return NamedPair(pair[0], pair[1], tuple(each.strip() for each in names.split(",") if names))


class Followed(Generic[T]):
    """What `load` makes of some files. Content that it refuses leaves the previous one in force,
    and is logged as an error one time. `load` raises OSError or ValueError, also here."""

    def __init__(self, paths: Sequence[Path], load: Callable[[], T]) -> None:
        self._paths = paths
        self._load = load
        self._stamps: object = None
        self._contents = [path.read_bytes() for path in paths]
        self._problem = ""
        self.value = load()

    def has_changed(self) -> bool:
        """Load the files again if they have changed. Returns whether that changed the value."""
        try:
            stats = [os.stat(path) for path in self._paths]
            stamps = [(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats]
            if stamps == self._stamps:
                return False
            is_recent = any(stat.st_mtime_ns > time.time_ns() - _RECENT for stat in stats)
            self._stamps = None if is_recent else stamps
            contents = [path.read_bytes() for path in self._paths]
            if contents == self._contents:
                return False
            self._contents = contents
            self.value = self._load()
        except (OSError, ValueError) as error:
            self._report(str(error))
            return False
        self._problem = ""
        logger.info("reloaded %s", self._names)
        return True

    @property
    def _names(self) -> str:
        return " and ".join(map(str, self._paths))

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            logger.error(
                "reloading %s: %s; what was read before stays in force", self._names, problem
            )


class FollowingContext(ssl.SSLContext):
    """Gives each new connection the context for the current content of the files.

    A context of its own for each content, because a session that a client resumes must not outlive
    the authority of its certificate. Raises ssl.SSLError or OSError for unreadable files,
    ValueError for an invalid authority.
    """

    def __init__(
        self,
        _: int,
        certificate: tls.Certificate,
        pair: tuple[Path, Path] | None,
        named: Sequence[NamedPair],
        clients: Path | None,
        proxies: Path | None,
        oldest: str,
        names_in: Callable[[bytes], Sequence[str]],
    ) -> None:
        """`names_in` returns the names in a certificate, in PEM (`certificates.names`)."""
        self._names_in = names_in
        self._certificate = certificate
        self._pair = _pair(*pair) if pair else None
        self._named = [(_pair(each.certificate, each.key), each.names) for each in named]
        self._clients, self._proxies = _authority(clients), _authority(proxies)
        self._oldest = oldest
        self._trusted: list[str] = []
        self._address = ""
        self._current = self._new()
        self.on_authorities: list[Callable[[], None]] = []
        """Called after a change of the authorities."""

    def serve_at(self, address: str) -> None:
        """Let clients that ask for no name see the certificate for the address of the server."""
        self._address = address
        self._current = self._new()

    def trust(self, authority: str) -> None:
        """Also accept client certificates of an authority, in PEM, on new connections."""
        self._trusted.append(authority)
        self._current = self._new()

    @property
    def authorities(self) -> tuple[str, str]:
        """The certificates of the authorities of clients and of front proxies, in PEM."""
        return self._current.clients, self._current.proxies

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Begin a connection."""
        self._check()
        return self._current.wrap_bio(*args, **options)

    def _check(self) -> None:
        pairs = [pair for pair in (self._pair, *(pair for pair, _ in self._named)) if pair]
        have_new = [pair.has_changed() for pair in pairs]
        authorities = [each for each in (self._clients, self._proxies) if each is not None]
        have_changed = [each.has_changed() for each in authorities]
        if any(have_new) or any(have_changed):
            self._current = self._new()
        if any(have_changed):
            for call in self.on_authorities:
                call()

    def _new(self) -> tls.Context:
        made = self._of(self._pair.value if self._pair else self._certificate)
        if by_name := self._by_name():
            made.sni_callback = partial(_choose, by_name, by_name.get(self._address))
        return made

    def _by_name(self) -> dict[str, tls.Context]:
        """Return the contexts for names. The first one of a name counts, and one in the options
        before one in a certificate (server/dynamiccertificates/named_certificates.go)."""
        given: dict[str, tls.Context] = {}
        found: dict[str, tls.Context] = {}
        for pair, names in self._named:
            context = self._of(pair.value)
            for name in names or self._names_in(pair.value.chain):
                (given if names else found).setdefault(name, context)
        return found | given

    def _of(self, certificate: tls.Certificate) -> tls.Context:
        """Return a context with a certificate, for all authorities."""
        certificate = certificate._replace(clients=self._certificate.clients)
        clients, proxies = ("" if each is None else each.value
                            for each in (self._clients, self._proxies))  # fmt: skip
        made = tls.context(certificate, clients, proxies, self._oldest)
        for authority in self._trusted:
            tls.trust(made, authority)
        return made


def _choose(
    by_name: dict[str, tls.Context],
    of_address: tls.Context | None,
    connection: ssl.SSLObject,
    name: str | None,
    _: ssl.SSLContext,
) -> None:
    """Continue a handshake with the certificate for a name, as crypto/tls does, or without a name
    with that for the address (GetConfigForClient in server/dynamiccertificates/tlsconfig.go)."""
    name = (name or "").lower().rstrip(".")
    found = by_name.get(name) or by_name.get(f"*.{name.partition('.')[2]}") if name else of_address
    if found is not None:
        connection.context = found


def _pair(certificate: Path, key: Path) -> Followed[tls.Certificate]:
    return Followed([certificate, key], lambda: tls.read(certificate, key))


def _authority(path: Path | None) -> Followed[str] | None:
    return None if path is None else Followed([path], lambda: tls.read_authority(path))
