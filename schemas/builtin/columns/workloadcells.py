"""The cells of workloads, autoscalers and budgets."""

from datetime import datetime
from typing import Any

from inkube.schemas import durations
from inkube.schemas.builtin.columns.common import (
    NONE,
    UNKNOWN,
    UNSET,
    age,
    containers,
    pairs,
    selector,
    since,
)
from inkube.schemas.golang import rfc3339
from inkube.schemas.objects import Object
from inkube.schemas.selectors import format_selector


def _parts(obj: Object) -> tuple[Object, Object]:
    return obj.get("spec") or {}, obj.get("status") or {}


def deployment(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Deployment (printDeployment)."""
    spec, status = _parts(obj)
    return [
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now),
        *containers(spec.get("template")),
        format_selector(spec.get("selector") or {}),
    ]


def replicas(obj: Object, now: datetime) -> list[Any]:
    """printReplicaSet and printReplicationController."""
    spec, status = _parts(obj)
    given = spec.get("selector")
    is_map = obj.get("kind") == "ReplicationController"
    return [
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now),
        *containers(spec.get("template")),
        pairs(given) if is_map else selector(given),
    ]


def stateful_set(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a StatefulSet (printStatefulSet)."""
    spec, status = _parts(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [ready, age(obj, now), *containers(spec.get("template"))]


def daemon_set(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a DaemonSet (printDaemonSet)."""
    spec, status = _parts(obj)
    members = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady",
        "updatedNumberScheduled", "numberAvailable",
    )  # fmt: skip
    template = spec.get("template") or {}
    return [
        *(status.get(member, 0) for member in members),
        pairs((template.get("spec") or {}).get("nodeSelector")),
        age(obj, now),
        *containers(template),
        selector(spec.get("selector")),
    ]


def job(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Job (printJob)."""
    spec, status = _parts(obj)
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        parallel = spec.get("parallelism", 0)
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    return [
        _job_status(spec, status),
        completions,
        _duration(status, now),
        age(obj, now),
        *containers(spec.get("template")),
        selector(spec.get("selector")),
    ]


def _job_status(spec: Object, status: Object) -> str:
    true = {
        condition.get("type")
        for condition in status.get("conditions") or []
        if condition.get("status") == "True"
    }
    for kind, word in (
        ("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"), ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):  # fmt: skip
        if kind in true:
            return word
    return "Running"


def _duration(status: Object, now: datetime) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    if not end:
        return since(start, now)
    return durations.human((rfc3339.parse(end) - rfc3339.parse(start)).total_seconds())


def cron_job(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a CronJob (printCronJob)."""
    spec, status = _parts(obj)
    last = status.get("lastScheduleTime")
    template = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template")
    chosen = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("selector")
    return [
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if spec.get("suspend") is None else str(spec["suspend"]),
        len(status.get("active") or []),
        since(last, now) if last else NONE,
        age(obj, now),
        *containers(template),
        selector(chosen),
    ]


def budget(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a PodDisruptionBudget (printPodDisruptionBudget)."""
    spec, status = _parts(obj)
    bounds = [str(spec.get(member, "N/A")) for member in ("minAvailable", "maxUnavailable")]
    return [*bounds, status.get("disruptionsAllowed", 0), age(obj, now)]


def autoscaler(obj: Object, now: datetime) -> list[Any]:
    """printHorizontalPodAutoscaler, for both versions."""
    spec, status = _parts(obj)
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(spec, status),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(obj, now),
    ]


def _targets(spec: Object, status: Object) -> str:
    if "metrics" not in spec:
        wanted = spec.get("targetCPUUtilizationPercentage")
        current = status.get("currentCPUUtilizationPercentage")
        shown = UNKNOWN if current is None else f"{current}%"
        return NONE if wanted is None else f"cpu: {shown}/{wanted}%"
    current_metrics = status.get("currentMetrics") or []
    texts = [
        _metric(metric, current_metrics[index] if index < len(current_metrics) else {})
        for index, metric in enumerate(spec.get("metrics") or [])
    ]
    if not texts:
        return NONE
    more = f" + {len(texts) - 2} more..." if len(texts) > 2 else ""
    return ", ".join(texts[:2]) + more


def _metric(metric: Object, current: Object) -> str:
    kind = metric.get("type", "")
    member = kind[:1].lower() + kind[1:]
    wanted, found = metric.get(member) or {}, (current.get(member) or {}).get("current") or {}
    target = wanted.get("target") or {}
    label = f"{wanted['name']}: " if kind in ("Resource", "ContainerResource") else ""
    suffix = " (avg)" if kind in ("External", "Object") and target.get("averageValue") else ""
    if target.get("averageUtilization") is not None:
        shown = found.get("averageUtilization")
        text = UNKNOWN if shown is None else f"{shown}%"
        return f"{label}{text}/{target['averageUtilization']}%"
    field = "averageValue" if target.get("averageValue") else "value"
    return f"{label}{found.get(field, UNKNOWN)}/{target.get(field, UNKNOWN)}{suffix}"
