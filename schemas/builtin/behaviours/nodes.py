"""Nodes, whose status may come with them. Follows pkg/registry/core/node/strategy.go."""

from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, keep
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Nodes(BuiltinStrategy):
    """What runs pods."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """A node's status may come with it."""

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "status")
