"""The cells of pods: what a pod is doing, from the statuses of its containers.

Follows printers.go printPod.
"""

from datetime import datetime
from typing import Any

from inkube.schemas.builtin.columns.common import NONE, age, since
from inkube.schemas.objects import Object


def cells(obj: Object, now: datetime) -> list[Any]:
    """Return all cells except the name."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    statuses = status.get("containerStatuses") or []
    total = len(spec.get("containers") or [])
    ready = sum(1 for one in statuses if one.get("ready"))
    restarts = sum(one.get("restartCount", 0) for one in statuses)
    addresses = status.get("podIPs") or []
    address = addresses[0].get("ip", "") if addresses else status.get("podIP", "")
    return [
        f"{ready}/{total}",
        _reason(obj, spec, status),
        _restarts(restarts, statuses, now),
        age(obj, now),
        address or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _reason(obj: Object, spec: Object, status: Object) -> str:
    reason = str(status.get("reason") or status.get("phase", ""))
    initializing = _initializing(spec, status)
    if initializing:
        reason = initializing
    else:
        for one in reversed(status.get("containerStatuses") or []):
            reason = _container_reason(one) or reason
    if obj["metadata"].get("deletionTimestamp"):
        gone = status.get("reason") == "NodeLost"
        return "Unknown" if gone else "Terminating"
    return reason


def _initializing(spec: Object, status: Object) -> str:
    total = len(spec.get("initContainers") or [])
    for index, one in enumerate(status.get("initContainerStatuses") or []):
        state = one.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if terminated is not None:
            return f"Init:{_ended(terminated)}"
        if waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _container_reason(container_status: Object) -> str:
    state = container_status.get("state") or {}
    if (state.get("waiting") or {}).get("reason"):
        return str(state["waiting"]["reason"])
    terminated = state.get("terminated")
    return _ended(terminated) if terminated is not None else ""


def _ended(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _restarts(count: int, statuses: list[Object], now: datetime) -> str:
    ends = [
        ((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in statuses
    ]
    times = [end for end in ends if end]
    return f"{count} ({since(max(times), now)} ago)" if count and times else str(count)


def _gates(spec: Object, status: Object) -> str:
    gates = [gate.get("conditionType") for gate in spec.get("readinessGates") or []]
    if not gates:
        return NONE
    true = {
        condition.get("type")
        for condition in status.get("conditions") or []
        if condition.get("status") == "True"
    }
    return f"{sum(1 for gate in gates if gate in true)}/{len(gates)}"


_ENDS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def completed(pod: Object) -> list[Object]:
    """Return the row condition of a pod that has ended, else an empty list."""
    phase = (pod.get("status") or {}).get("phase")
    if phase not in _ENDS:
        return []
    words = {"reason": phase, "message": _ENDS[phase]}
    return [{"type": "Completed", "status": "True", **words}]
