"""The store of secure values: entries of the server's own store that no resource serves.

Values are sealed (Fernet) before they are stored, with a key that lies in a file beside the data,
readable by its owner only; a copy of the file alone gives nothing away. Servers that share a
database have the key in it. The composition root hands it to the kinds that have secure values.
"""

from datetime import datetime
from typing import Any

from inkube.apiserver import auth
from inkube.apiserver.auth import Keys
from inkube.controllers.secure import Entry
from inkube.schemas.lazy import Late
from inkube.storage import Store, errors

PREFIX = "/secure"


class StoredSecrets:
    """`controllers.secure.SecretStore` over the server's store."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        # most servers never hold a secure value
        self._seal = Late(lambda: auth.Fernet(keys.load("key", auth.Fernet.generate_key)))

    async def put(self, entry: Entry) -> None:
        """Keep it, over one of the same namespace and name."""
        key, value = _key(entry.namespace, entry.name), self._sealed(entry)
        while True:
            found = self._store.get(key)
            try:
                if found is None:
                    await self._store.create(key, value)
                else:
                    await self._store.update(key, value, found.revision)
                return
            except (errors.AlreadyExists, errors.NotFound, errors.Conflict):
                continue

    async def get(self, namespace: str, name: str) -> Entry | None:
        """The entry of that name."""
        found = self._store.get(_key(namespace, name))
        return self._opened(found.value) if found is not None else None

    async def delete(self, namespace: str, name: str) -> None:
        """Forget it; no error when there is none."""
        found = self._store.get(_key(namespace, name))
        if found is None:
            return
        try:
            await self._store.delete(found.key, found.revision)
        except errors.NotFound:
            return

    async def owned(self, namespace: str, owner: str) -> list[Entry]:
        """All entries of one object."""
        found = self._store.list(f"{PREFIX}/{namespace}/")
        return [self._opened(entry.value) for entry in found if entry.value["owner"] == owner]

    def _sealed(self, entry: Entry) -> dict[str, Any]:
        return {
            "apiVersion": "inkube.dev/v1",
            "kind": "SecureValue",
            "metadata": {"namespace": entry.namespace, "name": entry.name},
            "owner": entry.owner,
            "created": entry.created.isoformat(),
            "sealed": self._seal().encrypt(entry.value.encode()).decode(),
        }

    def _opened(self, stored: dict[str, Any]) -> Entry:
        return Entry(
            namespace=stored["metadata"]["namespace"],
            name=stored["metadata"]["name"],
            owner=stored["owner"],
            value=self._seal().decrypt(stored["sealed"].encode()).decode(),
            created=datetime.fromisoformat(stored["created"]),
        )


def _key(namespace: str, name: str) -> str:
    return f"{PREFIX}/{namespace}/{name}"
