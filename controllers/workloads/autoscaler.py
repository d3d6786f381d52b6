"""HorizontalPodAutoscalers: the number of replicas follows the resource usage of pods.

Metrics of resources come from the simulated kubelets. Other metrics APIs do not exist. Follows
pkg/controller/podautoscaler (horizontal.go, replica_calculator.go).
"""

import math
from datetime import timedelta
from typing import NamedTuple

from inkube.client import GVR, Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.capacity import amount
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.formats import format_time, selectors, split_api_version
from inkube.kinds import Controller, Key, Result, StatusError, Watch, status

NAME = "horizontal-pod-autoscaler-controller"
_COMPONENT = "horizontal-pod-autoscaler"
AUTOSCALERS = "autoscaling/v2/horizontalpodautoscalers"
_TOLERANCE = 0.1
_WINDOW = 300.0
_START_DELAY = 30.0
_NO_METRICS = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested "
    "resource (get pods.metrics.k8s.io)"
)


class Target(NamedTuple):
    """The scaled object, as its scale subresource: a Scale of autoscaling/v1."""

    resource: GVR
    scale: Object

    @property
    def replicas(self) -> int:
        """The currently wanted number of replicas."""
        return int((self.scale.get("spec") or {}).get("replicas", 0))

    @property
    def selector(self) -> str:
        """The label selector of the target's pods, in the format of a query."""
        return str((self.scale.get("status") or {}).get("selector", ""))


class _NotScaled(Exception):
    """The number of replicas cannot be computed. The text is the message of the event."""


