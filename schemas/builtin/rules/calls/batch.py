"""Irregular rules of batch: indexes, success and failure policies, templates of pods that end."""

import contextlib
import itertools
import re
import zoneinfo
from collections import deque
from collections.abc import Iterator

from inkube.schemas import caches, fielderrors, selectors
from inkube.schemas.builtin.rules import words
from inkube.schemas.builtin.rules.calls import meta
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import cron, gotext, strconv
from inkube.schemas.gotypes import internal
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same

_MANAGER_SIZE = 63
UID_LABEL = "batch.kubernetes.io/controller-uid"
_SCHEDULING = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


def manager(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that `managedBy` has the form `example.com/path` and a bounded length."""
    errors = names.domain_prefixed_path(value, path)
    if len(value) > _MANAGER_SIZE:
        errors.append(fielderrors.too_long(path, _MANAGER_SIZE))
    return errors


# ---------------------------------------------------------------------------------- whole jobs


def labels_of_template(job: Object) -> None:
    """Copy the template's labels to a job without labels. The job shares them, so that labels that
    are added later appear in both."""
    template = (job.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = labels


def own_labels(meta: Object) -> dict[str, str]:
    """Return the labels of a job's pods that identify the job."""
    uid, name = meta.get("uid", ""), meta.get("name", "")
    return {
        "controller-uid": uid, "job-name": name,
        UID_LABEL: uid, "batch.kubernetes.io/job-name": name,
    }  # fmt: skip


def generated(job: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check the labels and the selector that are generated from a job's uid and name
    (validateGeneratedSelector)."""
    spec, own = job.get("spec") or {}, own_labels(job.get("metadata") or {})
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    errors = []
    for key, value in own.items():
        place, why = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            errors.append(fielderrors.required(place, why))
        elif labels[key] != value:
            errors.append(fielderrors.invalid(place, labels, why))
    selector = spec["selector"]
    if not meta.is_readable(selector) or selectors.selects(selector, own):
        return errors
    shown = internal.value("meta.LabelSelector", selector)
    why = "`selector` not auto-generated"
    return [*errors, fielderrors.invalid("spec.selector", shown, why)]


def longest_name(job: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check that the name of an indexed job's last pod is a valid hostname."""
    spec, name = job.get("spec") or {}, (job.get("metadata") or {}).get("name", "")
    count = spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed" or count <= 0:
        return []
    pod = f"{name}-{count - 1}"
    if not names.label(pod):
        return []
    why = f"will not able to create pod with invalid DNS label: {pod}"
    return [fielderrors.invalid("metadata.name", name, why)]


def completions_kept(spec: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that completions change only for an indexed job, and together with parallelism."""
    value, place = spec.get("completions"), f"{path}.completions"
    before = ((frame.old or {}).get("spec") or {}).get("completions")
    if same(value, before):
        return []
    if spec.get("completionMode") != "Indexed":
        return [fielderrors.invalid(place, value, words.IMMUTABLE)]
    if value is None or value == spec.get("parallelism"):
        return []
    why = "can only be modified in tandem with spec.parallelism"
    return [fielderrors.invalid(place, value, why)]


def managed_by(job: Object, old: Object | None) -> None:
    """Remove the manager of a new job. Updates, and the templates of cron jobs, keep it."""
    if old is None:
        (job.get("spec") or {}).pop("managedBy", None)


def template_kept(spec: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that the template does not change. While a job is suspended and no pods of it run, its
    scheduling directives and the resources of its containers can change
    (validatePodTemplateUpdate)."""
    old = frame.old or {}
    template, before = spec["template"], old["spec"]["template"]
    if not _rests(old):
        if same(template, before):
            return []
        shown = internal.value("core.PodTemplateSpec", template)
        return [fielderrors.invalid(f"{path}.template", shown, words.IMMUTABLE)]
    pod = template["spec"]
    if same(_without_resources(_chosen(pod)), _without_resources(_chosen(before["spec"]))):
        return []
    shown = internal.value("core.PodSpec", pod)
    return [fielderrors.invalid(f"{path}.template.spec", shown, words.IMMUTABLE)]


def _rests(job: Object) -> bool:
    """Return whether a suspended job was never started, or is said to be suspended without
    active pods (jobSpecValidationOptions of pkg/registry/batch/job/strategy.go)."""
    status = job.get("status") or {}
    if not job["spec"].get("suspend"):
        return False
    if not status.get("startTime"):
        return True
    conditions = status.get("conditions") or ()
    said = any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions)
    return said and not status.get("active")


def whole_template_kept(spec: Object, path: str, frame: Frame) -> list[FieldError]:
    """Check that the template does not change, before 1.36. While a job is suspended and was never
    started, only its scheduling directives, labels and annotations can change."""
    old = frame.old or {}
    template, before = spec["template"], old["spec"]["template"]
    if not old["spec"].get("suspend") or (old.get("status") or {}).get("startTime"):
        kept = same(template, before)
    else:
        kept = same(_fixed_part(template), _fixed_part(before))
    if kept:
        return []
    shown = internal.value("core.PodTemplateSpec", template)
    return [fielderrors.invalid(f"{path}.template", shown, words.IMMUTABLE)]


def _fixed_part(template: Object) -> Object:
    meta = template.get("metadata") or {}
    kept = {k: v for k, v in meta.items() if k not in ("labels", "annotations")}
    return {**template, "metadata": kept, "spec": _chosen(template["spec"])}


def _chosen(pod: Object) -> Object:
    """Return a pod's spec without the scheduling directives that can change while a job is
    suspended."""
    made = {k: v for k, v in pod.items() if k not in _SCHEDULING}
    affinity = {k: v for k, v in (pod.get("affinity") or {}).items() if k != "nodeAffinity"}
    return {**made, "affinity": affinity}


def _without_resources(pod: Object) -> Object:
    lists = {
        member: [
            {k: v for k, v in container.items() if k != "resources"}
            for container in pod.get(member) or ()
        ]
        for member in ("containers", "initContainers")
    }
    return {**pod, **lists}


# ------------------------------------------------------------------------------- success policies


def succeeded_indexes(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Return an error if a list of indexes does not have its form, or they are too large."""
    try:
        frame.facts["indexes"] = _count_indexes(value, _completions(frame))
    except ValueError as error:
        return [fielderrors.invalid(path, value, f"error parsing succeededIndexes: {error}")]
    return []


def succeeded_count(value: int, path: str, frame: Frame) -> list[FieldError]:
    """Check that a number of indexes is not higher than that of all indexes, or of those in
    succeededIndexes."""
    bounds = [(_completions(frame), "specified completions")]
    if frame.obj.get("succeededIndexes") is not None:
        found = frame.facts.get("indexes", 0)
        bounds.append((found, "indexes in the specified succeededIndexes field"))
    return [
        fielderrors.invalid(
            path, value, f"must be less than or equal to {bound} (the number of {noun})"
        )
        for bound, noun in bounds
        if value > bound
    ]


def _completions(frame: Frame) -> int:
    job = frame.outer("completionMode")
    return (job.obj.get("completions") or 0) if job is not None else 0


def _count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a text such as `0,2-4`. Raises ValueError with the text of
    validateIndexesFormat."""
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


def exit_codes(values: list[int], path: str, frame: Frame) -> Iterator[FieldError]:
    """Check that the exit codes are sorted and unique, and are not 0 for the operator In."""
    seen: set[int] = set()
    for index, value in enumerate(values):
        if value == 0 and frame.obj.get("operator") == "In":
            why = "must not be 0 for the In operator"
            yield fielderrors.invalid(f"{path}[{index}]", value, why)
        if value in seen:
            yield fielderrors.duplicate(f"{path}[{index}]", value)
        seen.add(value)
    if any(left > right for left, right in itertools.pairwise(values)):
        yield fielderrors.invalid(path, values, "must be ordered")


def names_no_container(frame: Frame) -> bool:
    """Return whether the pod template has no container with the name."""
    name = frame.obj.get("containerName")
    return name is not None and name not in _containers(frame.outer("template"))


def _containers(job: Frame | None) -> set[str]:
    pod = job.obj["template"].get("spec") or {} if job is not None else {}
    return {
        container.get("name", "")
        for member in ("containers", "initContainers")
        for container in pod.get(member) or ()
    }


# ----------------------------------------------------------------------------------- cron jobs


def time_zone(zone: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that the time zone is in the IANA database and is not `Local` (validateTimeZone)."""
    if not zone:
        return [fielderrors.invalid(path, zone, "timeZone must be nil or non-empty string")]
    if not all(map(_ZONE_PART.fullmatch, zone.split("/"))):
        return [fielderrors.invalid(path, zone, f"unknown time zone {zone}")]
    errors = []
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(fielderrors.invalid(path, zone, why))
    why = _zone_problem(zone)
    return [*errors, fielderrors.invalid(path, zone, why)] if why else errors


def _zone_problem(zone: str) -> str:
    """Return the error of Go for the name of a time zone, or "" (time.LoadLocation)."""
    if ".." in zone or zone.startswith(("/", "\\")):
        return "time: invalid location name"
    if zone in _OWN_ZONES:
        return ""
    bare = zone.removeprefix("posix/").removeprefix("right/")
    known = _known_zones()
    if bare in known:
        return ""
    if zone in _ZONE_FOLDERS or any(each.startswith(f"{bare}/") for each in known):
        return "is a directory"
    return (
        "malformed time zone information" if zone in _ZONE_TABLES else f"unknown time zone {zone}"
    )


@caches.of_values(1)
def _known_zones() -> frozenset[str]:
    """Return the time zones of this machine, which are files in folders."""
    return frozenset(zoneinfo.available_timezones())


_ZONE_PART = re.compile(r"(?!-|\.{1,2}$)[A-Za-z0-9_+.-]{1,14}")
_OWN_ZONES = frozenset({"", "UTC", "Local"})
_ZONE_FOLDERS = frozenset({"posix", "right"})
_ZONE_TABLES = frozenset({
    "iso3166.tab", "leap-seconds.list", "leapseconds", "tzdata.zi", "zone.tab", "zone1970.tab",
})  # fmt: skip
"""Files in the folder of time zones that do not contain a zone."""


def schedule(text: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check a schedule as robfig/cron parses it, without a time zone (validateScheduleFormat)."""
    why = _schedule_problem(text)
    errors = [fielderrors.invalid(path, text, why)] if why else []
    if "TZ" in text:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(fielderrors.invalid(path, text, why))
    return errors


def _schedule_problem(text: str) -> str:
    """Return the error of robfig/cron's parser for a schedule, or "" (Parser.Parse)."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, text = text.partition("=")[2].partition(" ")
        if not space:
            return "invalid schedule format: runtime error: slice bounds out of range [:-1]"
        why = _zone_problem(zone)
        if why:
            return f"provided bad location {zone}: {why}"
        text = text.strip()
    try:
        cron.parse(text)
    except ValueError as error:
        return str(error)
    return ""


# ------------------------------------------------------------------------------- statuses of jobs


def _truths(status: Object | None) -> set[str]:
    """Return the types of conditions that are True, and `finished` for Complete or Failed."""
    conditions = (status or {}).get("conditions") or ()
    found = {one.get("type", "") for one in conditions if one.get("status") == "True"}
    return found | {"finished"} if found & {"Complete", "Failed"} else found


def is_true(kind: str, frame: Frame) -> bool:
    """Return whether a condition is True."""
    return kind in _truths(frame.obj)


def was_true(kind: str, frame: Frame) -> bool:
    """Return whether a condition was True before the update."""
    return kind in _truths(frame.old)


def is_finished(frame: Frame) -> bool:
    """Return whether the job is complete or failed (IsJobFinished)."""
    return is_true("finished", frame)


def changes(names: str, frame: Frame) -> bool:
    """Return whether an update changes one of several conditions or fields, which are joined by
    `+`. Rules for statuses apply only to changes, because the controller follows the spec with a
    delay."""
    old = frame.old or {}
    turned = _truths(frame.obj) ^ _truths(old)
    return any(
        name in turned or not same(frame.obj.get(name) or None, old.get(name) or None)
        for name in names.split("+")
    )


def counted_once(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Return an error for an empty or repeated uid in `uncountedTerminatedPods`."""
    if not value:
        return [fielderrors.invalid(path, value, "must not be empty")]
    seen: set[str] = frame.facts.setdefault("counted", set())
    repeated = value in seen
    seen.add(value)
    return [fielderrors.duplicate(path, value)] if repeated else []


def nothing_uncounted(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Return an error if pods of a finished job are not counted."""
    if not value.get("failed") and not value.get("succeeded"):
        return []
    shown = internal.value("batch.UncountedTerminatedPods", value)
    why = "uncountedTerminatedPods needs to be empty for finished job"
    return [fielderrors.invalid(path, shown, why)]


def _spec(frame: Frame) -> Object:
    found: Object = frame.root.obj.get("spec") or {}
    return found


def indexes(name: str, value: str, path: str, frame: Frame) -> list[FieldError]:
    """Return an error if a list of indexes does not have its form, or they are too large."""
    try:
        _count_indexes(value, _spec(frame)["completions"])
    except ValueError as error:
        return [fielderrors.invalid(path, value, f"error parsing {name}: {error}")]
    return []


def indexes_apart(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Return an error for the first index that is both failed and completed
    (validateFailedIndexesNotOverlapCompleted)."""
    count = _spec(frame)["completions"]
    failed = _intervals(value, count)
    completed = _intervals(frame.obj.get("completedIndexes", ""), count)
    while completed and failed:
        (first, last), (start, end) = completed[0], failed[0]
        if start <= last and first <= end:
            why = f"failedIndexes and completedIndexes overlap at index: {max(first, start)}"
            return [fielderrors.invalid(path, value, why)]
        (completed if first <= start else failed).popleft()
    return []


def _intervals(text: str, completions: int) -> deque[tuple[int, int]]:
    """Return the intervals of a list of indexes that can be read."""
    found: deque[tuple[int, int]] = deque()
    for interval in text.split(",") if text else ():
        with contextlib.suppress(ValueError):  # another check reports them
            found.append(_interval(interval, completions))
    return found


def is_elastic(frame: Frame) -> bool:
    """Return whether the job is indexed, with as many completions as pods at the same time, and can
    be scaled down."""
    spec = _spec(frame)
    is_indexed = spec.get("completionMode") == "Indexed"
    return is_indexed and spec.get("completions") == spec.get("parallelism")


def starts_nothing(frame: Frame) -> bool:
    """Return whether a job is suspended and needs no completions: it can be complete without having
    been started."""
    spec = _spec(frame)
    return spec.get("suspend") is True and spec.get("completions") == 0
