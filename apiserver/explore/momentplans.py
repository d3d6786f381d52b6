"""Derives the plans for controllers in the server: restarts at each moment, failures, races."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from inkube.apiserver.explore.moments import Change, changes
from inkube.apiserver.explore.planning import (
    HELD_SECONDS,
    days,
    foreign,
    shown_otherwise,
    unobserved,
)
from inkube.apiserver.explore.plans import Category, Moment, Plan, Then, in_turns
from inkube.apiserver.explore.results import Result
from inkube.apiserver.explore.scenarios import Scenario
from inkube.schemas.objects import Object

_VERBS = {
    "create": ["create"],
    "update": ["update", "patch"],
    "delete": ["delete", "deletecollection"],
}
_SUBRESOURCES = ("", "/status", "/scale", "/finalize")


def plans(scenario: Scenario, reference: Result, others: Sequence[Plan] = ()) -> list[Plan]:
    """Return all plans, `others` among them. Categories take turns, so that a small budget meets
    each of them."""
    assert reference.snapshot is not None
    found = list(changes(reference.snapshot, reference.steps))
    inside = {"controllers": True}
    resources = list(dict.fromkeys(each.resource for each in found))
    by_category: list[Iterable[Plan]] = [
        _crashes(scenario, reference, found),
        _users(scenario, found),
        _errors(found),
        _races(found),
        unobserved(scenario, resources, inside),
        days(scenario),
        others,
        shown_otherwise(scenario, resources, inside),
    ]
    return in_turns(by_category)


def with_moment(plan: Plan, derived: Sequence[Plan]) -> Plan | None:
    """Return a plan with its moment in another undisturbed run, from which plans were derived; None
    if that run has no such moment."""
    if plan.moment is None:
        return plan
    moments = [each.moment for each in derived if each.moment and each.step == plan.step]
    known = next((each for each in moments if each.text == plan.moment.text), None)
    return None if known is None else replace(plan, moment=known)


def _crashes(scenario: Scenario, reference: Result, changes: Sequence[Change]) -> Iterator[Plan]:
    for step in reference.steps:
        action = scenario.steps[step.index].text
        moment = Moment(step.index, step.revisions[0], step.acted, repr(action))
        yield Plan(f"restart right after {action!r}", "crash", step.index, moment=moment)
    for each in changes:
        yield Plan(
            f"restart after {each.moment.text}", "crash", each.moment.step, moment=each.moment
        )


def _users(scenario: Scenario, changes: Sequence[Change]) -> Iterator[Plan]:
    """Yield plans in which the next step begins before the last one has converged, with and
    without a restart in between."""
    for index, (step, following) in enumerate(itertools.pairwise(scenario.steps)):
        yield Plan(f"{following.text} right after {step.text!r}", "user", index, then="next")
    for each in changes:
        if each.moment.step + 1 >= len(scenario.steps):
            continue
        following = scenario.steps[each.moment.step + 1]
        yield _held(f"{following.text} right after {each.moment.text}", "user", each, "next",
                    "AfterWrite")  # fmt: skip
        name = f"restart after {each.moment.text}, then {following.text}"
        yield Plan(name, "user", each.moment.step, then="next", moment=each.moment)


def _errors(changes: Sequence[Change]) -> Iterator[Plan]:
    for each in changes:
        yield _failing(f"response lost of {each.moment.text}", each, {"cut": "AfterWrite"})
    for each in changes:
        yield _failing(f"500 for {each.moment.text}", each, {"answer": {"code": 500}})


def _races(changes: Sequence[Change]) -> Iterator[Plan]:
    """Yield what another client does while a request of a controller waits."""
    for each in changes:
        if each.verb != "create":
            yield _held(f"another client labels before {each.moment.text}", "race", each, "label",
                        "BeforeWrite")  # fmt: skip
        elif not each.object["metadata"].get("generateName"):
            yield _held(f"another client deletes after {each.moment.text}", "race", each, "delete",
                        "AfterWrite")  # fmt: skip
            name = f"another client's object before {each.moment.text}"
            plan = _held(name, "race", each, "create", "BeforeWrite")
            namespace = each.object["metadata"].get("namespace", "")
            yield replace(plan, foreign=foreign(each.object, namespace))


def _held(name: str, category: Category, each: Change, then: Then, moment: str) -> Plan:
    fault = {**_fault(each), "hold": {"moment": moment, "seconds": HELD_SECONDS}}
    meta = each.object["metadata"]
    resource = f"{each.object['apiVersion']}/{each.plural}"
    target = resource, meta.get("namespace", ""), meta["name"]
    return Plan(name, category, each.moment.step, (fault,), then, target)


def _failing(name: str, each: Change, effect: Object) -> Plan:
    return Plan(name, "error", each.moment.step, ({**_fault(each), **effect},))


def _fault(each: Change) -> Object:
    """Return the spec of a Fault that meets one change by a controller of the server."""
    meta = each.object["metadata"]
    match: Object = {
        "verbs": _VERBS[each.verb],
        "resources": [f"{each.resource}{end}" for end in _SUBRESOURCES],
    }
    if meta.get("namespace"):
        match["namespaces"] = [meta["namespace"]]
    if not meta.get("generateName"):
        match["names"] = [meta["name"]]
    return {"match": match, "when": {"skip": each.number - 1, "times": 1}, "controllers": True}
