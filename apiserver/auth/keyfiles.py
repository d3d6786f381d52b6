"""Secret keys in files next to the data, readable only by their owner."""

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol


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
        """The keys that exist so far."""
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
        """The keys that were read or created so far."""
        return dict(self._keys)


def new_token() -> str:
    """A random token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def load(data: Path | None, suffix: str, default: bytes) -> bytes:
    """Return the key next to a data file, and store `default` if it does not exist. Without a
    data file, return `default`.

    The file appears complete or not at all, so several processes can start on one data file.
    """
    if data is None:
        return default
    path = data.with_name(f"{data.name}.{suffix}")
    if path.exists():
        return path.read_bytes()
    handle, draft = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(default)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_bytes()
    finally:
        os.unlink(draft)
    return default
