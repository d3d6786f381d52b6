"""The store of secure values: entries of the server's store that no resource serves.

Values are encrypted (Fernet) before they are stored. The key is in a file next to the data,
readable only by its owner, so a copy of the data file alone does not reveal the values. Servers
that share a database store the key in it. The composition root passes this store to kinds with
secure values.
"""

from datetime import datetime
from typing import Any

from inkube import controllers
from inkube.apiserver import auth
from inkube.apiserver.auth import Keys
from inkube.schemas.lazy import Lazy
from inkube.storage import Store, errors

PREFIX = "/secure"


class StoredSecrets:
    """`controllers.secure.SecretStore` over the server's store."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        # most servers never store a secure value
        self._seal = Lazy(lambda: auth.Fernet(keys.load("key", auth.Fernet.generate_key)))

    async def put(self, entry: "controllers.Entry") -> None:
        key, value = _key(entry.namespace, entry.name), self._encrypt(entry)
        while True:
            stored = self._store.get(key)
            try:
                if stored is None:
                    await self._store.create(key, value)
                else:
                    await self._store.update(key, value, stored.revision)
                return
            except (errors.AlreadyExists, errors.NotFound, errors.Conflict):
                continue

    async def get(self, namespace: str, name: str) -> "controllers.Entry | None":
        stored = self._store.get(_key(namespace, name))
        return self._decrypt(stored.value) if stored is not None else None

    async def delete(self, namespace: str, name: str) -> None:
        stored = self._store.get(_key(namespace, name))
        if stored is None:
            return
        try:
            await self._store.delete(stored.key, stored.revision)
        except errors.NotFound:
            return

    async def owned(self, namespace: str, owner: str) -> "list[controllers.Entry]":
        entries = self._store.list(f"{PREFIX}/{namespace}/")
        return [self._decrypt(entry.value) for entry in entries if entry.value["owner"] == owner]

    def _encrypt(self, entry: "controllers.Entry") -> dict[str, Any]:
        return {
            "apiVersion": "inkube.dev/v1",
            "kind": "SecureValue",
            "metadata": {"namespace": entry.namespace, "name": entry.name},
            "owner": entry.owner,
            "created": entry.created.isoformat(),
            "sealed": self._seal().encrypt(entry.value.encode()).decode(),
        }

    def _decrypt(self, stored: dict[str, Any]) -> "controllers.Entry":
        return controllers.Entry(
            namespace=stored["metadata"]["namespace"],
            name=stored["metadata"]["name"],
            owner=stored["owner"],
            value=self._seal().decrypt(stored["sealed"].encode()).decode(),
            created=datetime.fromisoformat(stored["created"]),
        )


def _key(namespace: str, name: str) -> str:
    return f"{PREFIX}/{namespace}/{name}"
