"""ServiceAccounts, whose references to secrets contain only names."""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Accounts(BuiltinStrategy):
    """Follows pkg/registry/core/serviceaccount/strategy.go."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _clean(obj)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _clean(obj)


def _clean(obj: Object) -> None:
    """cleanSecretReferences: keep only the names in references to secrets, in place."""
    if obj.get("secrets"):
        obj["secrets"] = [
            {"name": secret["name"]} if "name" in secret else {} for secret in obj["secrets"]
        ]