class _NoMetric(Exception):
    """A metric is not available. `reason` and `text` are for the condition and the event, `first`
    is for the error about all metrics."""

    def __init__(self, reason: str, text: str, first: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.first = first


class Proposal(NamedTuple):
    """The number of replicas for one metric, the description of the metric, and its status."""

    replicas: int
    metric: str
    status: Object


class Autoscaler:
    """Reconciles one autoscaler at a time and scales its target."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(_COMPONENT)
        self._informer = cluster.informer(AUTOSCALERS)
        self._pods = cluster.informer(PODS)
        self._wishes: dict[str, list[tuple[float, int]]] = {}
        """uid → (monotonic time, replicas) of each recommendation within the window."""
        self._checked: dict[str, tuple[int, float]] = {}
        """uid → hash of the spec, and monotonic time of the last check."""

    async def reconcile(self, key: Key) -> Result | None:
        """Check an autoscaler and its target, again after the period."""
        cached = self._informer.get(key)
        if cached is None or pods.is_deleting(cached):
            return None
        uid, now = cached["metadata"]["uid"], self._clock.monotonic()
        spec = hash(repr(cached["spec"]))
        looked = self._checked.get(uid)
        period = self._cluster.config.autoscaler_period
        if looked is not None and looked[0] == spec and now - looked[1] < period:
            return Result(requeue_after=looked[1] + period - now)
        self._checked[uid] = (spec, now)
        live = {each["metadata"]["uid"] for each in self._informer.items()}
        for each in [each for each in self._checked if each not in live]:
            self._checked.pop(each, None)
            self._wishes.pop(each, None)
        await self._reconcile_autoscaler(templates.copy(cached))
        return Result(requeue_after=period)

    # --- conditions

    def _set_condition(
        self, owner: Object, kind: str, value: str, reason: str, message: str
    ) -> None:
        status = owner["status"]
        now = format_time(self._clock.now())
        conditions: list[Object] = status.setdefault("conditions", [])
        made = {"type": kind, "status": value, "reason": reason, "message": message}
        for index, present in enumerate(conditions):
            if present["type"] == kind:
                moved = now if present["status"] != value else present["lastTransitionTime"]
                conditions[index] = {**made, "lastTransitionTime": moved}
                return
        conditions.append({**made, "lastTransitionTime": now})

    async def _write(self, owner: Object, old: Object) -> None:
        if owner["status"] != old:
            await writes.update(self._client, owner, subresource="status")

    # --- one check

    async def _reconcile_autoscaler(self, owner: Object) -> None:
        """Compute the wanted replicas, scale the target, and write the status
        (reconcileAutoscaler)."""
        before = templates.copy(owner.get("status") or {})
        status = owner.setdefault("status", {})
        try:
            target = await self._target(owner)
        except StatusError as error:
            text = "the HPA controller was unable to get the target's current scale: "
            self._set_condition(
                owner, "AbleToScale", "False", "FailedGetScale", text + error.message
            )
            await self._write(owner, before)
            await self._events.warning(owner, "FailedGetScale", error.message)
            return
        text = "the HPA controller was able to get the target's current scale"
        self._set_condition(owner, "AbleToScale", "True", "SucceededGetScale", text)
        spec = owner["spec"]
        least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
        current = target.replicas
        status["currentReplicas"] = current
        desired, reason, metrics = 0, "", status.get("currentMetrics")
        if current == 0 and least != 0:
            text = "scaling is disabled since the replica count of the target is zero"
            self._set_condition(owner, "ScalingActive", "False", "ScalingDisabled", text)
        elif current > most:
            desired, reason = most, "Current number of replicas above Spec.MaxReplicas"
        elif current < least:
            desired, reason = least, "Current number of replicas below Spec.MinReplicas"
        else:
            try:
                desired, reason, metrics = await self._desired_replicas(owner, target, current)
            except _NotScaled as error:
                status["currentMetrics"] = [{"type": ""}]
                status["desiredReplicas"] = current
                await self._write(owner, before)
                await self._events.warning(owner, "FailedComputeMetricsReplicas", str(error))
                return
        if desired != current and reason:
            await self._rescale(owner, target, desired, reason)
        status["desiredReplicas"] = desired
        status["currentMetrics"] = metrics
        await self._write(owner, before)

    async def _target(self, owner: Object) -> Target:
        """Return the current state of the target. Raises StatusError."""
        reference = owner["spec"]["scaleTargetRef"]
        version, name = reference.get("apiVersion", "v1"), reference["kind"]
        kind = self._cluster.server.find_kind(version, name)
        if kind is None:
            group, _ = split_api_version(version)
            raise status.bad_request(f'no matches for kind "{name}" in group "{group}"')
        namespace = owner["metadata"]["namespace"]
        scale = await self._client.get(
            kind.resource, reference["name"], namespace, subresource="scale"
        )
        return Target(kind.resource, scale)

    async def _rescale(self, owner: Object, target: Target, desired: int, reason: str) -> None:
        meta = target.scale["metadata"]
        # The patch contains only the number, so that it does not conflict with concurrent writes
        # of the target's status. Upstream's update of the Scale can conflict.
        change = {"spec": {"replicas": desired}}
        try:
            await self._client.patch(
                target.resource, meta["name"], meta["namespace"], patch=change, subresource="scale"
            )
        except StatusError as error:
            text = "the HPA controller was unable to update the target scale: " + error.message
            self._set_condition(owner, "AbleToScale", "False", "FailedUpdateScale", text)
            text = f"New size: {desired}; reason: {reason}; error: {error.message}"
            await self._events.warning(owner, "FailedRescale", text)
            return
        text = f"the HPA controller was able to update the target scale to {desired}"
        self._set_condition(owner, "AbleToScale", "True", "SucceededRescale", text)
        await self._events.normal(
            owner, "SuccessfulRescale", f"New size: {desired}; reason: {reason}"
        )
        owner["status"]["lastScaleTime"] = format_time(self._clock.now())

    # --- metrics

    async def _desired_replicas(
        self, owner: Object, target: Target, current: int
    ) -> tuple[int, str, list[Object]]:
        """Return the wanted replicas within all bounds, the reason, and the statuses of the
        metrics.

        Follows computeReplicasForMetrics. Raises _NotScaled.
        """
        selector = selectors.LabelConditions(await self._selector(owner, target))
        found = [
            pod
            for pod in self._pods.items(owner["metadata"]["namespace"])
            if selector.match(pod["metadata"].get("labels") or {})
        ]
        proposals: list[Proposal] = []
        failures: list[_NoMetric] = []
        metrics = owner["spec"].get("metrics") or ()
        for metric in metrics:
            try:
                proposals.append(self._propose(metric, found, current))
            except _NoMetric as error:
                failures.append(error)
        if failures and (not proposals or max(each.replicas for each in proposals) < current):
            first = failures[0]
            text = f"the HPA was unable to compute the replica count: {first.text}"
            self._set_condition(owner, "ScalingActive", "False", first.reason, text)
            for each in failures:
                await self._events.warning(owner, each.reason, each.text)
            count = f"{len(failures)} invalid out of {len(metrics)}"
            raise _NotScaled(f"invalid metrics ({count}), first error is: {first.first}")
        best = max(proposals, key=lambda each: each.replicas)
        text = "the HPA was able to successfully calculate a replica count from "
        self._set_condition(owner, "ScalingActive", "True", "ValidMetricFound", text + best.metric)
        desired = self._normalize(owner, current, best.replicas)
        word = f"{best.metric} above target" if desired > current else "All metrics below target"
        return desired, word, [each.status for each in proposals]

    async def _selector(self, owner: Object, target: Target) -> tuple[selectors.Requirement, ...]:
        """Return the parsed selector of the target, or raise _NotScaled if it is missing or invalid
        (validateAndParseSelector)."""
        if not target.selector:
            text = "the HPA target's scale is missing a selector"
            self._set_condition(owner, "ScalingActive", "False", "InvalidSelector", text)
            await self._events.warning(owner, "SelectorRequired", "selector is required")
            raise _NotScaled("selector is required")
        try:
            return selectors.parse_labels(target.selector)
        except StatusError as error:
            text = (
                "couldn't convert selector into a corresponding internal selector object: "
                + error.message
            )
            self._set_condition(owner, "ScalingActive", "False", "InvalidSelector", text)
            await self._events.warning(owner, "InvalidSelector", text)
            raise _NotScaled(text) from error

    def _propose(self, metric: Object, target_pods: list[Object], current: int) -> Proposal:
        kind = metric["type"]
        if kind not in ("Resource", "ContainerResource"):
            reason = f"FailedGet{kind}Metric"
            name = "custom" if kind != "External" else "external"
            text = (
                f"unable to fetch metrics from {name} metrics API: no {name} metrics API registered"
            )
            raise _NoMetric(reason, text, f"failed to get {kind.lower()} metric value: {text}")
        source = metric["resource" if kind == "Resource" else "containerResource"]
        name, only = source["name"], source.get("container")
        utilization = source["target"].get("averageUtilization")
        what = f"{name} {'utilization' if utilization is not None else 'usage'}"
        usage = self._usage(target_pods, name, only)
        if not usage:
            detail = f"unable to get metrics for resource {name}: "
            if self._cluster.usage is None:
                detail += _NO_METRICS
            else:
                detail += "no metrics returned from resource metrics API"
            text = f"failed to get {what}: {detail}"
            first = f"failed to get {name} resource metric value: {text}"
            raise _NoMetric(f"FailedGet{kind}Metric", text, first)
        return self._of_resource(metric, source, target_pods, usage, current)

    def _usage(self, target_pods: list[Object], name: str, only: str | None) -> dict[str, float]:
        """Return uid → usage of a pod, in thousandths of cores or bytes. Pods without a measurement
        are omitted."""
        measure = self._cluster.usage
        if measure is None:
            return {}
        used = {}
        for pod in target_pods:
            containers = measure.of(pod) if pods.phase(pod) == "Running" else None
            if containers is None:
                continue
            amounts = [
                own[name]
                for container, own in containers.items()
                if name in own and only in (None, container)
            ]
            if amounts:
                used[pod["metadata"]["uid"]] = sum(amounts) * (1000 if name == "cpu" else 1)
        return used

    def _of_resource(
        self, metric: Object, source: Object, target_pods: list[Object], usage: dict[str, float],
        current: int,
    ) -> Proposal:  # fmt: skip
        """Propose replicas for a metric of resources. Pods that are not ready or not measured
        reduce the change (GetResourceReplicas)."""
        name, only = source["name"], source.get("container")
        target = source["target"]
        living = [pod for pod in target_pods if pods.is_active(pod)]
        ready = [
            pod for pod in living if pod["metadata"]["uid"] in usage and self._counts(pod, name)
        ]
        unready = [pod for pod in living if pod["metadata"]["uid"] in usage and pod not in ready]
        missing = [pod for pod in living if pod["metadata"]["uid"] not in usage]
        percent = target.get("averageUtilization")
        total = sum(usage[pod["metadata"]["uid"]] for pod in ready)
        if percent is not None:
            asked = {pod["metadata"]["uid"]: _request(pod, name, only) for pod in living}
            wanted = {uid: value * percent / 100 for uid, value in asked.items()}
        else:
            text = target.get("averageValue") or target.get("value") or "0"
            value = amount(name, str(text))
            asked = {}
            wanted = {pod["metadata"]["uid"]: float(value) for pod in living}
        goal = sum(wanted[pod["metadata"]["uid"]] for pod in ready)
        ratio = total / goal if goal else 1.0
        if missing or (unready and ratio > 1):
            goal += sum(wanted[pod["metadata"]["uid"]] for pod in missing)
            if ratio < 1:
                total += sum(wanted[pod["metadata"]["uid"]] for pod in missing)
            elif unready:
                goal += sum(wanted[pod["metadata"]["uid"]] for pod in unready)
            damped = total / goal if goal else 1.0
            same_way = (damped - 1) * (ratio - 1) > 0
            ratio = damped if same_way else 1.0
            counted = len(ready) + len(missing) + (len(unready) if ratio > 1 else 0)
        else:
            counted = len(ready)
        replicas = current
        if abs(1 - ratio) > _TOLERANCE:
            replicas = math.ceil(ratio * counted)
            if (ratio > 1) != (replicas > current):
                replicas = current
        average = total / len(ready) if ready else 0.0
        shown: Object = {"averageValue": _amount_text(name, average)}
        if percent is not None:
            requests = sum(asked[pod["metadata"]["uid"]] for pod in ready)
            shown["averageUtilization"] = int(100 * total / requests) if requests else 0
        member = "resource" if metric["type"] == "Resource" else "containerResource"
        own: Object = {"name": name, "current": shown}
        if only:
            own["container"] = only
        words = f"{name} resource utilization (percentage of request)"
        if percent is None:
            words = f"{name} resource"
        return Proposal(replicas, words, {"type": metric["type"], member: own})

    def _counts(self, pod: Object, name: str) -> bool:
        """Return whether a pod's usage counts. The cpu of a pod that starts and is not ready does
        not."""
        if name != "cpu" or pods.is_ready(pod):
            return True
        ready = pods.condition(pod, "Ready")
        started = pods.moment((pod.get("status") or {}).get("startTime"))
        moved = pods.moment((ready or {}).get("lastTransitionTime"))
        return ready is not None and moved - started > timedelta(seconds=_START_DELAY)

    # --- bounds

    def _normalize(self, owner: Object, current: int, proposed: int) -> int:
        """Return the wished replicas within all bounds, after the stabilization
        (normalizeDesiredReplicas)."""
        uid, now = owner["metadata"]["uid"], self._clock.monotonic()
        behavior = owner["spec"].get("behavior") or {}
        windows = {
            "up": (behavior.get("scaleUp") or {}).get("stabilizationWindowSeconds") or 0,
            "down": (behavior.get("scaleDown") or {}).get("stabilizationWindowSeconds", _WINDOW),
        }
        longest = max(windows.values())
        wishes = [each for each in self._wishes.get(uid, ()) if each[0] > now - longest]
        self._wishes[uid] = [*wishes, (now, proposed)][-_WISHES:]
        lowest = min((n for when, n in wishes if when > now - windows["up"]), default=proposed)
        highest = max((n for when, n in wishes if when > now - windows["down"]), default=proposed)
        stable = current
        if proposed > current:
            stable = max(min(proposed, lowest), current)
        elif proposed < current:
            stable = min(max(proposed, highest), current)
        if stable != proposed:
            word = "up" if proposed > current else "down"
            reason = f"Scale{word.capitalize()}Stabilized"
            text = f"recent recommendations were {'lower' if word == 'up' else 'higher'} than "
            text += "current one, applying the "
            text += f"{'lowest' if word == 'up' else 'highest'} recent recommendation"
            self._set_condition(owner, "AbleToScale", "True", reason, text)
        else:
            text = "recommended size matches current size"
            self._set_condition(owner, "AbleToScale", "True", "ReadyForNewScale", text)
        return self._limited(owner, current, stable, behavior)

    def _limited(self, owner: Object, current: int, proposed: int, behavior: Object) -> int:
        least: int = owner["spec"].get("minReplicas", 1)
        most: int = owner["spec"]["maxReplicas"]
        if proposed > current:
            limit = _rate(current, behavior.get("scaleUp") or _UP, up=True)
            reason = "ScaleUpLimit" if limit < most else "TooManyReplicas"
            bound = min(limit, most)
            text = "the desired replica count is increasing faster than the maximum scale rate"
            if limit >= most:
                text = "the desired replica count is more than the maximum replica count"
            if proposed > bound:
                self._set_condition(owner, "ScalingLimited", "True", reason, text)
                return bound
        elif proposed < least:
            text = "the desired replica count is less than the minimum replica count"
            self._set_condition(owner, "ScalingLimited", "True", "TooFewReplicas", text)
            return least
        elif proposed < current:
            limit = _rate(current, behavior.get("scaleDown") or _DOWN, up=False)
            if proposed < limit:
                text = "the desired replica count is decreasing faster than the maximum scale rate"
                self._set_condition(owner, "ScalingLimited", "True", "ScaleDownLimit", text)
                return limit
        text = "the desired count is within the acceptable range"
        self._set_condition(owner, "ScalingLimited", "False", "DesiredWithinRange", text)
        return proposed


_WISHES = 1000
_UP: Object = {
    "policies": [{"type": "Pods", "value": 4}, {"type": "Percent", "value": 100}],
    "selectPolicy": "Max",
}
_DOWN: Object = {"policies": [{"type": "Percent", "value": 100}], "selectPolicy": "Max"}


def _rate(current: int, rules: Object, *, up: bool) -> int:
    """Return the limit of one scaling step, up or down (calculateScaleUpLimitWithScalingRules,
    and its counterpart for scaling down)."""
    if rules.get("selectPolicy") == "Disabled":
        return current
    sign = 1 if up else -1
    steps = []
    for policy in rules.get("policies") or ():
        if policy["type"] == "Pods":
            steps.append(policy["value"])
        else:
            share = current * policy["value"] / 100
            steps.append(math.ceil(share) if up else math.floor(share))
    choose = min if rules.get("selectPolicy") == "Min" else max
    return max(current + sign * choose(steps, default=0), 0)


def _request(pod: Object, name: str, only: str | None) -> float:
    """Return the pod's request of a resource. Raises _NoMetric if a container has no request."""
    total = 0
    for container in pod["spec"].get("containers") or ():
        if only not in (None, container["name"]):
            continue
        requests = (container.get("resources") or {}).get("requests") or {}
        if name not in requests:
            meta = pod["metadata"]
            text = f"failed to get {name} utilization: missing request for {name} in container "
            text += f"{container['name']} of Pod {meta['name']}"
            first = f"failed to get {name} resource metric value: {text}"
            raise _NoMetric("FailedGetResourceMetric", text, first)
        total += amount(name, str(requests[name]))
    return float(total)


def _amount_text(name: str, value: float) -> str:
    return f"{int(value)}m" if name == "cpu" else str(int(value))


def add(cluster: Cluster) -> None:
    """Run the controller of HorizontalPodAutoscalers."""
    autoscaler = Autoscaler(cluster)
    watches = (Watch(AUTOSCALERS), Watch(PODS, lambda change: ()))
    cluster.manager.add(Controller(NAME, autoscaler.reconcile, watches))
