"""Compiled faults: a request without matching faults costs one look-up."""

from inkube.apiserver.faults import rules


class Counting(rules.Rule):
    """A rule that counts how often it is evaluated."""

    looked_at = 0

    def may_match(self, asked, names=None):
        type(self).looked_at += 1
        return super().may_match(asked, names)


def fault(name, **spec):
    metadata = {"name": name, "uid": name, "generation": 1}
    return {"metadata": metadata, "spec": spec}


def test_the_faults_for_a_sort_of_requests_are_selected_once():
    match = {"resources": ["pods"]}
    found = rules.Rules([Counting(fault(str(i), match=match, cut="AfterWrite")) for i in range(50)])
    for number in range(100):
        asked = rules.RequestFacts("get", "", "configmaps", namespace="n", name=str(number))
        assert found.candidates(asked) == ()
    assert Counting.looked_at == 50


def test_the_number_of_remembered_sorts_of_requests_is_bounded():
    found = rules.Rules([rules.Rule(fault("a", cut="AfterWrite"))])
    for number in range(rules.MAX_CACHED + 10):
        found.candidates(rules.RequestFacts("get", "", f"r{number}"))
    assert len(found._rules_by_facts) <= rules.MAX_CACHED


def test_faults_of_reads_and_watches_do_not_affect_writes():
    stale = rules.Rule(fault("a", stale={"changes": 1}))
    watch = rules.Rule(fault("b", watch={"events": 0}))
    verbs = ("get", "list", "watch", "create", "delete")
    assert [stale.may_match(rules.RequestFacts(verb, "", "pods")) for verb in verbs] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert [watch.may_match(rules.RequestFacts(verb, "", "pods")) for verb in verbs] == [
        False, False, True, False, False,
    ]  # fmt: skip
