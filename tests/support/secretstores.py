"""A store of secure values for tests of rules, which need no server."""

from inkube.controllers.secure import Entry


class MemorySecretStore:
    """Secure values in memory."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}

    async def put(self, entry: Entry) -> None:
        """Store an entry."""
        self._entries[entry.namespace, entry.name] = entry

    async def get(self, namespace: str, name: str) -> Entry | None:
        """Return the entry with that name."""
        return self._entries.get((namespace, name))

    async def delete(self, namespace: str, name: str) -> None:
        """Delete the entry."""
        self._entries.pop((namespace, name), None)

    async def owned(self, namespace: str, owner: str) -> list[Entry]:
        """Return all entries that an object owns."""
        return [
            entry
            for entry in self._entries.values()
            if entry.namespace == namespace and entry.owner == owner
        ]
