"""Room on a node: requests of every resource, and the room kept for nominated pods, after a model.

Follows fitsRequest and RunFilterPluginsWithNominatedPods of kube-scheduler.
"""

import workloads as w
from hypothesis import given
from hypothesis import strategies as st

from inkube.controllers.workloads.capacity import PodOnNode
from inkube.controllers.workloads.scheduling.filters import PendingPod
from inkube.controllers.workloads.scheduling.nodes import Nodes

RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/device")
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 4))
PODS = st.lists(st.tuples(AMOUNTS, st.integers(0, 3), st.sampled_from("ab")), max_size=3)
"""What each asks for, its priority, and its node."""


def texts(amounts):
    return {name: str(amount) for name, amount in amounts.items()}


def pod(name, asked, priority):
    containers = [{"name": "c", "image": "i", "resources": {"requests": texts(asked)}}]
    made = w.pod(name, containers=containers, priority=priority)
    made["metadata"]["uid"] = name
    return made


def is_room(size, pods, asked):
    """Whether a pod fits beside others; what it does not ask for may be overcommitted."""
    if len(pods) + 1 > size["pods"]:
        return False
    return all(
        not wanted or wanted + sum(each.get(name, 0) for each in pods) <= size.get(name, 0)
        for name, wanted in asked.items()
    )


@given(size=AMOUNTS, most=st.integers(1, 5), placed=PODS, nominated=PODS, wish=AMOUNTS,
       priority=st.integers(0, 3))  # fmt: skip
def test_a_pod_fits_beside_the_pods_of_its_node_and_those_it_does_not_outrank(
    size, most, placed, nominated, wish, priority
):
    size = {**size, "pods": most}
    nodes = Nodes()
    for name in "ab":
        nodes.update(w.node(name, status={"allocatable": texts(size)}))
    for number, (asked, rank, node) in enumerate(placed):
        nodes.add_pod(PodOnNode(pod(f"placed{number}", asked, rank)), node)
    for number, (asked, rank, node) in enumerate(nominated):
        nodes.nominate(PodOnNode(pod(f"nominated{number}", asked, rank)), node)
    waiting = PendingPod(pod("p", wish, priority), nodes)
    nodes.nominate(waiting.as_placed, "a")  # a pod leaves no room for itself
    for node in nodes:
        there = [asked for asked, _, name in placed if name == node.name]
        kept = [a for a, rank, name in nominated if name == node.name and rank >= priority]
        assert (waiting.refusal(node) is None) is is_room(size, [*there, *kept], wish)
    nodes.withdraw("p")
    for number in range(len(nominated)):
        nodes.withdraw(f"nominated{number}")
    for node in nodes:
        there = [asked for asked, _, name in placed if name == node.name]
        assert (waiting.refusal(node) is None) is is_room(size, there, wish)
