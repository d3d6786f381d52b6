"""A write to the status owns labels exactly if it changes them, for every kind with a status.

The law that TestFieldsWipingConsistency of Kubernetes 1.36 checks: a strategy's PrepareForUpdate
and GetResetFields agree.
"""

import copy

import pytest

from inkube.schemas import builtin
from inkube.schemas.builtin import lookup, served
from inkube.schemas.ownership import resetfields
from inkube.schemas.strategy import Context

NOW = "2026-01-01T00:00:00Z"
KINDS = [place for place, kind in builtin.by_name().items() if kind.storage_version.status]


@pytest.mark.parametrize(("group", "plural"), KINDS)
def test_a_status_write_owns_what_it_changes(group, plural):
    strategy = lookup.strategy_of(group, plural)
    kind = served.of(strategy.definition, strategy.definition.storage_version)
    resets = strategy.reset_fields(kind, "status")
    old = {"metadata": {"name": "n", "generation": 1}, "spec": {}, "status": {}}
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    strategy.prepare_for_update(Context(kind, NOW, "status"), new, old)
    owns = "f:metadata" not in resets
    if not owns and resets["f:metadata"]:
        owns = "f:labels" not in resets["f:metadata"]
    assert ("labels" in new["metadata"]) is owns
    assert new["spec"] == old["spec"]
    assert "f:spec" in resets


@pytest.mark.parametrize(
    ("kind", "subresource", "minor", "resets"),
    [
        (("networking.k8s.io", "ServiceCIDR"), "", 35, set()),
        (("networking.k8s.io", "ServiceCIDR"), "", 36, {"f:status"}),
        (("networking.k8s.io", "ServiceCIDR"), "status", 35, set()),
        (("networking.k8s.io", "ServiceCIDR"), "status", 36, {"f:metadata", "f:spec"}),
        (
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            "status",
            35,
            {"f:metadata", "f:spec"},
        ),
        (("apiextensions.k8s.io", "CustomResourceDefinition"), "status", 36, {"f:spec"}),
    ],
)
def test_two_kinds_agree_with_their_strategies_since_36(kind, subresource, minor, resets):
    found = resetfields.of_builtin(kind[0], kind[1], subresource, status=True, minor=minor)
    assert set(found) == resets
