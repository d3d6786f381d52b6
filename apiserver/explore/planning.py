"""Derives plans from an undisturbed run. Those that find most come first, mixed over categories."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from inkube.apiserver.explore import moments
from inkube.apiserver.explore.observations import Lease, Occurrence, Read, Write, created
from inkube.apiserver.explore.plans import Category, Plan, Then, in_turns
from inkube.apiserver.explore.results import Result
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.explore.states import LABEL
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
DAY, HOUR = 86_400.0, 3600.0
SHOWN_OTHERWISE = {
    "silent": {"events": 0, "end": "Silent", "withoutBookmarks": True},
    "merged": {"mergeSeconds": 0.5},
    "repeated": {"repeat": 3},
}
"""What a watch does with events, as a member of a Fault."""
_ON_EXISTING = frozenset({"update", "patch", "delete"})


def plans(
    scenario: Scenario, writes: Sequence[Occurrence], reference: Result, others: Sequence[Plan] = ()
) -> list[Plan]:
    """Return all plans, `others` among them. Within each category, they are in the order of the
    run; categories take turns, so that a small budget meets each of them."""
    users, reads = _names(scenario), reference.reads
    watched = [each.plural for each in reference.watched]
    by_category: list[Iterable[Plan]] = [
        _crashes(writes),
        _aways(scenario),
        lost_answers(writes),
        _races(writes, users),
        _users(scenario, writes),
        _stales(scenario, reads, _changed(reference)),
        unobserved(scenario, watched),
        _foreign(writes),
        _errors(writes),
        _times(scenario),
        others,
        shown_otherwise(scenario, watched),
        _taken(writes, created([step.requests for step in reference.steps])),
        _leases(scenario, reference.leases),
        _refused(scenario),
    ]
    return in_turns(by_category)


def _crashes(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    for each in writes:
        yield _held(f"crash after {each}", "crash", each, "crash", "AfterWrite")
        fault = {**_fault(each), "hold": _hold("BeforeWrite"), "cut": "BeforeWrite"}
        yield Plan(f"crash before {each}", "crash", each.step, (fault,), "crash")


def lost_answers(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    """Return the plans in which a write takes effect, and its client does not hear of it."""
    for each in writes:
        yield _failing(f"response lost of {each}", each, {"cut": "AfterWrite"})


def failures(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    """Return the plans in which one write fails."""
    for title, answer in ERRORS:
        for each in writes:
            yield _failing(f"{title} for {each}", each, {"answer": answer})
    for each in writes:
        yield _failing(f"connection cut before {each}", each, {"cut": "BeforeWrite"})


def _errors(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    yield from failures(writes)
    for each in writes:
        if each.number == 1:
            fault = {**_fault(each), "when": {}, "answer": {"code": 500}}
            yield Plan(
                f"500 for each {each.write} for a while", "error", each.step, (fault,), "wait"
            )


def _races(writes: Sequence[Occurrence], users: frozenset[tuple[str, str]]) -> Iterator[Plan]:
    """Yield changes of an object between the controller's read of it and its write."""
    for each in writes:
        if each.write.verb not in _ON_EXISTING or not each.write.name:
            continue
        yield _held(f"another client labels before {each}", "race", each, "label", "BeforeWrite")
        if (each.write.namespace, each.write.name) not in users and not each.write.subresource:
            yield _held(
                f"another client deletes before {each}", "race", each, "delete", "BeforeWrite"
            )


def _foreign(writes: Sequence[Occurrence]) -> Iterator[Plan]:
    """Yield plans in which a created object disappears right after its creation."""
    for each in writes:
        if each.write.verb == "create" and each.write.name and not each.write.subresource:
            yield _held(
                f"another client deletes after {each}", "race", each, "delete", "AfterWrite"
            )


def _users(scenario: Scenario, writes: Sequence[Occurrence]) -> Iterator[Plan]:
    """Yield plans in which the next step begins before the last one has converged."""
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


def _stales(
    scenario: Scenario, reads: Sequence[Read], changed: Mapping[tuple[int, str], int]
) -> Iterator[Plan]:
    """Yield plans in which one collection shows an older moment for a while after a start, as a
    lagging cache does."""
    for index, step in enumerate(scenario.steps):
        for read in reads:
            text = f"stale {read.plural} after {step.text!r}"
            yield Plan(text, "stale", index, _stale(read.plural, 1), is_away=True)
            if changes := changed.get((index, read.plural)):
                text = f"{read.plural} of before {step.text!r} after a restart"
                yield Plan(text, "stale", index, _stale(read.plural, changes), "restart")


def _stale(resource: str, changes: int) -> tuple[Object, ...]:
    """Return the Faults that show a collection as it was, until a watch tells what followed."""
    lists = {"resources": [resource], "verbs": ["list"]}
    return (
        {"match": lists, "when": {"times": 1}, "stale": {"changes": changes}},
        {**of_watch(resource), "when": {"times": 1}, "hold": {"seconds": 1.0}},
    )


def of_watch(resource: str) -> Object:
    """Return the part of a Fault that says that it meets watches of a resource."""
    return {"match": {"verbs": ["watch"], "resources": [resource]}}


