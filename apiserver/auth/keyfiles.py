"""Secret keys that lie in files beside the data, readable by their owner only."""

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol


class Keys(Protocol):
    """Where the keys of a server are kept."""

    @property
    def admin_token(self) -> str:
        """A token of the administrator, for the kubeconfig."""
        ...

    def load(self, name: str, make: Callable[[], bytes]) -> bytes:
        """The key of that name, made and kept when there is none."""
        ...

    def kept(self) -> Mapping[str, bytes]:
        """The keys there are so far."""
        ...


class KeyFiles:
    """Keys in files beside a data file; without one they are gone with the server.

    `given` are the keys that a server without a file begins with, `token` is the administrator's
    where others have it, too.
    """

    def __init__(
        self, data: Path | None, given: Mapping[str, bytes] | None = None, token: str = ""
    ) -> None:
        self._token = token
        self._data = data
        self._kept = dict(given or {})

    @property
    def admin_token(self) -> str:
        """Another one at each start."""
        return self._token or new_token()

    def load(self, name: str, make: Callable[[], bytes]) -> bytes:
        """See Keys."""
        if name not in self._kept:
            self._kept[name] = load(self._data, name, make())
        return self._kept[name]

    def kept(self) -> Mapping[str, bytes]:
        """See Keys. Files that were not read yet are left out."""
        return dict(self._kept)


def new_token() -> str:
    """A random token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def load(data: Path | None, suffix: str, fresh: bytes) -> bytes:
    """The key beside a data file, put there when there is none; `fresh` without a file.

    It appears complete or not at all, so several processes may start on one file.
    """
    if data is None:
        return fresh
    path = data.with_name(f"{data.name}.{suffix}")
    if path.exists():
        return path.read_bytes()
    handle, draft = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(fresh)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_bytes()
    finally:
        os.unlink(draft)
    return fresh
