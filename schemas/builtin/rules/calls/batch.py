"""What is irregular in batch: indexes, success and failure policies, templates of pods that end."""

import itertools

from inkube.schemas import fielderrors
from inkube.schemas.builtin import rules
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.pods import validation as podvalidation
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext, strconv
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object

_MANAGER_SIZE = 63
_MOST_INDEXES = 100_000
"""Of jobs that count each index's failures; also how many pods of an indexed job run at once."""
_MOST_FAILING = 10_000
_MOST_RULES = 20
_INDEXES_SIZE = 64 * 1024
_MOST_CODES = 255
_ACTIONS, _OPERATORS = ("Count", "FailIndex", "FailJob", "Ignore"), ("In", "NotIn")


def has_no_indexes(frame: Frame) -> bool:
    """Whether a job says that its pods are alike, or says nothing."""
    return frame.obj.get("completionMode") in (None, "NonIndexed")


def manager(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """`example.com/path`, of a bounded length."""
    errors = checks.domain_prefixed_path(value, path)
    if len(value) > _MANAGER_SIZE:
        errors.append(fielderrors.too_long(path, _MANAGER_SIZE))
    return errors


def many_indexes(spec: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Bounds of indexed jobs that depend on each other."""
    if spec.get("completionMode") != "Indexed":
        return []
    errors = []
    count, failing = spec.get("completions"), spec.get("maxFailedIndexes")
    at_once = spec.get("parallelism")
    if at_once is not None and at_once > _MOST_INDEXES:
        why = f"must be less than or equal to {_MOST_INDEXES} when completion mode is Indexed"
        errors.append(fielderrors.invalid(f"{path}.parallelism", at_once, why))
    place = f"{path}.maxFailedIndexes"
    if count is not None and failing is not None and failing > count:
        why = "must be less than or equal to completions"
        errors.append(fielderrors.invalid(place, failing, why))
    if failing is not None and failing > _MOST_INDEXES:
        why = f"must be less than or equal to {_MOST_INDEXES}"
        errors.append(fielderrors.invalid(place, failing, why))
    if count is None or count <= _MOST_INDEXES or spec.get("backoffLimitPerIndex") is None:
        return errors
    if failing is None:
        why = f"must be specified when completions is above {_MOST_INDEXES}"
        errors.append(fielderrors.required(place, why))
    why = (
        f"must be less than or equal to {_MOST_FAILING} when completions are above "
        f"{_MOST_INDEXES} and used with backoff limit per index"
    )
    for member, value in (("parallelism", at_once), ("maxFailedIndexes", failing)):
        if value is not None and value > _MOST_FAILING:
            errors.append(fielderrors.invalid(f"{path}.{member}", value, why))
    return errors


def pod_template(spec: Object, path: str, frame: Frame) -> list[FieldError]:
    """Pods that come to an end."""
    template = spec.get("template") or {}
    errors = podvalidation.template(rules.book(frame.minor), template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    place = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        errors.append(fielderrors.required(place, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(fielderrors.not_supported(place, policy, ("OnFailure", "Never")))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(fielderrors.invalid(place, policy, why))
    return errors


# ------------------------------------------------------------------------------- success policies


def success_policy(spec: Object, path: str, _frame: Frame) -> list[FieldError]:
    """validateSuccessPolicy: rules about indexes, so for indexed jobs only."""
    policy, place = spec.get("successPolicy"), f"{path}.successPolicy"
    if policy is None:
        return []
    if spec.get("completionMode") != "Indexed":
        shown = internal.value("batch.SuccessPolicy", policy)
        return [fielderrors.invalid(place, shown, "requires indexed completion mode")]
    rules, errors = policy.get("rules") or [], []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(fielderrors.required(f"{place}.rules", why))
    if len(rules) > _MOST_RULES:
        errors.append(fielderrors.too_many(f"{place}.rules", len(rules), _MOST_RULES))
    for index, rule in enumerate(rules):
        errors += _success_rule(rule, spec.get("completions") or 0, f"{place}.rules[{index}]")
    return errors


def _success_rule(rule: Object, completions: int, path: str) -> list[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    errors, total = [], 0
    if indexes is None and count is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(fielderrors.required(path, why))
    if indexes is not None:
        place = f"{path}.succeededIndexes"
        if len(indexes) > _INDEXES_SIZE:
            errors.append(fielderrors.too_long(place, _INDEXES_SIZE))
        try:
            total = _count_indexes(indexes, completions)
        except ValueError as error:
            why = f"error parsing succeededIndexes: {error}"
            errors.append(fielderrors.invalid(place, indexes, why))
    if count is None:
        return errors
    place = f"{path}.succeededCount"
    if count < 0:
        errors.append(fielderrors.invalid(place, count, "must be greater than or equal to 0"))
    bounds = [(completions, "specified completions")]
    if indexes is not None:
        bounds.append((total, "indexes in the specified succeededIndexes field"))
    for bound, what in bounds:
        if count > bound:
            why = f"must be less than or equal to {bound} (the number of {what})"
            errors.append(fielderrors.invalid(place, count, why))
    return errors


def _count_indexes(text: str, completions: int) -> int:
    """How many indexes `0,2-4` has. Raises ValueError with the text of validateIndexesFormat."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        first, end = _interval(interval, completions)
        if last is not None and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        raise ValueError(
            f"the fragment {gotext.quote(text)} violates the requirement that an index interval "
            "can have at most two parts separated by '-'"
        )
    found = [_index(limit, completions) for limit in limits]
    if len(found) == 2 and found[0] >= found[1]:
        raise ValueError(f"non-increasing order, previous: {found[0]}, current: {found[1]}")
    return found[0], found[-1]


def _index(text: str, completions: int) -> int:
    try:
        index = strconv.parse_int(text)
    except ValueError as error:
        shown = gotext.quote(text)
        raise ValueError(f"cannot convert string to integer for index: {shown}") from error
    if index >= completions:
        raise ValueError(f"too large index: {gotext.quote(text)}")
    return index


# ------------------------------------------------------------------------------- failure policies


def action(rule: Object, path: str, frame: Frame) -> list[FieldError]:
    """A known one, and one for an index only where failures are counted for each."""
    name, place = rule.get("action", ""), f"{path}.action"
    if not name:
        return [fielderrors.required(place, f"valid values: {_quoted(_ACTIONS)}")]
    if name not in _ACTIONS:
        return [fielderrors.not_supported(place, name, _ACTIONS)]
    if name == "FailIndex" and frame.outer("backoffLimitPerIndex") is None:
        why = "requires the backoffLimitPerIndex to be set"
        return [fielderrors.invalid(place, name, why)]
    return []


def one_requirement(rule: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Exit codes or conditions, and not both."""
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    if codes is not None and conditions:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
    elif codes is None and not conditions:
        why = "specifying one of OnExitCodes and OnPodConditions is required"
    else:
        return []
    return [fielderrors.invalid(path, fielderrors.OMITTED, why)]


def exit_codes(codes: Object, path: str, frame: Frame) -> list[FieldError]:
    """An operator, a container of the template, and codes in their order, each once."""
    operator, values = codes.get("operator", ""), codes.get("values") or []
    errors: list[FieldError] = []
    if not operator:
        why = f"valid values: {_quoted(_OPERATORS)}"
        errors.append(fielderrors.required(f"{path}.operator", why))
    elif operator not in _OPERATORS:
        errors.append(fielderrors.not_supported(f"{path}.operator", operator, _OPERATORS))
    name = codes.get("containerName")
    if name is not None and name not in _containers(frame.outer("template")):
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(fielderrors.invalid(f"{path}.containerName", name, why))
    place = f"{path}.values"
    if not values:
        shown = codes.get("values")
        errors.append(fielderrors.invalid(place, shown, "at least one value is required"))
    elif len(values) > _MOST_CODES:
        errors.append(fielderrors.too_many(place, len(values), _MOST_CODES))
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            why = "must not be 0 for the In operator"
            errors.append(fielderrors.invalid(f"{place}[{index}]", value, why))
        if value in seen:
            errors.append(fielderrors.duplicate(f"{place}[{index}]", value))
        seen.add(value)
    if any(left > right for left, right in itertools.pairwise(values)):
        errors.append(fielderrors.invalid(place, values, "must be ordered"))
    return errors


def _containers(job: Frame | None) -> set[str]:
    pod = job.obj["template"].get("spec") or {} if job is not None else {}
    return {
        container.get("name", "")
        for member in ("containers", "initContainers")
        for container in pod.get(member) or ()
    }


def _quoted(names: tuple[str, ...]) -> str:
    """`%q` of a []string."""
    return f"[{' '.join(map(gotext.quote, names))}]"
