"""ServiceAccounts: their references to secrets contain only names.

Follows pkg/registry/core/serviceaccount/strategy.go.
"""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Accounts(BuiltinStrategy):
    """The strategy of ServiceAccounts."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _clean(obj)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _clean(obj)


def _clean(obj: Object) -> None:
    """Remove all members except the names from references to secrets, in place
    (cleanSecretReferences)."""
    if obj.get("secrets"):
        obj["secrets"] = [
            {"name": secret["name"]} if "name" in secret else {} for secret in obj["secrets"]
        ]
