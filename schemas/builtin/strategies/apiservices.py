"""Registrations of API groups. Follows kube-aggregator/pkg/registry/apiservice/strategy.go.
apiregistration.rules contains the rules for fields."""

from inkube.schemas.aggregation import registrations
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Registrations(BuiltinStrategy):
    """APIServices. One without another server is available after its creation."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        if not registrations.Registration.of(obj).is_remote:
            obj["status"] = {"conditions": [registrations.local(context.now)]}
