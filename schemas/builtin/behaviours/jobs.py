"""Jobs and CronJobs, as stored objects.

Follows pkg/apis/batch/v1/defaults.go, pkg/apis/batch/validation and pkg/registry/batch/job.
"""

import itertools
import zoneinfo

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, same
from inkube.schemas.builtin.behaviours.pods import defaults as poddefaults
from inkube.schemas.builtin.behaviours.pods import validation as podvalidation
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import strconv
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
    "ttlSecondsAfterFinished",
)  # fmt: skip
_NO_LIMIT = 2**31 - 1
_MAX_RULES, _MAX_CODES = 20, 255
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
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
        poddefaults.fill(spec, {"completionMode": "NonIndexed"})
        has_policy = spec.get("podFailurePolicy") is not None
        replacement = "Failed" if has_policy else "TerminatingOrFailed"
        poddefaults.fill(spec, {"podReplacementPolicy": replacement})
        _label_as_template(obj)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template_meta = spec["template"].setdefault("metadata", {})
        template_meta["labels"] = {**(template_meta.get("labels") or {}), **_own_labels(meta)}
        selector = spec.setdefault("selector", {})
        own = {_UID_LABEL: meta.get("uid", "")}
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **own}
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

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """A new one's pods must be able to have hostnames."""
        errors, spec = super().validate(context, obj), obj["spec"]
        if not spec.get("manualSelector"):
            errors += _selector_made(spec.get("selector") or {}, obj["metadata"])
        name, count = obj["metadata"].get("name", ""), spec.get("completions") or 0
        if spec.get("completionMode") == "Indexed" and count > 0:
            pod = f"{name}-{count - 1}"
            if naming.label(pod):
                why = f"will not able to create pod with invalid DNS label: {pod}"
                errors.append(fielderrors.invalid("metadata.name", name, why))
        return errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
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
    return [fielderrors.invalid("spec.selector", selector, "`selector` not auto-generated")]