def unobserved(
    scenario: Scenario, resources: Iterable[str], more: Object | None = None
) -> Iterator[Plan]:
    """Yield plans without the events of a resource during one step of the user, or during two: its
    watch is behind, and ends with 410, so that the client sees only what the list shows
    afterwards. `more` are further members of the Faults."""
    for resource in resources:
        hold = _hold("BeforeWrite")
        fault = {**of_watch(resource), "when": {"times": 1}, "hold": hold, "answer": {"code": 410}}
        fault |= more or {}
        for index, (step, following) in enumerate(itertools.zip_longest(
            scenario.steps, scenario.steps[1:]
        )):  # fmt: skip
            name = f"events of {resource} left out during {step.text!r}"
            yield Plan(name, "events", index, (fault,), unobserved=resource)
            if following is not None:
                yield Plan(f"{name} and {following.text!r}", "events", index, (fault,), "next",
                           unobserved=resource)  # fmt: skip


def shown_otherwise(
    scenario: Scenario, resources: Sequence[str], more: Object | None = None
) -> Iterator[Plan]:
    """Yield plans in which a watch is silent, merges changes, or sends old ones again, during one
    step of the user, or during two. `more` are further members of the Faults."""
    for index, (step, following) in enumerate(itertools.zip_longest(
        scenario.steps, scenario.steps[1:]
    )):  # fmt: skip
        for resource, (how, watch) in itertools.product(resources, SHOWN_OTHERWISE.items()):
            if how != "repeated" and more:
                continue  # of controllers in the server, `unobserved` does the same in less time
            fault = {**of_watch(resource), "when": {"times": 1}, "watch": watch, **(more or {})}
            text = f"events of {resource} {how} during {step.text!r}"
            yield Plan(text, "events", index, (fault,), unobserved=resource)
            if following is not None and how != "repeated":
                yield Plan(f"{text} and {following.text!r}", "events", index, (fault,), "next",
                           unobserved=resource)  # fmt: skip


def _taken(
    writes: Sequence[Occurrence], bodies: Mapping[tuple[int, Write], Object]
) -> Iterator[Plan]:
    """Yield plans in which another client creates an object of that name right before the
    controller, and deletes it a while later, if nobody has changed it."""
    for each in writes:
        body = bodies.get((each.step, each.write))
        if body is not None and each.write.name:
            plan = _held(f"another client's object before {each}", "race", each, "create",
                         "BeforeWrite")  # fmt: skip
            yield replace(plan, foreign=foreign(body, each.write.namespace))


def foreign(body: Object, namespace: str) -> Object:
    """Return an object like this one that belongs to somebody else."""
    meta = {"name": body["metadata"]["name"], "labels": {LABEL: "yes"}}
    meta |= {"namespace": namespace} if namespace else {}
    return {**{name: body[name] for name in body if name != "status"}, "metadata": meta}


def _leases(scenario: Scenario, leases: Sequence[Lease]) -> Iterator[Plan]:
    for lease, (index, step) in itertools.product(leases, enumerate(scenario.steps)):
        target = "coordination.k8s.io/v1/leases", lease.namespace, lease.name
        yield Plan(f"lease {lease.name} lost before {step.text!r}", "time", index, then="lease",
                   target=target)  # fmt: skip


def _refused(scenario: Scenario) -> Iterator[Plan]:
    """Yield plans in which the credentials of the controller are not valid for a while, as an
    expired token."""
    fault = {"answer": {"code": 401}}
    for index, step in enumerate(scenario.steps):
        name = f"token expired during {step.text!r}"
        yield Plan(name, "time", index, (fault,), "refuse")


def days(scenario: Scenario) -> Iterator[Plan]:
    """Yield plans in which a day passes after a step."""
    for index, step in enumerate(scenario.steps):
        yield Plan(f"a day passes after {step.text!r}", "time", index, later_seconds=DAY)


def _times(scenario: Scenario) -> Iterator[Plan]:
    yield from days(scenario)
    for how, seconds in (("slow", HOUR), ("fast", -HOUR)):
        name = f"clock of the controller an hour {how}"
        yield Plan(name, "time", 0, clock_seconds=seconds)


def _held(name: str, category: Category, each: Occurrence, then: Then, moment: str) -> Plan:
    fault = {**_fault(each), "hold": _hold(moment)}
    write = each.write
    target = write.kind, write.namespace, write.name
    return Plan(name, category, each.step, (fault,), then, target)


def _failing(name: str, each: Occurrence, effect: Object) -> Plan:
    return Plan(name, "error", each.step, ({**_fault(each), **effect},))


def _fault(each: Occurrence) -> Object:
    """Return the spec of a Fault that strikes one occurrence of a write."""
    write = each.write
    match: Object = {"verbs": [write.verb], "resources": [write.plural]}
    if write.namespace:
        match["namespaces"] = [write.namespace]
    if write.name:
        match["names"] = [write.name]
    return {"match": match, "when": {"skip": each.number - 1, "times": 1}}


def _hold(moment: str) -> Object:
    return {"moment": moment, "seconds": HELD_SECONDS}


def _changed(reference: Result) -> Mapping[tuple[int, str], int]:
    """Return how often a collection changes in each step."""
    assert reference.snapshot is not None
    found = moments.changes(reference.snapshot, reference.steps)
    return Counter((each.moment.step, each.resource) for each in found)


def _names(scenario: Scenario) -> frozenset[tuple[str, str]]:
    """Return namespace and name of the objects of users."""
    found = set()
    for step in scenario.steps:
        for obj in step.applied():
            meta = obj["metadata"]
            found.add((meta.get("namespace", "default"), meta["name"]))
    return frozenset(found)
