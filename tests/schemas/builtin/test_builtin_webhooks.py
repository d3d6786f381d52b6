"""Configurations of webhooks: defaults and validation."""

import pytest

SOUND = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://example.com"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def configuration(**changes):
    webhook = {**SOUND, **changes}
    return {"webhooks": [{k: v for k, v in webhook.items() if v is not None}]}


def test_a_valid_configuration_gets_its_defaults(kinds):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}
    made = kinds.created("MutatingWebhookConfiguration", configuration(rules=[rule]))
    (webhook,) = made["webhooks"]
    assert webhook["rules"][0]["scope"] == "*"
    assert webhook["reinvocationPolicy"] == "Never"
    assert webhook["timeoutSeconds"] == 10
    assert (
        kinds.strategy_of("MutatingWebhookConfiguration").validate(
            kinds.context_of("MutatingWebhookConfiguration"), made
        )
        == []
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": None}, "webhooks[0].name: Required value"),
        (
            {"name": "short"},
            (
                'webhooks[0].name: Invalid value: "short": should be a domain with at least three '
                "segments separated by dots"
            ),
        ),
        (
            {"sideEffects": None},
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        ),
        (
            {"sideEffects": "Some"},
            (
                'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", '
                '"NoneOnDryRun"'
            ),
        ),
        (
            {"admissionReviewVersions": ["v3"]},
            (
                'webhooks[0].admissionReviewVersions: Invalid value: ["v3"]: must include at least '
                "one of v1, v1beta1"
            ),
        ),
        (
            {"clientConfig": {}},
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            {"timeoutSeconds": 31},
            (
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must "
                "be between 1 "
                "and 30 seconds"
            ),
        ),
    ],
)
def test_an_invalid_configuration_has_these_errors(kinds, changes, text):
    assert kinds.texts("ValidatingWebhookConfiguration", configuration(**changes)) == [text]


def test_a_wildcard_excludes_other_values_of_a_rule(kinds):
    rule = {
        "apiGroups": ["*", "a"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/*", "pods/status"],
    }
    assert kinds.texts("ValidatingWebhookConfiguration", configuration(rules=[rule])) == [
        (
            'webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is '
            "present, must not "
            "specify other API groups"
        ),
        (
            "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is "
            "present, must not specify pods/status"
        ),
    ]
