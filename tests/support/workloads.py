"""Creates and reads objects for tests of workloads."""

from typing import Any

Object = dict[str, Any]
DEPLOYMENTS, REPLICA_SETS = "apps/v1/deployments", "apps/v1/replicasets"
STATEFUL_SETS, DAEMON_SETS = "apps/v1/statefulsets", "apps/v1/daemonsets"
JOBS, CRON_JOBS, PODS, NODES = "batch/v1/jobs", "batch/v1/cronjobs", "v1/pods", "v1/nodes"
EVENTS = "v1/events"


def template(image: str = "i:1", **changes: Any) -> Object:
    """Return a pod template with the label `app: web`; `changes` of its spec, labels and
    annotations."""
    labels = {"app": "web", **changes.pop("labels", {})}
    meta: Object = {"labels": labels, "annotations": changes.pop("annotations", {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": image}], **changes}}


def workload(kind: str, name: str = "web", **spec: Any) -> Object:
    """Return a Deployment, ReplicaSet, StatefulSet or DaemonSet with `template()`."""
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template(), **spec}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def job(name: str = "j", **spec: Any) -> Object:
    """Return a Job whose pod ends after a second."""
    pods = spec.pop("template", template(restartPolicy="Never"))
    meta = {"name": name, "namespace": "default"}
    spec = {"template": pods, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def cron_job(name: str, schedule: str, **spec: Any) -> Object:
    """Return a CronJob whose Jobs end after a second."""
    meta = {"name": name, "namespace": "default"}
    made = job()["spec"]
    spec = {"schedule": schedule, "jobTemplate": {"spec": made}, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec}


def pod(name: str = "p", **spec: Any) -> Object:
    """Return a pod with one container."""
    meta: Object = {"name": name, "namespace": "default", "labels": spec.pop("labels", {})}
    meta["annotations"] = spec.pop("annotations", {})
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def node(name: str, **changes: Any) -> Object:
    """Return a simulated node."""
    meta: Object = {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    meta["labels"] = {"kubernetes.io/hostname": name, **changes.pop("labels", {})}
    status = changes.pop("status", {})
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": changes, "status": status}


def condition(obj: Object, kind: str) -> tuple[str, str]:
    """Return status and reason of a condition; both empty if it is missing."""
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            return each["status"], each.get("reason", "")
    return "", ""


def alive(found: list[Object]) -> list[Object]:
    """Return pods without a deletionTimestamp."""
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]
