"""The fields that writes to built-in kinds reset, and that their managers therefore never own."""

import pytest

from inkube.schemas.ownership import fieldsets, resetfields

REQUEST = ("certificates.k8s.io", "CertificateSigningRequest")


@pytest.mark.parametrize(
    ("group", "kind", "subresource", "names"),
    [
        ("apps", "Deployment", "", ("status",)),
        ("apps", "Deployment", "status", ("spec", "metadata.labels")),
        ("apps", "Deployment", "scale", ()),
        ("", "Namespace", "finalize", ("status",)),
        (*REQUEST, "", ("spec", "status")),
        (*REQUEST, "approval", ("spec", "status.certificate")),
        (*REQUEST, "status", ("spec", "status.conditions")),
        ("networking.k8s.io", "ServiceCIDR", "", ("status",)),
        ("networking.k8s.io", "ServiceCIDR", "status", ("metadata", "spec")),
    ],
)
def test_each_address_resets_what_its_strategy_names(group, kind, subresource, names):
    found = resetfields.of_builtin(group, kind, subresource, status=True)
    assert found == (fieldsets.named(*names) if names else fieldsets.EMPTY)


def test_a_kind_without_a_status_resets_nothing():
    found = resetfields.of_builtin("", "ConfigMap", "", status=False)
    assert found == fieldsets.EMPTY
