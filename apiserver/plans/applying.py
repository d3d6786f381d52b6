"""Applies a saved plan to a cluster, if nothing that the plan has read has changed.

First, everything is compared, and nothing is written. Then the requests of the plan are sent in
their order. Each contains the resource version that the plan has read, so that the server refuses a
write if the object changes at the last moment. The first result that differs from the plan ends it.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import aiohttp

from inkube.apiserver.plans import fields, outcomes
from inkube.apiserver.plans.outcomes import FAILURES, Action, Outcome, Write
from inkube.apiserver.plans.planning import Plan
from inkube.apiserver.plans.readings import IDENTITY, Reading
from inkube.apiserver.plans.requests import Answer, PlanError, Requests
from inkube.schemas.objects import Object

_CRD = "CustomResourceDefinition"
_SERVED_SECONDS = 60.0
_INTERVAL = 0.1
"""The time between two questions for a new kind, in seconds."""
_OK = frozenset({200, 201, 202})


class MovedError(PlanError):
    """The cluster has changed since the plan was made. Nothing was written."""


class Applied(NamedTuple):
    """The outcomes that were applied, and why the others were not: "" if all were."""

    done: list[Outcome]
    left: list[Outcome]
    problem: str = ""


async def apply(
    plan: Plan,
    session: aiohttp.ClientSession,
    report: Callable[[Outcome], object] = lambda outcome: None,
) -> Applied:
    """Apply a plan with an HTTP client of a cluster. `report` is called after each object. Raises
    MovedError, PlanError."""
    _check(plan)
    states = await _states(plan, Requests(session))
    writer = Requests(session, user=plan.user, groups=plan.groups)
    done: list[Outcome] = []
    for number, outcome in enumerate(plan.outcomes):
        problem = await _write(outcome, writer, states)
        if problem:
            return Applied(done, plan.outcomes[number:], problem)
        done.append(outcome)
        report(outcome)
    return Applied(done, [])


def _check(plan: Plan) -> None:
    failed = [each for each in plan.outcomes if each.action in FAILURES or each.write is None]
    if failed:
        raise PlanError(
            f"{len(failed)} objects of this plan cannot be applied, for example {failed[0].title}: "
            "correct them, and plan again"
        )
    if plan.readings is None:
        raise PlanError(
            "this plan cannot be applied: it was made with a capture that was changed later, or "
            "whose --follow was not ended with Ctrl+C, so the resource versions of the cluster are "
            "not known. Capture again, or plan with --from-cluster"
        )


async def _states(plan: Plan, cluster: Requests) -> dict[str, Object | None]:
    """Return the states of the objects by path. Raises MovedError if they are not those that the
    plan has read."""
    await _check_identity(plan, cluster)
    moved = []
    for reading in plan.readings or ():
        moved += _differences(reading, await cluster.send("GET", reading.path))
    states: dict[str, Object | None] = {}
    for outcome in plan.outcomes:
        if outcome.path not in states:
            answer = await cluster.send("GET", outcome.path)
            states[outcome.path] = _object_in(answer, outcome.path)
            moved += _moved(outcome, states[outcome.path])
    if moved:
        lines = "\n".join(f"    {each}" for each in moved)
        raise MovedError(f"the cluster has changed since the plan was made; plan again:\n{lines}")
    return states


async def _check_identity(plan: Plan, cluster: Requests) -> None:
    if not plan.identity:
        return
    answer = await cluster.send("GET", f"/api/v1/namespaces/{IDENTITY}")
    own = (_object_in(answer, IDENTITY) or {}).get("metadata", {}).get("uid", "")
    if own != plan.identity:
        raise MovedError(
            "this is another cluster than that of the plan: the namespace kube-system has the "
            f"uid {own or 'of no object'}, not {plan.identity}"
        )


def _object_in(answer: Answer, path: str) -> Object | None:
    """Return the object of a response, None for one that does not exist. Raises PlanError."""
    if answer.code == 404:
        return None
    if answer.code not in _OK:
        raise PlanError(f"cannot read {path}: {answer.code} {answer.body.get('message', '')}")
    return answer.body


def _differences(reading: Reading, answer: Answer) -> list[str]:
    body = _object_in(answer, reading.path)
    items = [] if body is None else body.get("items") if "items" in body else [body]
    then = reading.versions
    now = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in items or ()}
    return [
        f"{_title(reading.path, name)}: {_change(then.get(name, ''), now.get(name, ''))}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]


def _title(path: str, name: str) -> str:
    return path if path.endswith(f"/{name}") else f"{path}/{name}"


def _moved(outcome: Outcome, state: Object | None) -> list[str]:
    metadata = {} if state is None else state["metadata"]
    version = metadata.get("resourceVersion", "")
    if outcome.uid and state is not None and metadata["uid"] != outcome.uid:
        return [f"{outcome.title}: was deleted and created again"]
    if outcome.resource_version != version:
        return [f"{outcome.title}: {_change(outcome.resource_version, version)}"]
    return []


def _change(then: str, now: str) -> str:
    if not then:
        return "was created"
    return f"resource version {then} then, {now} now" if now else "was deleted"


async def _write(outcome: Outcome, cluster: Requests, states: dict[str, Object | None]) -> str:
    """Send the request of an outcome. Returns why the result is not that of the plan, or ""."""
    write, before = outcome.write, states[outcome.path]
    assert write is not None, "checked before"
    path = outcome.resource.path(outcome.namespace) if write.method == "POST" else outcome.path
    if write.is_empty:
        return ""
    body = _with_precondition(write, before)
    answer = await cluster.send(write.method, path, body, write.query, write.media)
    if answer.code not in _OK:
        return f"{outcome.title}: {answer.body.get('message') or answer.code}"
    if write.method == "DELETE":
        states[outcome.path] = None
        return ""
    states[outcome.path] = answer.body
    if outcome.kind == _CRD and not await _is_served(answer.body, cluster):
        return f"{outcome.title}: the cluster does not serve the new kind"
    return _deviation(outcome, write, before, answer)


def _with_precondition(write: Write, before: Object | None) -> Object:
    if before is None:
        return write.body
    own = before["metadata"]
    if write.method == "DELETE":
        kept = {"uid": own["uid"], "resourceVersion": own["resourceVersion"]}
        return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": kept}
    metadata = {**(write.body.get("metadata") or {}), "resourceVersion": own["resourceVersion"]}
    return {**write.body, "metadata": metadata}


def _deviation(outcome: Outcome, write: Write, before: Object | None, answer: Answer) -> str:
    action = outcomes.action_of(answer.code, answer.body, before)
    if before is None and answer.code != 201:
        return f"{outcome.title}: it was created at the same time, and has been changed"
    if action is not outcome.action:
        return f"{outcome.title}: the result is `{action.value}`, not `{outcome.action.value}`"
    if action is Action.UNCHANGED:
        return ""
    differing = {each.path for each in fields.changes(before, answer.body, write.manifest)} ^ {
        each.path for each in outcome.changes
    }
    if not differing:
        return ""
    return f"{outcome.title}: these fields are not as planned: {', '.join(sorted(differing)[:20])}"


async def _is_served(crd: Object, cluster: Requests) -> bool:
    """Wait until a server serves the kind of a definition."""
    spec, path = (
        crd["spec"],
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{_name(crd)}",
    )
    served = [each["name"] for each in spec["versions"] if each.get("served")]
    plural = spec["names"]["plural"]
    try:
        async with asyncio.timeout(_SERVED_SECONDS):
            while True:
                state = await cluster.send("GET", path)
                if _condition(state.body, "NamesAccepted") == "False":
                    return False
                if _condition(state.body, "Established") == "True" and all(
                    [
                        await _lists(cluster, f"/apis/{spec['group']}/{version}", plural)
                        for version in served
                    ]
                ):
                    return True
                await asyncio.sleep(_INTERVAL)
    except TimeoutError:
        return False


async def _lists(cluster: Requests, path: str, plural: str) -> bool:
    answer = await cluster.send("GET", path)
    return any(each.get("name") == plural for each in answer.body.get("resources") or ())


def _condition(obj: Object, name: str) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((str(each["status"]) for each in conditions if each.get("type") == name), "")


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
