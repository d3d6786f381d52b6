"""Rules by which a container restarts after its end (validateContainerRestartPolicy)."""

import itertools
import re

import pytest

from inkube.schemas.builtin import lookup

CODES = {"operator": "In", "values": [1]}
POLICIES = (None, "Always", "Never", "OnFailure", "Odd")


@pytest.fixture(params=["containers", "initContainers"])
def texts(kinds, request):
    """The errors of a pod with a container whose rules have these actions."""

    def errors(policy, *actions):
        rules = [{"action": each, "exitCodes": CODES} for each in actions]
        own = {"restartPolicy": policy} if policy else {}
        tested = {"name": "c", "image": "i", **own, "restartPolicyRules": rules}
        spec = {"containers": [{"name": "p", "image": "i"}]}
        spec.setdefault(request.param, []).append(tested)
        return kinds.texts("Pod", {"spec": spec})

    return errors


@pytest.mark.parametrize("policy", POLICIES)
def test_each_action_that_an_error_lists_is_accepted(texts, policy):
    """In containers of both kinds, with each policy of the container."""
    without = texts(policy, "Restart")
    [refused] = set(texts(policy, "Odd")) - set(without)
    listed = re.findall(r'"(\w+)"', refused.partition("supported values: ")[2])
    assert listed == ["Restart", "RestartAllContainers"]
    for actions in itertools.product([*listed, "Odd", ""], repeat=2):
        wrong = [text for text in texts(policy, *actions) if ".action: " in text]
        assert len(wrong) == sum(each not in listed for each in actions), actions


@pytest.mark.parametrize("policy", POLICIES)
def test_rules_need_a_policy_of_their_container(texts, policy):
    found = texts(policy, "Restart")
    assert bool(found) is (policy in (None, "Odd"))
    assert all(".restartPolicy: " in text for text in found)


def test_a_restart_of_all_containers_came_with_1_36(kinds, monkeypatch):
    spec = {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": CODES}],
            }
        ]
    }
    found = {}
    for minor in (35, 36):
        monkeypatch.setattr(
            kinds, "strategy_of", lambda _, m=minor: lookup.strategy_of("", "pods", m)
        )
        found[minor] = [text for text in kinds.texts("Pod", {"spec": spec}) if ".action: " in text]
    assert (len(found[35]), len(found[36])) == (1, 0)
