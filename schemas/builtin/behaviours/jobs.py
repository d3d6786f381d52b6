"""Jobs and CronJobs, as stored objects.

Follows pkg/apis/batch/v1/defaults.go, pkg/apis/batch/validation and pkg/registry/batch/job.
"""

import re
import zoneinfo

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, was_counted
from inkube.schemas.builtin.behaviours.pods import defaults as poddefaults
from inkube.schemas.builtin.behaviours.pods import validation as podvalidation
from inkube.schemas.builtin.behaviours.pods import warnings as podwarnings
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import strconv
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_NO_LIMIT = 2**31 - 1
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_SHORTHANDS = frozenset({
    "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
})  # fmt: skip


class Jobs(BuiltinStrategy):
    """The selector is made from the uid unless it is given by hand."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.setdefault("template", {})
        poddefaults.pod_spec(template.setdefault("spec", {}))
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        limit = _NO_LIMIT if spec.get("backoffLimitPerIndex") is not None else 6
        for member, value in (
            ("parallelism", 1), ("backoffLimit", limit), ("suspend", False),
            ("manualSelector", False),
        ):  # fmt: skip
            spec.setdefault(member, value)
        spec.setdefault("completionMode", "NonIndexed")
        self.rules.fill("batch.v1.JobSpec", spec)
        has_policy = spec.get("podFailurePolicy") is not None
        replacement = "Failed" if has_policy else "TerminatingOrFailed"
        spec.setdefault("podReplacementPolicy", replacement)
        _label_as_template(obj)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template_meta = spec["template"].setdefault("metadata", {})
        template_meta.setdefault("labels", {}).update(_own_labels(meta))  # those of the job, too
        selector = spec.setdefault("selector", {})
        own = {_UID_LABEL: meta.get("uid", "")}
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **own}
        _label_as_template(obj)

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = self.rules.errors("batch.v1.JobSpec", spec, "spec")
        selector = spec.get("selector")
        if selector is None:
            errors.append(fielderrors.required("spec.selector"))
        errors += checks.label_selector(selector, "spec.selector")
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if selector is None or not selectors.selects(selector, labels or {}):
            why = "`selector` does not match template `labels`"
            errors.append(fielderrors.invalid("spec.template.metadata.labels", labels, why))
        return errors

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        name = obj["metadata"].get("name", "")
        found = podvalidation.name_warnings(name, "Pod names and hostnames")
        return found + _warnings(obj["spec"], "spec")

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _warnings(obj["spec"], "spec") if was_counted(obj, old) else []

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """A new one's pods must be able to have hostnames."""
        return super().validate(context, obj) + _generated(obj)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The strategy checks a changed job, and ValidateJobSpecUpdate does so again."""
        errors = [*_generated(obj), *self.check(obj), *self.check(obj)]
        spec, before = obj["spec"], old["spec"]
        errors += _completions(spec, before)
        if not same(spec.get("selector"), before.get("selector")):
            shown = internal.value("meta.LabelSelector", spec.get("selector"))
            errors.append(fielderrors.invalid("spec.selector", shown, checks.IMMUTABLE))
        errors += _fixed_template(spec["template"], old)
        for member, kind in _FIXED.items():
            value = spec.get(member)
            if not same(value, before.get(member)):
                shown = internal.value(kind, value) if kind else value
                errors.append(fielderrors.invalid(f"spec.{member}", shown, checks.IMMUTABLE))
        return errors


_FIXED = {
    "completionMode": "", "podFailurePolicy": "batch.PodFailurePolicy",
    "backoffLimitPerIndex": "", "managedBy": "", "successPolicy": "batch.SuccessPolicy",
}  # fmt: skip
"""What an update may not change, and the internal type that it is shown as."""


def _completions(spec: Object, before: Object) -> list[FieldError]:
    """An indexed job may grow and shrink, together with its parallelism."""
    value, path = spec.get("completions"), "spec.completions"
    if same(value, before.get("completions")):
        return []
    if spec.get("completionMode") != "Indexed":
        return [fielderrors.invalid(path, value, checks.IMMUTABLE)]
    if value is None or value == spec.get("parallelism"):
        return []
    why = "can only be modified in tandem with spec.parallelism"
    return [fielderrors.invalid(path, value, why)]


def _fixed_template(template: Object, old: Object) -> list[FieldError]:
    """The template stays; of a job that waits to be started for the first time its pods' place may
    be chosen anew, and what they ask for (validatePodTemplateUpdate)."""
    before = old["spec"]["template"]
    if not old["spec"].get("suspend") or (old.get("status") or {}).get("startTime"):
        if same(template, before):
            return []
        shown = internal.value("core.PodTemplateSpec", template)
        return [fielderrors.invalid("spec.template", shown, checks.IMMUTABLE)]
    pod = template["spec"]
    if same(_chosen(pod), _chosen(before["spec"])):
        return []
    shown = internal.value("core.PodSpec", pod)
    return [fielderrors.invalid("spec.template.spec", shown, checks.IMMUTABLE)]


def _chosen(pod: Object) -> Object:
    """A pod's spec without what may change while a job is suspended."""
    made = {k: v for k, v in pod.items() if k not in _SCHEDULING}
    affinity = {k: v for k, v in (pod.get("affinity") or {}).items() if k != "nodeAffinity"}
    for member in ("containers", "initContainers"):
        made[member] = [
            {k: v for k, v in container.items() if k != "resources"}
            for container in pod.get(member) or ()
        ]
    return {**made, "affinity": affinity}


