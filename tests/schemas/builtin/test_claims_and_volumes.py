"""Sources of data of claims, and the time of a volume's phase."""

import copy
import itertools

import pytest

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SOURCES = {
    "claim": {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "x"},
    "snapshot": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "x"},
    "other": {"apiGroup": "example.com", "kind": "Other", "name": "x"},
    "core": {"apiGroup": None, "kind": "Other", "name": "x"},
}
CASES = list(itertools.product([None, *SOURCES], repeat=2))


@pytest.mark.parametrize(("source", "reference"), CASES)
def test_a_new_claim_has_both_members_or_none(kinds, source, reference):
    """A dataSource of another kind counts only next to a dataSourceRef; one of both is copied."""
    given = {"dataSource": SOURCES.get(source), "dataSourceRef": SOURCES.get(reference)}
    spec = {**CLAIM, **{name: value for name, value in given.items() if value}}
    made = kinds.created("PersistentVolumeClaim", {"spec": copy.deepcopy(spec)})["spec"]
    found = made.get("dataSource"), made.get("dataSourceRef")
    if source in ("other", "core") and reference is None:
        assert found == (None, None)
    else:
        one = SOURCES.get(source or reference), SOURCES.get(reference or source)
        assert found == one


def test_a_claim_keeps_the_source_that_it_has(kinds):
    spec = {**CLAIM, "dataSource": SOURCES["other"], "dataSourceRef": SOURCES["other"]}
    old = kinds.created("PersistentVolumeClaim", {"spec": copy.deepcopy(spec)})
    new = copy.deepcopy(old)
    del new["spec"]["dataSourceRef"]
    strategy = kinds.strategy_of("PersistentVolumeClaim")
    strategy.prepare_for_update(kinds.context_of("PersistentVolumeClaim"), new, old)
    assert new["spec"]["dataSource"] == new["spec"]["dataSourceRef"] == SOURCES["other"]


@pytest.mark.parametrize("sent", [None, "same", "2020-01-01T00:00:00Z"])
@pytest.mark.parametrize("phase", ["Pending", "Bound"])
def test_a_volume_has_the_time_of_its_last_phase(kinds, phase, sent):
    """The server sets it at every change of the phase for which the client sends no time, and
    keeps it while the phase does not change."""
    spec = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
    old = kinds.created("PersistentVolume", {"spec": spec})
    context = kinds.context_of("PersistentVolume", "status")
    assert old["status"]["lastPhaseTransitionTime"] == context.now
    old["status"]["lastPhaseTransitionTime"] = "2025-05-05T05:05:05Z"
    new = copy.deepcopy(old)
    new["status"]["phase"] = phase
    if sent is None:
        del new["status"]["lastPhaseTransitionTime"]
    elif sent != "same":
        new["status"]["lastPhaseTransitionTime"] = sent
    kinds.strategy_of("PersistentVolume").prepare_for_update(context, new, old)
    is_set = phase == "Bound" and sent in (None, "same")
    kept = old["status"]["lastPhaseTransitionTime"] if sent in (None, "same") else sent
    assert new["status"]["lastPhaseTransitionTime"] == (context.now if is_set else kept)
