"""Errors of kinds in upstream's order, with the values and texts that it shows."""

from typing import Any

import pytest

HOOK: dict[str, Any] = {
    "name": "a.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"url": "https://example.com"},
}
POLICY: dict[str, Any] = {
    "matchConstraints": {"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]},
    "failurePolicy": "Fail",
    "reinvocationPolicy": "Never",
}  # fmt: skip


def errors(kinds, kind, obj):
    """Return the fields of a new object's errors, and their messages."""
    strategy = kinds.strategy_of(kind)
    found = strategy.validate(kinds.context_of(kind), kinds.created(kind, obj))
    return [(each.field, each.message()) for each in found]


def test_errors_of_a_whole_object_have_empty_brackets_as_their_field(kinds):
    parts = {"data": {"a": "x" * 600_000}, "binaryData": {"b": "eHh4" * 200_000}}
    assert kinds.texts("ConfigMap", parts) == ["[]: Too long: may not be more than 1048576 bytes"]
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "a"}]}}
    claims = [{"name": "a", "resourceClaimName": "b"}]
    pod = {
        "metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}},
        "spec": {"nodeName": "n", "containers": [container], "resourceClaims": claims},
    }
    assert kinds.texts("Pod", pod) == ["[]: Forbidden: static pods do not support resource claims"]


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_a_repeated_webhook_is_an_error_after_its_own(kinds, kind):
    hooks = [HOOK, {**HOOK, "sideEffects": "Some"}]
    fields = [field for field, _ in errors(kinds, kind, {"webhooks": hooks})]
    assert fields == ["webhooks[1].sideEffects", "webhooks[1].name"]


def test_a_repeated_condition_is_an_error_after_its_own(kinds):
    request = {"request": "AA==", "signerName": "example.com/a", "usages": ["any"]}
    conditions = [{"type": "x", "status": "True"}, {"type": "x", "status": "y"}]
    found = kinds.status_texts(
        "CertificateSigningRequest", {"spec": request}, {"conditions": conditions}
    )
    assert [text.split(": ")[:2] for text in found if "conditions[1]" in text] == [
        ["status.conditions[1].status", "Unsupported value"],
        ["status.conditions[1].type", "Duplicate value"],
    ]


def test_conditions_and_mutations_show_their_expression_without_spaces(kinds):
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": " x "}}
    spec = {
        **POLICY,
        "mutations": [mutation],
        "matchConditions": [{"name": "a", "expression": "\ty\n"}],
    }
    found = dict(errors(kinds, "MutatingAdmissionPolicy", {"spec": spec}))
    shown = {field: text.split(": ")[1] for field, text in found.items()}
    assert shown == {
        "spec.mutations[0].jsonPatch.expression": '"x"',
        "spec.matchConditions[0].expression": '"y"',
    }


def test_the_name_of_an_api_service_is_quoted_in_its_error(kinds):
    spec = {"group": "a\nb", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    found = dict(errors(kinds, "APIService", {"spec": spec}))
    assert found["metadata.name"].endswith('must be `spec.version+"."+spec.group`: "v1.a\\nb"')


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("null", "null_type"),
        ("[null]", "list(null_type)"),
        ("timestamp('2026-01-01T00:00:00Z')", "google.protobuf.Timestamp"),
        ("duration('1s')", "google.protobuf.Duration"),
        ("1", "int"),
    ],
)
def test_a_selector_of_devices_names_the_type_that_it_has(kinds, expression, name):
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    ((_, text),) = errors(kinds, "DeviceClass", {"spec": spec})
    assert text.endswith(f"must evaluate to bool or the unknown type, not {name}")


@pytest.mark.parametrize(("prefix", "valid"), [("UPPER", True), ("$(X)", True), ("a/b", False)])
@pytest.mark.parametrize("kind", ["ReplicationController", "DeviceClass"])
def test_only_the_generated_name_of_some_kinds_has_a_format(kinds, kind, prefix, valid):
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    spec = {"template": template} if kind == "ReplicationController" else {}
    obj = {"metadata": {"generateName": prefix}, "spec": spec}
    assert (errors(kinds, kind, obj) == []) is valid
    assert errors(kinds, kind, {"metadata": {"name": "UPPER"}, "spec": spec})