_SCHEDULING = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


def _generated(obj: Object) -> list[FieldError]:
    """What is made of a job's uid and name (validateGeneratedSelector), and the longest name of
    its pods."""
    spec, meta = obj["spec"], obj["metadata"]
    errors = []
    if not spec.get("manualSelector") and spec.get("selector") is not None:
        errors += _labels_made(spec["template"], meta)
        errors += _selector_made(spec["selector"], meta)
    name, count = meta.get("name", ""), spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and count > 0:
        pod = f"{name}-{count - 1}"
        if naming.label(pod):
            why = f"will not able to create pod with invalid DNS label: {pod}"
            errors.append(fielderrors.invalid("metadata.name", name, why))
    return errors


def _labels_made(template: Object, meta: Object) -> list[FieldError]:
    """Labels by which the job knows its pods (ValidateHasLabel)."""
    labels, errors = (template.get("metadata") or {}).get("labels") or {}, []
    for key, value in _own_labels(meta).items():
        place, why = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            errors.append(fielderrors.required(place, why))
        elif labels[key] != value:
            errors.append(fielderrors.invalid(place, labels, why))
    return errors


def _label_as_template(obj: Object) -> None:
    """A job without labels of its own has its template's, now and when the job adds to them."""
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels


def _own_labels(meta: Object) -> dict[str, str]:
    """What marks a job's pods as its own."""
    uid, name = meta.get("uid", ""), meta.get("name", "")
    return {
        "controller-uid": uid, "job-name": name,
        _UID_LABEL: uid, "batch.kubernetes.io/job-name": name,
    }  # fmt: skip


def _selector_made(selector: Object, meta: Object) -> list[FieldError]:
    """What was sent of a selector may not ask for more than it is made of
    (validateGeneratedSelector)."""
    wrong = checks.label_selector(selector, "spec.selector")
    if wrong or selectors.selects(selector, _own_labels(meta)):
        return []
    shown = internal.value("meta.LabelSelector", selector)
    return [fielderrors.invalid("spec.selector", shown, "`selector` not auto-generated")]


class CronJobs(BuiltinStrategy):
    """A schedule in cron's form and a template of jobs."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        poddefaults.fill(spec, {"concurrencyPolicy": "Allow"})
        for member, value in (
            ("suspend", False), ("successfulJobsHistoryLimit", 3), ("failedJobsHistoryLimit", 1),
        ):  # fmt: skip
            spec.setdefault(member, value)
        job = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
        poddefaults.pod_spec(job.setdefault("template", {}).setdefault("spec", {}))
        self.rules.fill("batch.v1.JobSpec", job)

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
        zone = spec.get("timeZone")
        if zone is not None:
            errors += _zone(zone, "spec.timeZone")
        job, place = (spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec"
        errors += self.rules.errors("batch.v1.JobSpec", job, place)
        if job.get("selector") is not None:
            why = "`selector` will be auto-generated"
            shown = internal.value("meta.LabelSelector", job["selector"])
            errors.append(fielderrors.invalid(f"{place}.selector", shown, why))
        if job.get("manualSelector"):
            choices = ("nil", "false")
            errors.append(fielderrors.not_supported(f"{place}.manualSelector", True, choices))
        name = obj["metadata"].get("name", "")
        if len(name) > 52:
            why = names.max_length_error(52)
            errors.append(fielderrors.invalid("metadata.name", name, why))
        return errors

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        name = obj["metadata"].get("name", "")
        found = podvalidation.name_warnings(name, "Pod names and hostnames")
        return found + _warnings(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        if not was_counted(obj, old):
            return []
        return _warnings(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")


def _warnings(job: Object, path: str) -> list[str]:
    """What is said of a job's pods, and of more of them than can be told apart (pkg/api/job)."""
    found = podwarnings.of_spec(job.get("template") or {}, f"{path}.template")
    count, at_once = job.get("completions") or 0, job.get("parallelism") or 0
    if job.get("completionMode") == "Indexed" and count > _MANY and at_once > _MANY_AT_ONCE:
        found.append(
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big "
            "number of indexes fail"
        )
    return found


