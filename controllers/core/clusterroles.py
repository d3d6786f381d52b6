"""Aggregated ClusterRoles: their rules are those of the ClusterRoles that their selectors match.

The controller joins the rules in the order of the roles' names, each rule once, and writes them by
apply, like the reference's controller. Follows pkg/controller/clusterroleaggregation.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from inkube.controllers.client import Client, Object
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import selectors
from inkube.schemas.golang import gotext
from inkube.schemas.meta import GVR

RESOURCE = GVR("rbac.authorization.k8s.io", "v1", "clusterroles")
MANAGER = "clusterrole-aggregation-controller"


class AggregationController:
    """Writes the rules of every ClusterRole with an aggregationRule."""

    def __init__(self, client: Client, informer: Informer) -> None:
        self._client = client
        self._informer = informer

    async def reconcile(self, key: Key) -> Result | None:
        """Write the rules of one role if they differ from those of the selected roles."""
        role = self._informer.get(key)
        if role is None or not role.get("aggregationRule"):
            return None
        rules = gather(role, self._informer.items())
        if rules == (role.get("rules") or []):
            return None
        body = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": key.name},
            "rules": rules,
        }
        await self._client.patch(
            RESOURCE, key.name, patch=body, type="apply", field_manager=MANAGER, force=True
        )
        return None

    def affected_keys(self, change: Change) -> Iterator[Key]:
        """Yield all roles with an aggregationRule, because a change can affect each of them."""
        for role in self._informer.items():
            if role.get("aggregationRule"):
                yield Key.of(role)


def gather(role: Object, others: Iterable[Object]) -> list[Any]:
    """Return the rules of all other roles that a selector of the role matches."""
    own = role["metadata"]["name"]
    candidates = sorted(
        (other for other in others if other["metadata"]["name"] != own),
        key=lambda other: str(other["metadata"]["name"]),
    )
    found: dict[str, Any] = {}
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        for other in candidates:
            if selectors.selects(selector, other["metadata"].get("labels") or {}):
                for rule in other.get("rules") or ():
                    found.setdefault(gotext.compact_json(rule), rule)
    return list(found.values())


def add(manager: Manager, client: Client) -> None:
    """Add the controller to the manager."""
    informer = manager.informers.of(RESOURCE)
    controller = AggregationController(client, informer)
    manager.add(
        Controller(
            "clusterrole-aggregation",
            controller.reconcile,
            (Watch(RESOURCE, controller.affected_keys),),
            concurrency=1,
        )
    )
