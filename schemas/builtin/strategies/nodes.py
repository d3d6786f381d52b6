"""Nodes: a create can set their status, an update cannot. Follows
pkg/registry/core/node/strategy.go."""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Nodes(BuiltinStrategy):
    """The strategy of Nodes."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """Keep the status, which a create of a node can set."""
        _drop_config(obj, {}, "spec", "configSource")
        _drop_config(obj, {}, "status", "config")

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "status")
        _drop_config(obj, old, "spec", "configSource")

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_status(context, obj, old)
        _drop_config(obj, old, "status", "config")


def _drop_config(obj: Object, old: Object, member: str, name: str) -> None:
    """Remove the configuration of a kubelet, which kubelets no longer read, unless it was set
    (dropDisabledFields)."""
    part = obj.get(member) or {}
    if name in part and name not in (old.get(member) or {}):
        obj[member] = {key: value for key, value in part.items() if key != name}
