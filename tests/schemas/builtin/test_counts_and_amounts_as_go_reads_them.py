"""Counts, percentages and amounts that Go reads as integers of limited size."""

import pytest

TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
BOTH = "may not be set when maxUnavailable is non-zero"
NEITHER = "cannot be 0 when maxSurge is 0"


@pytest.mark.parametrize(
    ("gone", "more", "problem"),
    [
        (1, "a-b", None), (1, "1e1%", None), (1, "00%", None), (1, "1%", BOTH), (1, "+1", BOTH),
        (0, "x", NEITHER), ("-1%", 0, NEITHER), ("-1", 0, None), ("9" * 5000 + "%", 0, None),
    ],
)  # fmt: skip
def test_a_rolling_update_has_either_surge_or_unavailable_pods(kinds, gone, more, problem):
    update = {"rollingUpdate": {"maxUnavailable": gone, "maxSurge": more}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, "updateStrategy": update}
    found = kinds.texts("DaemonSet", {"spec": spec})
    assert [why for why in (BOTH, NEITHER) if any(text.endswith(why) for text in found)] == (
        [problem] if problem else []
    )


@pytest.mark.parametrize(
    ("least", "most", "ratio", "bound"),
    [
        ("100m", "2", "20", None), ("100m", "2", "20500m", "20.000000"),
        ("100m", "2", "9223372036854775807", "2.000000"),
        ("100m", "2", "9223372036854775808", None),
    ],
)  # fmt: skip
def test_a_ratio_is_compared_in_thousandths_if_they_fit(kinds, least, most, ratio, bound):
    limit = {"type": "Container", "min": {"cpu": least}, "max": {"cpu": most}}
    limit["maxLimitRequestRatio"] = {"cpu": ratio}
    found = kinds.texts("LimitRange", {"spec": {"limits": [limit]}})
    assert [text.rpartition(" = ")[2] for text in found if "greater" in text] == (
        [bound] if bound else []
    )


@pytest.mark.parametrize(
    ("amount", "problems"),
    [("1", []), ("0", ["0"]), ("9223372036854775808", ["-9223372036854775808"])],
)
def test_a_capacity_is_a_positive_int64(kinds, amount, problems):
    spec = {"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    found = kinds.texts("PersistentVolume", {"spec": {**spec, "capacity": {"storage": amount}}})
    assert [text.split(": ")[2].strip('"') for text in found] == problems


def test_only_a_first_source_requires_node_affinity(kinds):
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}, "local": {"path": "/x"}}
    needs = "spec.nodeAffinity: Required value: Local volume requires node affinity"
    assert kinds.texts("PersistentVolume", {"spec": spec}) == [needs]
    assert needs not in kinds.texts("PersistentVolume", {"spec": {**spec, "nfs": {}}})
    assert needs in kinds.texts("PersistentVolume", {"spec": {**spec, "csi": {}}})


def test_only_volumes_get_the_defaults_of_volumes(kinds):
    inline = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}
    spec = {"attacher": "d", "nodeName": "n", "source": {"inlineVolumeSpec": inline}}
    made = kinds.created("VolumeAttachment", {"spec": spec})
    assert made["spec"]["source"]["inlineVolumeSpec"] == inline
    assert kinds.created("PersistentVolume", {"spec": inline})["spec"]["volumeMode"] == "Filesystem"


@pytest.mark.parametrize("data", [None, "x", [1]])
def test_data_of_a_revision_is_checked_when_it_is_created(kinds, data):
    obj = {"revision": 1, "data": data}
    (problem,) = kinds.texts("ControllerRevision", obj)
    assert problem.startswith("data: Required value")
    found = kinds.update_texts("ControllerRevision", {"revision": 1, "data": {}}, obj)
    assert [text for text in found if "Required" in text] == []
