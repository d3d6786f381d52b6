"""Rosters give the same values as a new count, after any changes of pods."""

import random
from collections import Counter

import pytest
import workloads as w

from inkube.controllers.informer import Change, Key
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.claims import controller_of
from inkube.controllers.workloads.rosters import Facts, Rosters

OWNERS = ("", "uid-1", "uid-2")


def random_pod(choice, name):
    pod = w.pod(name, labels={"app": choice.choice("ab"), "x": choice.choice("12")})
    owner = choice.choice(OWNERS)
    if owner:
        pod["metadata"]["ownerReferences"] = [
            {"uid": "other", "kind": "X", "name": "x"},
            {"uid": owner, "kind": "ReplicaSet", "name": owner, "controller": True},
        ]
    if choice.random() < 0.3:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if choice.random() < 0.7:
        pod["spec"]["nodeName"] = choice.choice(("n1", "n2"))
    ready = choice.choice(("True", "False", "Unknown"))
    phase = choice.choice(("Pending", "Running", "Succeeded", "Failed"))
    pod["status"] = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
    return pod


def counted_anew(known, owner):
    """Return facts with their keys, and active pods by node, counted anew."""
    found, nodes = {}, Counter()
    for key, pod in known.items():
        reference = controller_of(pod)
        if (reference["uid"] if reference else "") != owner:
            continue
        found.setdefault(Facts.of(pod), set()).add(key)
        if pods.is_active(pod) and pod["spec"].get("nodeName"):
            nodes[pod["spec"]["nodeName"]] += 1
    return found, nodes


@pytest.mark.parametrize("seed", range(5))
def test_a_roster_is_what_counting_anew_finds(seed):
    choice, rosters, known = random.Random(seed), Rosters(), {}
    for _ in range(300):
        name = f"p{choice.randrange(12)}"
        key = Key("default", name)
        old, new = known.pop(key, None), None
        if old is None or choice.random() < 0.8:
            new = known[key] = random_pod(choice, name)
        rosters.update(Change(old, new))
        for owner in OWNERS:
            roster = rosters.of(owner) if owner else rosters.strays("default")
            found, nodes = counted_anew(known, owner)
            kinds = set(found) | {Facts(frozenset(), False, False, False)}
            for facts in kinds:
                wanted = found.get(facts, set())
                assert roster.keys(facts.__eq__) == sorted(wanted)
                assert roster.count(facts.__eq__) == len(wanted)
            assert roster.count(lambda facts: True) == sum(map(len, found.values()))
            assert roster.nodes == nodes


def test_rosters_keep_nothing_of_deleted_pods():
    rosters = Rosters()
    pod = random_pod(random.Random(1), "p")
    rosters.update(Change(None, pod))
    rosters.update(Change(pod, None))
    assert not rosters._rosters
    assert not rosters._memberships
