"""What the end of a pod means for its Job: podFailurePolicy and successPolicy; pure.

Follows pkg/controller/job/pod_failure_policy.go and success_policy.go.
"""

from typing import NamedTuple

from inkube.controllers.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.jobs import indexes


class Verdict(NamedTuple):
    """What a failed pod leads to: `message` when the Job fails, whether the failure counts."""

    action: str = "Count"
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is one of the failures that backoffLimit bounds."""
        return self.action != "Ignore"


def judge(job: Object, pod: Object) -> Verdict:
    """The first rule of podFailurePolicy that matches a failed pod."""
    policy = job["spec"].get("podFailurePolicy") or {}
    for number, rule in enumerate(policy.get("rules") or ()):
        action = rule["action"]
        found = _by_exit_code(rule, pod) or _by_condition(rule, pod)
        if found:
            message = f"{found} matching {action} rule at index {number}"
            return Verdict(action, message if action == "FailJob" else "")
    return Verdict()


def _name(pod: Object) -> str:
    meta = pod["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def _by_exit_code(rule: Object, pod: Object) -> str:
    wanted = rule.get("onExitCodes")
    if not wanted:
        return ""
    status = pod.get("status") or {}
    for member in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(member) or ():
            ended = (each.get("state") or {}).get("terminated")
            only = wanted.get("containerName")
            if not ended or not ended["exitCode"] or (only and only != each["name"]):
                continue
            is_listed = ended["exitCode"] in wanted["values"]
            if is_listed == (wanted["operator"] == "In"):
                code = ended["exitCode"]
                return f"Container {each['name']} for pod {_name(pod)} failed with exit code {code}"
    return ""


def _by_condition(rule: Object, pod: Object) -> str:
    for pattern in rule.get("onPodConditions") or ():
        found = pods.condition(pod, pattern["type"])
        if found is not None and found["status"] == pattern.get("status", "True"):
            return f"Pod {_name(pod)} has condition {pattern['type']}"
    return ""


def is_met(job: Object, succeeded: set[int]) -> str:
    """Which rule of successPolicy the succeeded indexes fulfil, in words; "" when none."""
    rules = (job["spec"].get("successPolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        chosen = succeeded
        if rule.get("succeededIndexes") is not None:
            named = indexes.parse(rule["succeededIndexes"], job["spec"]["completions"])
            chosen = succeeded & named
            if rule.get("succeededCount") is None and chosen == named:
                return f"Matched rules at index {number}"
        count = rule.get("succeededCount")
        if count is not None and len(chosen) >= count:
            return f"Matched rules at index {number}"
    return ""
