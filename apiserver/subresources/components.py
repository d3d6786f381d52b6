"""componentstatuses: the health of the scheduler, the controllers and the storage.

Nothing is stored; each response shows the current health. Follows
pkg/registry/core/componentstatus.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aiohttp import web

from inkube.apiserver.handlers import Exchange, tables
from inkube.apiserver.http import responses
from inkube.apiserver.registry import SystemFields
from inkube.apiserver.subresources import posted
from inkube.apiserver.subresources.metrics import matching
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.storage import Store


class ComponentStatuses:
    """Serves get and list. Controllers and the scheduler are healthy if this server runs them."""

    def __init__(
        self,
        runs_controllers: bool,
        runs_scheduler: Callable[[], bool],
        store: Store,
        system_fields: SystemFields,
    ) -> None:
        self._runs_controllers = runs_controllers
        self._runs_scheduler = runs_scheduler
        self._store = store
        self._system_fields = system_fields

    def handlers(self) -> Mapping[tuple[str, str, str], Callable[[Exchange], Any]]:
        """(group, plural, "") → handler."""
        return {("", "componentstatuses", ""): self.serve}

    async def serve(self, exchange: Exchange) -> web.StreamResponse:
        """Return a ComponentStatus, or all of them. Raises StatusError 405 and 500."""
        request, form = exchange.request, exchange.form
        posted.check_verb(request, "get", "list")
        found = list(self._components())
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
            items = [{name: one[name] for name in ("metadata", "conditions")} for one in found]
            value = {
                "kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items
            }  # fmt: skip
        return responses.render(value, form, warnings=request.warnings)

    def _components(self) -> Iterator[Object]:
        yield _component("controller-manager", _failure(10257, self._runs_controllers))
        yield _component("scheduler", _failure(10259, self._runs_scheduler()))
        yield _component("etcd-0", self._store.failure)


def _failure(port: int, runs: bool) -> str:
    """Return the error of a health check of a component with this port; "" if it runs."""
    address = f"127.0.0.1:{port}"
    refused = f'Get "https://{address}/healthz": dial tcp {address}: connect: connection refused'
    return "" if runs else refused


def _component(name: str, failure: str) -> Object:
    condition = {
        "type": "Healthy",
        "status": "False" if failure else "True",
        "message": failure or "ok",
    }
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [condition],
    }
