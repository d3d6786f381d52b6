"""Configurations of validating and mutating webhooks: defaults and validation.

Follows pkg/apis/admissionregistration/validation/validation.go.
"""

from inkube.schemas import expressionsize, fielderrors, webhooks
from inkube.schemas.builtin.behaviours import checks
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy
from inkube.schemas.builtin.behaviours.extensions import fill_matching
from inkube.schemas.crds import conversion
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

REVIEWS = ("v1", "v1beta1")
_EFFECTS = ("None", "NoneOnDryRun")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_WORDS = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", ("Equivalent", "Exact")),
    ("reinvocationPolicy", ("IfNeeded", "Never")),
)
_SEGMENTS = "should be a domain with at least three segments separated by dots"
_ONLY_REVIEWS = ", ".join(REVIEWS)


class WebhookConfigurations(BuiltinStrategy):
    """Validating and mutating ones."""

    def default(self, obj: Object) -> None:
        for webhook in obj.get("webhooks") or []:
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("timeoutSeconds", 10)
            fill_matching(webhook)
            if self.definition.names.plural.startswith("mutating"):
                webhook.setdefault("reinvocationPolicy", "Never")
            service = (webhook.get("clientConfig") or {}).get("service")
            if service is not None:
                service.setdefault("port", 443)
            for rule in webhook.get("rules") or []:
                rule.setdefault("scope", "*")

    def check(self, obj: Object) -> list[FieldError]:
        webhooks = obj.get("webhooks") or []
        if errors := expressionsize.errors(webhooks, "webhooks"):
            return errors
        paths = [f"webhooks[{index}]" for index in range(len(webhooks))]
        errors = checks.duplicates(
            [webhook.get("name") for webhook in webhooks], [f"{path}.name" for path in paths]
        )
        for webhook, path in zip(webhooks, paths, strict=True):
            errors += _webhook(webhook, path)
        return errors


def _webhook(webhook: Object, path: str) -> list[FieldError]:
    errors = qualified_name(webhook.get("name", ""), f"{path}.name")
    errors += _reviews(webhook.get("admissionReviewVersions") or [], path)
    errors += conversion.client_errors(webhook.get("clientConfig") or {}, f"{path}.clientConfig")
    errors += _effects(webhook.get("sideEffects"), f"{path}.sideEffects")
    for member, choices in _WORDS:
        if webhook.get(member) is not None and webhook[member] not in choices:
            errors.append(fielderrors.not_supported(f"{path}.{member}", webhook[member], choices))
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        errors.append(fielderrors.invalid(f"{path}.timeoutSeconds", seconds, why))
    for index, rule in enumerate(webhook.get("rules") or []):
        errors += rule_errors(rule, f"{path}.rules[{index}]")
    for member in ("namespaceSelector", "objectSelector"):
        errors += checks.label_selector(webhook.get(member), f"{path}.{member}")
    if webhook.get("matchConditions"):
        errors += webhooks.conditions.validate(
            webhook["matchConditions"], f"{path}.matchConditions"
        )
    return errors


def qualified_name(name: str, path: str) -> list[FieldError]:
    """`IsFullyQualifiedName`: three segments at least."""
    if not name:
        return [fielderrors.required(path)]
    errors = checks.named(name, path, names.dns1123_subdomain)
    if not errors and len(name.split(".")) < 3:
        errors = [fielderrors.invalid(path, name, _SEGMENTS)]
    return errors


def _reviews(versions: list[str], path: str) -> list[FieldError]:
    path = f"{path}.admissionReviewVersions"
    if not versions:
        return [fielderrors.required(path, f"must specify one of {_ONLY_REVIEWS}")]
    errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            why = "duplicate version"
            errors.append(fielderrors.invalid(f"{path}[{index}]", version, why))
        else:
            errors += checks.named(version, f"{path}[{index}]", names.dns1035_label)
    if not set(versions) & set(REVIEWS):
        why = f"must include at least one of {_ONLY_REVIEWS}"
        errors.append(fielderrors.invalid(path, versions, why))
    return errors


def _effects(value: str | None, path: str) -> list[FieldError]:
    if value is None:
        return [fielderrors.required(path, f"must specify one of {', '.join(_EFFECTS)}")]
    return [] if value in _EFFECTS else [fielderrors.not_supported(path, value, _EFFECTS)]


def rule_errors(rule: Object, path: str) -> list[FieldError]:
    """A RuleWithOperations, of webhooks and policies alike."""
    operations = rule.get("operations") or []
    errors = _words(operations, f"{path}.operations", "operations", empty=True)
    errors += [
        fielderrors.not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    errors += _words(rule.get("apiGroups"), f"{path}.apiGroups", "API groups", empty=True)
    errors += _words(rule.get("apiVersions"), f"{path}.apiVersions", "API versions")
    errors += _resources(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        errors.append(fielderrors.not_supported(f"{path}.scope", scope, _SCOPES))
    return errors


def _words(
    values: list[str] | None, path: str, what: str, *, empty: bool = False
) -> list[FieldError]:
    """A list that is not empty, where `*` stands alone."""
    if not values:
        return [fielderrors.required(path)]
    errors = []
    if "*" in values and len(values) > 1:
        why = f"if '*' is present, must not specify other {what}"
        errors.append(fielderrors.invalid(path, values, why))
    if not empty:
        errors += [
            fielderrors.required(f"{path}[{index}]")
            for index, value in enumerate(values)
            if not value
        ]
    return errors


def _resources(values: list[str], path: str) -> list[FieldError]:
    """`pods/*` covers `pods/status`, `*/status` every status, `*/*` everything."""
    if not values:
        return [fielderrors.required(path)]
    errors: list[FieldError] = []
    resources: set[str] = set()
    subresources: set[str] = set()
    for index, value in enumerate(values):
        place = f"{path}[{index}]"
        if not value:
            errors.append(fielderrors.required(place))
            continue
        resource, slash, subresource = value.partition("/")
        if not slash:
            continue
        if resource in resources:
            why = f"if '{resource}/*' is present, must not specify {value}"
            errors.append(fielderrors.invalid(place, value, why))
        if subresource in subresources:
            why = f"if '*/{subresource}' is present, must not specify {value}"
            errors.append(fielderrors.invalid(place, value, why))
        if subresource == "*":
            resources.add(resource)
        if resource == "*":
            subresources.add(subresource)
    if len(values) > 1 and "*/*" in values:
        why = "if '*/*' is present, must not specify other resources"
        errors.append(fielderrors.invalid(path, values, why))
    plain = [value for value in values if "/" not in value]
    if "*" in plain and len(plain) > 1:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(fielderrors.invalid(path, values, why))
    return errors
