"""Secret keys that lie in files beside the data, readable by their owner only."""

import os
import secrets
import tempfile
from collections.abc import Callable
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


class KeyFiles:
    """Keys in files beside a data file; without one they are gone with the server."""

    def __init__(self, data: Path | None) -> None:
        self._data = data

    @property
    def admin_token(self) -> str:
        """Another one at each start."""
        return secrets.token_urlsafe(32)

    def load(self, name: str, make: Callable[[], bytes]) -> bytes:
        """See Keys."""
        return load(self._data, name, make())


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
