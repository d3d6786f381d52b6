"""Jobs and CronJobs, as stored objects. batch.rules contains the rules for fields.

Follows pkg/registry/batch and pkg/api/job/warnings.go.
"""

from inkube.schemas.builtin.rules.calls import batch
from inkube.schemas.builtin.strategies.base import BuiltinStrategy, was_counted
from inkube.schemas.builtin.strategies.pods import warnings as podwarnings
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_MANY, _MANY_AT_ONCE = 100_000, 10_000


class Jobs(BuiltinStrategy):
    """Jobs: the selector is generated from the uid, unless `manualSelector` is set."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template_meta = spec["template"].setdefault("metadata", {})
        labels = template_meta.setdefault("labels", {})
        labels.update(batch.own_labels(meta))  # also those of the job
        selector = spec.setdefault("selector", {})
        own = {batch.UID_LABEL: meta.get("uid", "")}
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **own}
        batch.labels_of_template(obj)

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return podwarnings.of_owner(obj) + _warnings(obj["spec"], "spec")

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _warnings(obj["spec"], "spec") if was_counted(obj, old) else []


class CronJobs(BuiltinStrategy):
    """CronJobs: a schedule and a template of Jobs."""

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return podwarnings.of_owner(obj) + _of_template(obj)

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _of_template(obj) if was_counted(obj, old) else []


def _of_template(obj: Object) -> list[str]:
    return _warnings(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")


def _warnings(job: Object, path: str) -> list[str]:
    """Warnings about a Job's template, and about too many indexes (pkg/api/job)."""
    found = podwarnings.of_spec(job.get("template") or {}, f"{path}.template")
    count, at_once = job.get("completions") or 0, job.get("parallelism") or 0
    if job.get("completionMode") == "Indexed" and count > _MANY and at_once > _MANY_AT_ONCE:
        found.append(
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big "
            "number of indexes fail"
        )
    return found
