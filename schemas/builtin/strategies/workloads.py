"""DaemonSets, as stored objects. apps.rules contains the rules for fields.

Follows pkg/registry/apps.
"""

from inkube.schemas.builtin import conversion
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context


class DaemonSets(BuiltinStrategy):
    """The strategy of DaemonSets: an annotation contains the generation of the template."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _count_template(obj, 1)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _count_template(obj, _count_of(old) + _has_new_template(obj, old))

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_status(context, obj, old)
        _count_template(obj, _count_of(old))


def _has_new_template(obj: Object, old: Object) -> bool:
    return not same(obj["spec"].get("template"), old["spec"].get("template"))


def _count_of(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(conversion.TEMPLATE_GENERATION, "1")
    return int(text) if text.isdecimal() and len(text) < 19 else 1


def _count_template(obj: Object, count: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, conversion.TEMPLATE_GENERATION: str(count)}