_MANY, _MANY_AT_ONCE = 100_000, 10_000


def _zone(zone: str, path: str) -> list[FieldError]:
    """validateTimeZone: a name of the IANA's, and not this machine's own."""
    if not zone:
        return [fielderrors.invalid(path, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [fielderrors.invalid(path, zone, why)]
    is_plain = all(map(_ZONE_PART.fullmatch, zone.split("/")))
    if is_plain and ".." in zone:
        return [fielderrors.invalid(path, zone, "time: invalid location name")]
    if not is_plain or zone not in zoneinfo.available_timezones():
        return [fielderrors.invalid(path, zone, f"unknown time zone {zone}")]
    return []


_ZONE_PART = re.compile(r"(?!-|\.{1,2}$)[A-Za-z0-9_+.-]{1,14}")


def _schedule(text: str, path: str) -> list[FieldError]:
    if not text:
        return [fielderrors.required(path)]
    if "TZ" in text:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [fielderrors.invalid(path, text, why)]
    if text in _SHORTHANDS or text.startswith("@every "):
        return []
    if text.startswith("@"):
        return [fielderrors.invalid(path, text, f"unrecognized descriptor: {text}")]
    fields = text.split()
    if len(fields) != 5:
        shown = "[" + " ".join(fields) + "]"
        why = f"expected exactly 5 fields, found {len(fields)}: {shown}"
        return [fielderrors.invalid(path, text, why)]
    for field, bounds in zip(fields, _BOUNDS, strict=True):
        why = _field_problem(field, *bounds)
        if why:
            return [fielderrors.invalid(path, text, why)]
    return []


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number + 1 for number, name in enumerate(_MONTHS)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
"""Least, greatest and named values of each field."""


def _field_problem(field: str, least: int, most: int, named: dict[str, int]) -> str:
    """What robfig/cron's parser says of a field; "" if it is well."""
    for part in field.split(","):
        why = _range_problem(part, least, most, named) if part else ""
        if why:
            return why
    return ""


def _range_problem(part: str, least: int, most: int, named: dict[str, int]) -> str:
    """getRange: `*`, `?`, `a`, `a-b`, each with `/step`."""
    whole, *steps = part.split("/")
    ends = whole.split("-")
    try:
        if ends[0] in ("*", "?"):
            first, last = least, most
        else:
            first = _number(ends[0], named)
            if len(ends) > 2:
                return f"too many hyphens: {part}"
            last = _number(ends[1], named) if len(ends) == 2 else first
        if len(steps) > 1:
            return f"too many slashes: {part}"
        step = _number(steps[0], {}) if steps else 1
    except ValueError as error:
        return str(error)
    if steps and len(ends) == 1 and ends[0] not in ("*", "?"):
        last = most
    if first < least:
        return f"beginning of range ({first}) below minimum ({least}): {part}"
    if last > most:
        return f"end of range ({last}) above maximum ({most}): {part}"
    if first > last:
        return f"beginning of range ({first}) beyond end of range ({last}): {part}"
    return "" if step else f"step of range should be a positive number: {part}"


def _number(text: str, named: dict[str, int]) -> int:
    """Raises ValueError with the parser's text."""
    if text.lower() in named:
        return named[text.lower()]
    try:
        number = strconv.parse_int(text)
    except ValueError as error:
        why = str(error).replace("ParseInt", "Atoi")
        raise ValueError(f"failed to parse int from {text}: {why}") from error
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
