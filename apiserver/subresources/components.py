"""componentstatuses: the health of the scheduler, the controllers and the storage.

Nothing is stored; each response shows the current health. Follows
pkg/registry/core/componentstatus.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from aiohttp import web

from inkube.apiserver.handlers import Exchange, tables
from inkube.apiserver.http import responses
from inkube.apiserver.registry import SystemFields
from inkube.apiserver.subresources import posted
from inkube.apiserver.subresources.metrics import matching
from inkube.schemas import status
from inkube.schemas.objects import Object

_PORTS: Final = {"controller-manager": 10257, "scheduler": 10259}
"""The health ports of components that run in separate processes."""


class ComponentStatuses:
    """Serves get and list. `health` returns whether a component runs in this server."""

    def __init__(
        self, health: Callable[[], Mapping[str, bool]], system_fields: SystemFields
    ) -> None:
        self._health = health
        self._system_fields = system_fields

    def handlers(self) -> Mapping[tuple[str, str, str], Callable[[Exchange], Any]]:
        """(group, plural, "") → handler."""
        return {("", "componentstatuses", ""): self.serve}

    async def serve(self, exchange: Exchange) -> web.StreamResponse:
        """Return a ComponentStatus, or all of them. Raises StatusError 405 and 500."""
        request, form = exchange.request, exchange.form
        posted.check_verb(request, "get", "list")
        found = [_component(name, runs) for name, runs in self._health().items()]
        metadata: Object | None = {}
        if request.name:
            found = [one for one in found if one["metadata"]["name"] == request.name]
            if not found:
                raise status.unknown(f"Component not found: {request.name}")
            metadata = None
        else:
            found = list(matching(exchange, found))
        value: Object
        if form.kind:
            now, metadata = self._system_fields.now(), metadata or {"resourceVersion": ""}
            value = tables.transform(request, found, form, now, metadata=metadata)
        elif request.name:
            value = found[0]
        else:
            value = {
                "kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": found
            }  # fmt: skip
        return responses.render(value, form, warnings=request.warnings)


def _component(name: str, runs: bool) -> Object:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    if not runs:
        place = f"127.0.0.1:{_PORTS[name]}"
        condition |= {
            "status": "False",
            "message": f'Get "https://{place}/healthz": dial tcp {place}: connect: '
            "connection refused",
        }
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [condition],
    }
