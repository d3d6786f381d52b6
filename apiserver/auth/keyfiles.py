"""Secret keys in files next to the data, readable only by their owner."""

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from inkube import storage
from inkube.storage import errors

CHECKED = ("tokens.key", "key", "front-proxy.pem")
"""The names of the keys that are checked at a start (`keychecks`)."""


class StoredKey(NamedTuple):
    """A key that was read."""

    name: str
    key: bytes
    location: str
    """Where it is stored, for messages."""


class Keys(Protocol):
    """The keys of a server."""

    @property
    def admin_token(self) -> str:
        """A token of the administrator, for the kubeconfig."""
        ...

    def load(self, name: str, generate: Callable[[], bytes]) -> bytes:
        """Return the key with that name. If it does not exist, create and store it."""
        ...

    def existing(self) -> Mapping[str, bytes]:
        """Return the keys that exist so far."""
        ...

    def stored(self) -> Iterable[StoredKey]:
        """Read every stored key that can be damaged. Raises OSError."""
        ...


class KeyFiles:
    """Keys in files next to a data file. Without one, they are lost when the server ends.

    `initial` are the initial keys of a server without a file. `token` is the administrator's token,
    if several processes share it.
    """

    def __init__(
        self, data: Path | None, initial: Mapping[str, bytes] | None = None, token: str = ""
    ) -> None:
        self._token = token
        self._data = data
        self._keys = dict(initial or {})

    @property
    def admin_token(self) -> str:
        """A token that is different after each start."""
        return self._token or new_token()

    def load(self, name: str, generate: Callable[[], bytes]) -> bytes:
        """Return the key with that name. If it does not exist, create and store it."""
        if name not in self._keys:
            self._keys[name] = load(self._data, name, generate())
        return self._keys[name]

    def existing(self) -> Mapping[str, bytes]:
        """Return the keys that were read or created so far."""
        return dict(self._keys)

    def stored(self) -> Iterator[StoredKey]:
        """Read every key file that exists. Raises OSError."""
        if self._data is None:
            return
        for name in CHECKED:
            path = _path(self._data, name)
            if path.exists():
                key = self._keys[name] = _read(path)
                yield StoredKey(name, key, str(path))


def new_token() -> str:
    """Return a random token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def load(data: Path | None, suffix: str, default: bytes) -> bytes:
    """Return the key next to a data file, and store `default` if it does not exist. Without a
    data file, return `default`. Raises Unavailable (503) if the file can be neither read nor
    created.

    The file appears complete or not at all, so several processes can start on one data file.
    """
    if data is None:
        return default
    path = _path(data, suffix)
    try:
        if not path.exists():
            with contextlib.suppress(FileExistsError):  # another process has created it
                storage.wholefiles.create(path, default, mode=storage.wholefiles.PRIVATE)
        return _read(path)
    except OSError as error:
        raise errors.Unavailable(f"the key {path} cannot be stored or read: {error}") from error


def _path(data: Path, suffix: str) -> Path:
    return data.with_name(f"{data.name}.{suffix}")


def _read(path: Path) -> bytes:
    storage.wholefiles.check_regular(path)
    storage.wholefiles.make_private(path)
    return path.read_bytes()
