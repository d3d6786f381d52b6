"""Events of events.k8s.io, whose metadata the rules validate after the basic fields.

events.rules and core.rules contain the rules for events of both groups.
"""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Events(BuiltinStrategy):
    """The strategy of events.k8s.io, which leaves the check of metadata to the rules."""

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        return self.check(obj)
