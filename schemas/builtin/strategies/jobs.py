"""Jobs, as stored objects. batch.rules contains the rules for fields.

Follows pkg/registry/batch/job/strategy.go.
"""

from inkube.schemas.builtin.rules.calls import batch
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Jobs(BuiltinStrategy):
    """The strategy of Jobs: it generates the selector from the uid, unless
    `manualSelector` is set."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template_meta = spec["template"].setdefault("metadata", {})
        labels = template_meta.setdefault("labels", {})
        labels.update(batch.own_labels(meta))  # changes labels that the job shares, too
        selector = spec.setdefault("selector", {})
        own = {batch.UID_LABEL: meta.get("uid", "")}
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **own}
        batch.labels_of_template(obj)
