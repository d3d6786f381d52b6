"""Where an update of a built-in kind reports the errors of its metadata, and how many times.

The expectations are kube-apiserver 1.36's. BeforeUpdate checks metadata twice, then the kind's
ValidateUpdate compares (`C`), checks all metadata (`M`), and checks its own fields (`F`) in its own
order.
"""

import pytest

from inkube.schemas.builtin import lookup, served
from inkube.schemas.strategy import Context

OLD = {"name": "a", "namespace": "d", "uid": "u", "resourceVersion": "1"}
RBAC = "rbac.authorization.k8s.io"
ROLE = {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "a"}}


def updated(group, plural, meta, fields=None, old=None, subresource=""):
    kind = lookup.strategy_of(group, plural)
    definition = kind.definition
    place = OLD if definition.namespaced else {k: v for k, v in OLD.items() if k != "namespace"}
    api = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}
    version = served.of(definition, definition.storage_version)
    before = api | {"metadata": dict(place)} | (old or {})
    after = api | {"metadata": place | meta} | (fields or {})
    return kind.validate_update(Context(version, subresource=subresource), after, before)


def order(errors):
    """The errors of metadata by their message, others as F, equal neighbors once."""
    letters = [
        "M" if error.field == "metadata.generateName"
        else "C" if error.field == "metadata.uid"
        else "F"
        for error in errors
    ]  # fmt: skip
    return "".join(letters)


@pytest.mark.parametrize(
    ("group", "plural", "fields", "old", "expected"),
    [
        ("", "configmaps", {"data": {"no key": "a"}}, {}, "CMF"),
        ("", "secrets", {"data": {"no key": "YQ=="}, "type": "b"}, {"type": "a"}, "CFMF"),
        ("", "limitranges", {"spec": {"limits": [{"type": "a b"}]}}, {}, "MF"),
        ("discovery.k8s.io", "endpointslices", {"addressType": "IPv6"}, {"addressType": "IPv4"},
         "MF"),
        (RBAC, "rolebindings", {"roleRef": ROLE["roleRef"] | {"kind": "No"}}, ROLE, "MFCF"),
        (RBAC, "roles", {"rules": [{"verbs": []}]}, {}, "MFC"),
        ("storage.k8s.io", "volumeattributesclasses", {"driverName": "a b"}, {"driverName": "a"},
         "CFMF"),
        ("storage.k8s.io", "csistoragecapacities", {"storageClassName": "a b"},
         {"storageClassName": "a"}, "MFCF"),
        ("networking.k8s.io", "ingressclasses", {"spec": {"controller": "b"}},
         {"spec": {"controller": "a"}}, "CFMF"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas", {"spec": {}}, {}, "MF"),
        ("policy", "poddisruptionbudgets", {"spec": {"maxUnavailable": -1}}, {}, "F"),
        ("scheduling.k8s.io", "priorityclasses", {"value": 2}, {"value": 1}, "CF"),
    ],
)  # fmt: skip
def test_errors_of_metadata_come_where_upstream_checks_it(group, plural, fields, old, expected):
    found = order(updated(group, plural, {"uid": "v", "generateName": "a/b"}, fields, old))
    before, own = found[:2], found[2:]
    assert before == "MC"
    squeezed = "".join(
        letter for at, letter in enumerate(own) if letter != "F" or own[at - 1 : at] != "F"
    )
    assert squeezed == expected


@pytest.mark.parametrize(
    ("group", "plural", "times"),
    [
        ("", "configmaps", 4),
        ("", "limitranges", 3),
        ("apps", "deployments", 3),
        ("policy", "poddisruptionbudgets", 2),
        (RBAC, "roles", 4),
        ("", "namespaces", 4),
    ],
)
def test_a_label_is_refused_as_often_as_it_is_looked_at(group, plural, times):
    errors = updated(group, plural, {"labels": {"a": "no space"}})
    assert [error.field for error in errors].count("metadata.labels") == times


def test_a_status_write_looks_three_times():
    spec = {"spec": {"containers": []}}
    errors = updated("", "pods", {"labels": {"a": "no space"}}, spec, spec, subresource="status")
    assert [error.field for error in errors].count("metadata.labels") == 3
