"""Nodes, whose create can set the status. Follows pkg/registry/core/node/strategy.go."""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Nodes(BuiltinStrategy):
    """Nodes."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """Do nothing: the create of a node can set its status."""

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "status")