def test_a_claim_shows_the_device_that_is_not_allocated_as_a_value(kinds):
    requests = [{"name": "a", "exactly": {"deviceClassName": "b"}}]
    device = {"driver": "d.example.com", "pool": "p", "device": "v"}
    (text,) = kinds.status_texts(
        "ResourceClaim", {"spec": {"devices": {"requests": requests}}}, {"devices": [device]}
    )
    assert text == (
        'status.devices[0]: Invalid value: {"Driver":"d.example.com","Pool":"p","Device":"v",'
        '"ShareID":""}: must be an allocated device in the claim'
    )


def test_an_empty_reclaim_policy_is_none(kinds):
    obj = {"provisioner": "a.example.com/b", "reclaimPolicy": ""}
    assert errors(kinds, "StorageClass", obj) == []


def test_an_empty_preemption_policy_is_missing(kinds):
    found = errors(kinds, "PriorityClass", {"value": 1, "preemptionPolicy": ""})
    assert found == [("preemptionPolicy", "Required value")]


def test_new_cluster_addresses_are_checked_before_they_are_allocated(kinds):
    spec = {"ports": [{"port": 80}], "clusterIP": "1.2.3.04"}
    assert errors(kinds, "Service", {"spec": spec}) == [
        ("spec.clusterIPs[0]", 'Invalid value: "1.2.3.04": must not have leading 0s')
    ]


def test_a_zero_time_of_a_phase_is_kept(kinds):
    strategy = kinds.strategy_of("PersistentVolume")
    old = kinds.created("PersistentVolume", {})
    sent = {"status": {"phase": "Bound", "lastPhaseTransitionTime": "0001-01-01T00:00:00Z"}}
    new = kinds.decoded("PersistentVolume", sent)
    strategy.prepare_for_update(kinds.context_of("PersistentVolume", "status"), new, old)
    assert new["status"] == {"phase": "Bound", "lastPhaseTransitionTime": None}


def test_a_zero_time_stays_in_templates_but_not_in_the_metadata_of_the_object(kinds):
    time = "0001-01-01T00:00:00Z"
    zero = {"deletionTimestamp": time, "managedFields": [{"time": time}]}
    sent = {"metadata": zero, "spec": {"template": {"metadata": zero}}}
    new = kinds.decoded("Deployment", sent)
    assert "deletionTimestamp" not in new["metadata"]
    assert new["metadata"]["managedFields"] == [{}]
    kept = {"deletionTimestamp": None, "managedFields": [{"time": None}]}
    assert new["spec"]["template"]["metadata"] == kept


def test_expressions_of_annotations_are_compiled_and_shown_without_spaces_around(kinds):
    annotation = {"key": "a", "valueExpression": " x "}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "auditAnnotations": [annotation]}
    ((field, text),) = errors(kinds, "ValidatingAdmissionPolicy", {"spec": spec})
    assert field == "spec.auditAnnotations[0].valueExpression"
    assert text.endswith(" | x\n | ^")


@pytest.mark.parametrize(("missing", "named"), [("name", "namespace"), ("namespace", "name")])
def test_a_webhook_without_a_name_misses_its_namespace_and_the_reverse(kinds, missing, named):
    """As upstream, whose callers exchange the two (ValidateWebhookService)."""
    client = {"service": {"name": "a", "namespace": "b"} | {missing: ""}}
    webhook = {
        "name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": client,
    }  # fmt: skip
    found = errors(kinds, "ValidatingWebhookConfiguration", {"webhooks": [webhook]})
    assert found == [(f"webhooks[0].clientConfig.service.{named}", "Required value")]


def test_an_empty_reference_that_an_update_adds_to_a_volume_is_no_change_of_its_source(kinds):
    csi = {"driver": "a.example.com", "volumeHandle": "h"}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "csi": csi}
    sent = {"spec": {**spec, "csi": {**csi, "controllerExpandSecretRef": {}}}}
    found = kinds.update_texts("PersistentVolume", {"spec": spec}, sent)
    assert set(found) == {
        f"spec.csi.controllerExpandSecretRef.{member}: Required value"
        for member in ("name", "namespace")
    }
