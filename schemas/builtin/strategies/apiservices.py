"""Registrations of API groups. Follows kube-aggregator/pkg/registry/apiservice/strategy.go.
apiregistration.rules contains the rules for fields."""

from inkube.schemas.aggregation import registrations
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Registrations(BuiltinStrategy):
    """The strategy of APIServices. One without a service to forward to is available when it is
    created."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        if not registrations.Registration.of(obj).is_remote:
            obj["status"] = {"conditions": [registrations.local(context.now)]}
