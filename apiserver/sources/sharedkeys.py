"""Secret keys that all servers on one database share, stored in the database.

The keys are next to the data that they protect: anyone who can read the database can read
everything. The first server creates them. Servers with their own data file store their keys in
files instead (`auth.keyfiles`).
"""

import base64
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Self

from inkube.apiserver import auth
from inkube.storage import Store, errors

PREFIX = "/keys"


# Functions that create the keys. `admin.token` is the token of the kubeconfig.
NAMES: Mapping[str, Callable[[], bytes]] = {
    "tokens.key": lambda: auth.signing.new_key(),  # noqa: PLW0108 # imported when it is called
    "key": lambda: auth.Fernet.generate_key(),  # noqa: PLW0108 # as above
    "front-proxy.pem": lambda: auth.frontproxy.new(),  # noqa: PLW0108 # as above
    "admin.token": lambda: secrets.token_urlsafe(32).encode(),
}


class SharedKeys:
    """The keys of a server (`auth.keyfiles.Keys`), all read before it accepts requests."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = keys

    @classmethod
    async def read(cls, store: Store) -> Self:
        """Read the keys of the database, and create missing ones. Raises LogError."""
        await store.current()
        return cls({name: await _key(store, name) for name in NAMES})

    def load(self, name: str, generate: Callable[[], bytes]) -> bytes:
        """Return the key with that name, which exists since `read`."""
        return self._keys[name]

    def existing(self) -> Mapping[str, bytes]:
        return self._keys

    def stored(self) -> Iterator[auth.keyfiles.StoredKey]:
        for name in auth.keyfiles.CHECKED:
            location = f"the key {PREFIX}/{name} in the database"
            yield auth.keyfiles.StoredKey(name, self._keys[name], location)

    @property
    def admin_token(self) -> str:
        """The token of the administrator that all servers share."""
        return self._keys["admin.token"].decode()


async def _key(store: Store, name: str) -> bytes:
    stored = store.get(f"{PREFIX}/{name}")
    if stored is None:
        value = {
            "apiVersion": "inkube.dev/v1",
            "kind": "Key",
            "metadata": {"name": name},
            "key": base64.b64encode(NAMES[name]()).decode(),
        }
        try:
            stored = await store.create(f"{PREFIX}/{name}", value)
        except errors.AlreadyExists as error:
            stored = error.current
    return base64.b64decode(stored.value["key"])
