"""Nodes: a create can set their status, an update cannot. Follows
pkg/registry/core/node/strategy.go."""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Nodes(BuiltinStrategy):
    """The strategy of Nodes."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """Do nothing, so that a create can set the status of a node."""

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "status")
