"""Derives plans from an undisturbed run. Those that find most come first, mixed over categories."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from inkube.apiserver.explore.observations import Occurrence, Read
from inkube.apiserver.explore.plans import Category, Plan, Then
from inkube.apiserver.explore.scenarios import Scenario
from inkube.schemas.objects import Object

HELD_SECONDS = 60.0
"""The longest time that a request is held. What happens meanwhile takes less."""
ERRORS = (
    ("409 Conflict", {"code": 409, "reason": "Conflict"}),
    ("500", {"code": 500}),
    ("429", {"code": 429, "retryAfterSeconds": 1}),
    ("503", {"code": 503}),
    ("504", {"code": 504}),
)
DAY = 86_400.0
_ON_EXISTING = frozenset({"update", "patch", "delete"})


def plans(
    scenario: Scenario,
    writes: Sequence[Occurrence],
    reads: Sequence[Read],
    others: Sequence[Plan] = (),
) -> list[Plan]:
    """Return all plans, `others` among them. Within each category, they are in the order of the
    run; categories take turns, so that a small budget meets each of them."""
    users = _names(scenario)
    by_category: list[Iterable[Plan]] = [
        _crashes(writes),
        _aways(scenario),
        _lost_answers(writes),
        _races(writes, users),
        _users(scenario, writes),
        _stales(scenario, reads),
        unobserved(scenario, [read.plural for read in reads]),
        _foreign(writes),
        _errors(writes),
        _times(scenario),
        others,
    ]
    mixed = itertools.zip_longest(*by_category)
    return [plan for row in mixed for plan in row if plan is not None]


def _crashes(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    for each in writes:
        yield _held(f"crash after {each}", "crash", each, "crash", "AfterWrite")
        fault = {**_fault(each), "hold": _hold("BeforeWrite"), "cut": "BeforeWrite"}
        yield Plan(f"crash before {each}", "crash", each.step, (fault,), "crash")


def _lost_answers(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    for each in writes:
        yield _failing(f"response lost of {each}", each, {"cut": "AfterWrite"})


def _errors(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    for title, answer in ERRORS:
        for each in writes:
            yield _failing(f"{title} for {each}", each, {"answer": answer})
    for each in writes:
        yield _failing(f"connection cut before {each}", each, {"cut": "BeforeWrite"})
    for each in writes:
        if each.number == 1:
            fault = {**_fault(each), "when": {}, "answer": {"code": 500}}
            yield Plan(
                f"500 for each {each.write} for a while", "error", each.step, (fault,), "wait"
            )


def _races(writes: Sequence[Occurrence], users: frozenset[tuple[str, str]]) -> Iterator[Plan]:
    """Changes of an object between the controller's read of it and its write."""
    for each in writes:
        if each.write.verb not in _ON_EXISTING or not each.write.name:
            continue
        yield _held(f"another client labels before {each}", "race", each, "label", "BeforeWrite")
        if (each.write.namespace, each.write.name) not in users and not each.write.subresource:
            yield _held(
                f"another client deletes before {each}", "race", each, "delete", "BeforeWrite"
            )


def _foreign(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    """An object that the controller created disappears right after its creation."""
    for each in writes:
        if each.write.verb == "create" and each.write.name and not each.write.subresource:
            yield _held(
                f"another client deletes after {each}", "race", each, "delete", "AfterWrite"
            )


def _users(scenario: Scenario, writes: Sequence[Occurrence]) -> Iterator[Plan]:
    """The next step before the last one has converged."""
    for each in writes:
        if each.step + 1 < len(scenario.steps):
            following = scenario.steps[each.step + 1].text
            yield _held(f"{following} right after {each}", "user", each, "next", "AfterWrite")


def _aways(scenario: Scenario) -> Iterator[Plan]:
    for index, step in enumerate(scenario.steps):
        yield Plan(f"controller down during {step.text!r}", "away", index, is_away=True)
    for index, (step, following) in enumerate(itertools.pairwise(scenario.steps)):
        text = f"controller down during {step.text!r} and {following.text!r}"
        yield Plan(text, "away", index, then="next", is_away=True)


def _stales(scenario: Scenario, reads: Sequence[Read]) -> Iterator[Plan]:
    """After a start, one collection shows an older moment for a while, as a lagging cache does."""
    for index, step in enumerate(scenario.steps):
        for read in reads:
            match = {"resources": [read.plural]}
            stale = {
                "match": {**match, "verbs": ["list"]},
                "when": {"times": 1},
                "stale": {"changes": 1},
            }
            late = {
                "match": {**match, "verbs": ["watch"]},
                "when": {"times": 1},
                "hold": {"seconds": 1.0},
            }
            text = f"stale {read.plural} after {step.text!r}"
            yield Plan(text, "stale", index, (stale, late), is_away=True)


def unobserved(
    scenario: Scenario, resources: Iterable[str], more: Object | None = None
) -> Iterator[Plan]:
    """Events of a resource are left out during one step of the user, or during two: its watch is
    behind, and ends with 410, so that the client sees only what the list shows afterwards. `more`
    are further members of the Faults."""
    for resource in resources:
        fault = {
            "match": {"verbs": ["watch"], "resources": [resource]},
            "when": {"times": 1},
            "hold": _hold("BeforeWrite"),
            "answer": {"code": 410},
            **(more or {}),
        }
        for index, (step, following) in enumerate(itertools.zip_longest(
            scenario.steps, scenario.steps[1:]
        )):  # fmt: skip
            name = f"events of {resource} left out during {step.text!r}"
            yield Plan(name, "events", index, (fault,), unobserved=resource)
            if following is not None:
                yield Plan(f"{name} and {following.text!r}", "events", index, (fault,), "next",
                           unobserved=resource)  # fmt: skip


def _times(scenario: Scenario) -> Iterator[Plan]:
    for index, step in enumerate(scenario.steps):
        yield Plan(f"a day passes after {step.text!r}", "time", index, later_seconds=DAY)


def _held(name: str, category: Category, each: Occurrence, then: Then, moment: str) -> Plan:
    fault = {**_fault(each), "hold": _hold(moment)}
    write = each.write
    target = write.kind, write.namespace, write.name
    return Plan(name, category, each.step, (fault,), then, target)


def _failing(name: str, each: Occurrence, effect: Object) -> Plan:
    return Plan(name, "error", each.step, ({**_fault(each), **effect},))


def _fault(each: Occurrence) -> Object:
    """The spec of a Fault that strikes one occurrence of a write."""
    write = each.write
    match: Object = {"verbs": [write.verb], "resources": [write.plural]}
    if write.namespace:
        match["namespaces"] = [write.namespace]
    if write.name:
        match["names"] = [write.name]
    return {"match": match, "when": {"skip": each.number - 1, "times": 1}}


def _hold(moment: str) -> Object:
    return {"moment": moment, "seconds": HELD_SECONDS}


def _names(scenario: Scenario) -> frozenset[tuple[str, str]]:
    """Namespace and name of the objects of users."""
    found = set()
    for step in scenario.steps:
        for obj in step.applied():
            meta = obj["metadata"]
            found.add((meta.get("namespace", "default"), meta["name"]))
    return frozenset(found)
