"""Jobs and CronJobs, as stored objects.

Follows pkg/apis/batch/v1/defaults.go, pkg/apis/batch/validation and pkg/registry/batch/job.
"""

import re

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.behaviours import checks, poddefaults, podvalidation
from inkube.schemas.builtin.behaviours.base import Behaviour, same
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
    "ttlSecondsAfterFinished",
)  # fmt: skip
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_FIELD = re.compile(r"[0-9A-Za-z*?/,-]+")
_SHORTHANDS = frozenset({
    "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
})  # fmt: skip


class Jobs(Behaviour):
    """The selector is made from the uid unless it is given by hand."""

    generation = ("spec",)
    dependents = "orphan"
    undecided_warning = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.setdefault("template", {})
        poddefaults.pod_spec(template.setdefault("spec", {}))
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        for member, value in (("parallelism", 1), ("backoffLimit", 6), ("suspend", False)):
            spec.setdefault(member, value)
        poddefaults.fill(spec, {"completionMode": "NonIndexed"})
        has_policy = spec.get("podFailurePolicy") is not None
        replacement = "Failed" if has_policy else "TerminatingOrFailed"
        poddefaults.fill(spec, {"podReplacementPolicy": replacement})
        _label_as_template(obj)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        uid, name = meta.get("uid", ""), meta.get("name", "")
        template_meta = spec["template"].setdefault("metadata", {})
        own = {
            "controller-uid": uid, "job-name": name,
            _UID_LABEL: uid, "batch.kubernetes.io/job-name": name,
        }  # fmt: skip
        template_meta["labels"] = {**(template_meta.get("labels") or {}), **own}
        selector = spec.setdefault("selector", {})
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _UID_LABEL: uid}
        _label_as_template(obj)

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = job_spec(spec, "spec")
        if spec.get("selector") is None:
            errors.append(fielderrors.required("spec.selector"))
            return errors
        errors += checks.label_selector(spec["selector"], "spec.selector")
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if not selectors.selects(spec["selector"], labels):
            why = "`selector` does not match template `labels`"
            errors.append(fielderrors.invalid("spec.template.metadata.labels", labels, why))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The strategy checks a changed job, and ValidateJobSpecUpdate does so again."""
        errors = self.check(obj) * 2
        spec, before = obj["spec"], old["spec"]
        frozen = ["selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"]
        if spec.get("completionMode") != "Indexed":
            frozen.append("completions")
        if not before.get("suspend"):
            frozen.append("template")
        errors += [
            fielderrors.invalid(f"spec.{member}", spec.get(member), checks.IMMUTABLE)
            for member in frozen
            if not same(spec.get(member), before.get(member))
        ]
        return errors


def _label_as_template(obj: Object) -> None:
    """A job without labels of its own has its template's."""
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def job_spec(spec: Object, path: str) -> list[FieldError]:
    """ValidateJobSpec without the selector."""
    errors = checks.not_negative(spec, path, *_COUNTS)
    if spec.get("completionMode"):
        modes = ("NonIndexed", "Indexed")
        errors += checks.one_of(spec["completionMode"], f"{path}.completionMode", modes)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        why = "when completion mode is Indexed"
        errors.append(fielderrors.required(f"{path}.completions", why))
    template = spec.get("template") or {}
    errors += podvalidation.template(template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    place = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        why = 'valid values: "OnFailure", "Never"'
        errors.append(fielderrors.required(place, why))
    return errors


class CronJobs(Behaviour):
    """A schedule in cron's form and a template of jobs."""

    generation = ("spec",)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        poddefaults.fill(spec, {"concurrencyPolicy": "Allow"})
        for member, value in (
            ("suspend", False), ("successfulJobsHistoryLimit", 3), ("failedJobsHistoryLimit", 1),
        ):  # fmt: skip
            spec.setdefault(member, value)
        job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
        poddefaults.pod_spec(job.setdefault("template", {}).setdefault("spec", {}))

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = _schedule(spec.get("schedule", ""), "spec.schedule")
        errors += checks.not_negative(
            spec, "spec", "startingDeadlineSeconds", "successfulJobsHistoryLimit",
            "failedJobsHistoryLimit",
        )  # fmt: skip
        errors += checks.one_of(
            spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", _CONCURRENCY
        )
        job = (spec.get("jobTemplate") or {}).get("spec") or {}
        errors += job_spec(job, "spec.jobTemplate.spec")
        name = obj["metadata"].get("name", "")
        if len(name) > 52:
            why = "must be no more than 52 characters"
            errors.append(fielderrors.invalid("metadata.name", name, why))
        return errors


def _schedule(text: str, path: str) -> list[FieldError]:
    if not text:
        return [fielderrors.required(path)]
    if "TZ" in text:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [fielderrors.invalid(path, text, why)]
    if text in _SHORTHANDS or text.startswith("@every "):
        return []
    fields = text.split()
    if len(fields) != 5:
        shown = "[" + " ".join(fields) + "]"
        why = f"expected exactly 5 fields, found {len(fields)}: {shown}"
        return [fielderrors.invalid(path, text, why)]
    if not all(_FIELD.fullmatch(field) for field in fields):
        return [fielderrors.invalid(path, text, "failed to parse the schedule")]
    return []
