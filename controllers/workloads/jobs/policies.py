"""The effect of a pod's end on its Job: podFailurePolicy and successPolicy. Pure functions.

Follows pkg/controller/job/pod_failure_policy.go and success_policy.go.
"""

from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.jobs import indexes


class Verdict(NamedTuple):
    """The effect of a failed pod: an action, and a message if the Job fails."""

    action: str = "Count"
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts toward backoffLimit."""
        return self.action != "Ignore"


def verdict_of(job: Object, pod: Object) -> Verdict:
    """Return the verdict of the first rule of podFailurePolicy that matches a failed pod; `Count`
    if no rule matches."""
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


def success_message(job: Object, succeeded: set[int]) -> str:
    """Return a message about the first rule of successPolicy that the succeeded indexes meet, or ""
    if they meet no rule."""
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
