"""Updates without a resourceVersion, which kinds allow or refuse (AllowUnconditionalUpdate)."""

from inkube.schemas.builtin.kinddefinitions import by_name

CONDITIONAL = {
    "admissionregistration.k8s.io": {
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations", "validatingadmissionpolicies",
        "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
    },
    "apiextensions.k8s.io": {"customresourcedefinitions"},
    "apiregistration.k8s.io": {"apiservices"},
    "coordination.k8s.io": {"leases"},
    "node.k8s.io": {"runtimeclasses"},
    "policy": {"poddisruptionbudgets"},
    "storage.k8s.io": {"csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"},
}  # fmt: skip
"""The kinds of 1.36.2 whose updates need a version."""


def test_these_kinds_need_a_version_and_no_others():
    writable = [each for each in by_name().values() if "update" in each.verbs]
    found: dict[str, set[str]] = {}
    for each in writable:
        if not each.unconditional_update:
            found.setdefault(each.group, set()).add(each.names.plural)
    assert found == CONDITIONAL