def job_spec(spec: Object, path: str) -> list[FieldError]:
    """ValidateJobSpec without the selector."""
    errors = checks.not_negative(spec, path, *_COUNTS)
    if spec.get("completionMode"):
        modes = ("NonIndexed", "Indexed")
        errors += checks.one_of(spec["completionMode"], f"{path}.completionMode", modes)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        why = "when completion mode is Indexed"
        errors.append(fielderrors.required(f"{path}.completions", why))
    if spec.get("completionMode") != "Indexed":
        errors += [
            fielderrors.invalid(
                f"{path}.{member}", spec[member], "requires indexed completion mode"
            )
            for member in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(member) is not None
        ]
    manager = spec.get("managedBy")
    if manager is not None:
        problems = names.label_key(manager) if "/" in manager else []
        if "/" not in manager:
            problems = ['must be a domain-prefixed path (such as "acme.io/foo")']
        errors += [fielderrors.invalid(f"{path}.managedBy", manager, why) for why in problems]
    template = spec.get("template") or {}
    policy = spec.get("podFailurePolicy")
    if policy is not None:
        errors += _failure_policy(policy, spec, f"{path}.podFailurePolicy")
    replacement = spec.get("podReplacementPolicy")
    choices = ("Failed",) if policy is not None else ("Failed", "TerminatingOrFailed")
    if replacement is not None and replacement not in choices:
        place = f"{path}.podReplacementPolicy"
        errors.append(fielderrors.not_supported(place, replacement, choices))
    errors += podvalidation.template(template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    place = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        why = 'valid values: "OnFailure", "Never"'
        errors.append(fielderrors.required(place, why))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(fielderrors.invalid(place, policy, why))
    return errors


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
        job = (spec.get("jobTemplate") or {}).get("spec") or {}
        errors += job_spec(job, "spec.jobTemplate.spec")
        name = obj["metadata"].get("name", "")
        if len(name) > 52:
            why = names.max_length_error(52)
            errors.append(fielderrors.invalid("metadata.name", name, why))
        return errors


def _zone(zone: str, path: str) -> list[FieldError]:
    """validateTimeZone: a name of the IANA's, and not this machine's own."""
    if not zone:
        return [fielderrors.invalid(path, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [fielderrors.invalid(path, zone, why)]
    if zone not in zoneinfo.available_timezones():
        return [fielderrors.invalid(path, zone, f"unknown time zone {zone}")]
    return []


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


_ACTIONS, _OPERATORS = ("Count", "FailIndex", "FailJob", "Ignore"), ("In", "NotIn")
_MAX_RULES, _MAX_CODES, _MAX_PATTERNS = 20, 255, 20


def _failure_policy(policy: Object, spec: Object, path: str) -> list[FieldError]:
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {
        container.get("name")
        for member in ("containers", "initContainers")
        for container in pod.get(member) or []
    }
    rules, errors = policy.get("rules") or [], []
    if len(rules) > _MAX_RULES:
        errors.append(fielderrors.too_many(f"{path}.rules", len(rules), _MAX_RULES))
    for index, rule in enumerate(rules):
        errors += _failure_rule(rule, f"{path}.rules[{index}]", containers, spec)
    return errors


def _failure_rule(rule: Object, path: str, containers: set[str], spec: Object) -> list[FieldError]:
    action, codes = rule.get("action", ""), rule.get("onExitCodes")
    conditions = rule.get("onPodConditions") or []
    errors = []
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        why = "requires the backoffLimitPerIndex to be set"
        errors.append(fielderrors.invalid(f"{path}.action", action, why))
    elif not action:
        choices = ", ".join(f'"{one}"' for one in _ACTIONS)
        errors.append(fielderrors.required(f"{path}.action", f"valid values: [{choices}]"))
    elif action not in _ACTIONS:
        errors.append(fielderrors.not_supported(f"{path}.action", action, _ACTIONS))
    if codes is not None:
        errors += _exit_codes(codes, f"{path}.onExitCodes", containers)
    if len(conditions) > _MAX_PATTERNS:
        place = f"{path}.onPodConditions"
        errors.append(fielderrors.too_many(place, len(conditions), _MAX_PATTERNS))
    for index, condition in enumerate(conditions):
        errors += _pattern(condition, f"{path}.onPodConditions[{index}]")
    if codes is not None and conditions:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(fielderrors.invalid(path, fielderrors.OMITTED, why))
    if codes is None and not conditions:
        why = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(fielderrors.invalid(path, fielderrors.OMITTED, why))
    return errors


def _exit_codes(codes: Object, path: str, containers: set[str]) -> list[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    errors: list[FieldError] = []
    if operator not in _OPERATORS:
        errors.append(fielderrors.not_supported(f"{path}.operator", operator, _OPERATORS))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(fielderrors.invalid(f"{path}.containerName", name, why))
    if not values:
        errors.append(
            fielderrors.invalid(f"{path}.values", values, "at least one value is required")
        )
    elif len(values) > _MAX_CODES:
        errors.append(fielderrors.too_many(f"{path}.values", len(values), _MAX_CODES))
    seen: set[int] = set()
    for index, value in enumerate(values):
        place = f"{path}.values[{index}]"
        if operator == "In" and value == 0:
            errors.append(fielderrors.invalid(place, value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(fielderrors.duplicate(place, value))
        seen.add(value)
    if any(left > right for left, right in itertools.pairwise(values)):
        errors.append(fielderrors.invalid(f"{path}.values", values, "must be ordered"))
    return errors


def _pattern(condition: Object, path: str) -> list[FieldError]:
    errors = checks.named(condition.get("type", ""), f"{path}.type", names.label_key)
    status, choices = condition.get("status", ""), ("False", "True", "Unknown")
    if status not in choices:
        errors.append(fielderrors.not_supported(f"{path}.status", status, choices))
    return errors
