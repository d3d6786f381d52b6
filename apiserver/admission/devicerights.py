"""Writes to the status of a ResourceClaim need more than `resourceclaims/status`: the right to bind
it, and the right to report about the devices of a driver.

Follows AuthorizedForBinding and AuthorizedForDeviceStatus of pkg/registry/resource/utils.go. There,
these checks belong to the validation. Here they follow it, because an authorizer can need to wait.
"""

from collections.abc import Iterable

from inkube.apiserver.auth import Attributes, Authorizer, decided
from inkube.apiserver.auth import attributes as authorization
from inkube.apiserver.registry import Plugin, Write
from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

GROUP, PLURAL = "resource.k8s.io", "resourceclaims"
_NODE_OF_ACCOUNT = "authentication.kubernetes.io/node-name"
_IDENTITY = ("driver", "pool", "device", "shareID")


class DeviceRights(Plugin):
    """Checks the permissions for `resourceclaims/binding` and `resourceclaims/driver`."""

    kinds = ((GROUP, PLURAL),)
    operations = ("UPDATE",)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, write: Write) -> None:
        if write.request.subresource != "status":
            return
        new, old = (((one or {}).get("status") or {}) for one in (write.object, write.old))
        errors = await self._binding_errors(write, new, old)
        if new.get("allocation"):
            errors += await self._driver_errors(write, new, old)
        if errors:
            raise status.invalid(GROUP, "ResourceClaim", write.name, errors)

    async def _binding_errors(self, write: Write, new: Object, old: Object) -> list[FieldError]:
        if all(_same(new.get(part), old.get(part)) for part in ("allocation", "reservedFor")):
            return []
        action = _action(write, write.request.verb, "binding")
        refused = await self._refusal([action])
        if not refused:
            return []
        what = f'resource="resourceclaims/binding", verb="{action.verb}"'
        text = f"changing status.allocation or status.reservedFor requires {what} permission: "
        return [fielderrors.forbidden("status.allocation", text + refused)]

    async def _driver_errors(self, write: Write, new: Object, old: Object) -> list[FieldError]:
        verbs = [f"arbitrary-node:{write.request.verb}"]
        if _is_on_node(write, _node_of(new["allocation"])):
            verbs.insert(0, f"associated-node:{write.request.verb}")
        errors = []
        for driver in sorted(_changed_drivers(new.get("devices") or (), old.get("devices") or ())):
            namespace = write.request.namespace
            refused = await self._refusal(
                [_action(write, verb, "driver", namespace, driver) for verb in verbs]
            )
            if refused:
                told = " ".join(verbs)
                what = f'resource="resourceclaims/driver", verb="[{told}]"'
                text = f"changing status.devices requires {what} permission: {refused}"
                errors.append(fielderrors.forbidden("status.devices", text))
        return errors

    async def _refusal(self, actions: list[Attributes]) -> str:
        """Return the text of the first refusal, or "" if one of the actions is allowed."""
        first = ""
        for action in actions:
            decision = await decided(self._authorizer, action)
            if decision.allowed:
                return ""
            first = first or authorization.refusal(action, decision.reason).message
        return first


def _action(
    write: Write, verb: str, subresource: str, namespace: str = "", name: str = ""
) -> Attributes:
    request = write.request
    version = request.served.name
    return Attributes(request.user, verb, GROUP, version, PLURAL, subresource, namespace, name)


def _same(left: object, right: object) -> bool:
    """Return whether two members are equal; a missing one equals an empty one (Semantic)."""
    return (left or None) == (right or None)


def _changed_drivers(new: Iterable[Object], old: Iterable[Object]) -> set[str]:
    """Return the drivers of devices that were added, changed or removed (getModifiedDrivers)."""
    before, after = (
        {tuple(each.get(part) or "" for part in _IDENTITY): each for each in devices}
        for devices in (old, new)
    )
    return {
        key[0] for key in before.keys() | after.keys() if not _same(before.get(key), after.get(key))
    }


def _node_of(allocation: Object) -> str:
    """Return the name of the only node of an allocation, or "" (nodeNameFromAllocation)."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    match terms[0].get("matchFields"):
        case [{"key": "metadata.name", "operator": "In", "values": [str(name)]}]:
            return name
    return ""


def _is_on_node(write: Write, node: str) -> bool:
    """Return whether the user is a service account whose token belongs to a pod on the node
    (saAssociatedWithAllocatedNode)."""
    user = write.request.user
    if not node or not user.name.startswith("system:serviceaccount:"):
        return False
    return dict(user.extra).get(_NODE_OF_ACCOUNT) == (node,)
