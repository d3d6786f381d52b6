"""Registrations of API groups. Follows kube-aggregator/pkg/registry/apiservice/strategy.go; what
they demand of fields is in apiregistration.rules."""

from inkube.schemas.aggregation import registrations
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Registrations(BuiltinStrategy):
    """What leads nowhere else is available from the start."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        if not registrations.Registration.of(obj).is_remote:
            obj["status"] = {"conditions": [registrations.local(context.now)]}
