"""Validating and mutating admission policies and their bindings: defaults and validation.

Follows pkg/apis/admissionregistration/validation/validation.go.
"""

import re
from collections.abc import Iterator
from typing import Final

from inkube.schemas import expressionsize, fielderrors
from inkube.schemas.builtin.behaviours import checks, extensions
from inkube.schemas.builtin.behaviours.webhookconfigs import rule_errors
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.types import Type
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.policies import expressions
from inkube.schemas.policies.environment import Scope, any_params
from inkube.schemas.policies.expressions import ExpressionError

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOTHING: Final = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE: Final = "name and selector are mutually exclusive"
_TWICE: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the"
    " API response and headers serves no purpose)"
)
_PATCH_TYPES: Final = {
    "ApplyConfiguration": ("applyConfiguration", types.object_of("Object")),
    "JSONPatch": ("jsonPatch", types.list_of(types.object_of("JSONPatch"))),
}
_MAX_CONDITIONS: Final = 64
_MAX_ANNOTATIONS: Final = 20
_MAX_VALUE: Final = 5 * 1024
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var",
        "void", "while",
    }
)  # fmt: skip


class ValidatingPolicies(extensions.Policies):
    """ValidatingAdmissionPolicy: every expression is compiled before it is stored."""

    def check(self, obj: Object) -> list[FieldError]:
        return expressionsize.errors(obj.get("spec"), "spec") or list(_policy(obj))


class ValidatingBindings(extensions.PolicyBindings):
    """ValidatingAdmissionPolicyBinding."""

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        return [*_binding(spec), *_actions(spec.get("validationActions") or [])]


class MutatingPolicies(extensions.Policies):
    """MutatingAdmissionPolicy."""

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        if errors := expressionsize.errors(spec, "spec"):
            return errors
        has_params = spec.get("paramKind") is not None
        scope = Scope(params=any_params() if has_params else None, mutates=True)
        return [
            *policy_frame(spec),
            *_writes(spec.get("matchConstraints") or {}),
            *conditions(spec.get("matchConditions") or [], scope),
            *variables(spec.get("variables") or [], scope),
            *_mutations(spec.get("mutations") or [], scope.environment()),
            *checks.one_of(
                spec.get("reinvocationPolicy"), "spec.reinvocationPolicy", ("IfNeeded", "Never")
            ),
        ]


def _writes(constraints: Object) -> Iterator[FieldError]:
    """What is deleted can not be mutated; upstream's path has no index."""
    path, known = "spec.matchConstraints.resourceRules.operations", _MUTABLE
    for rule in constraints.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in known:
                yield fielderrors.not_supported(path, operation, known)


_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")


class MutatingBindings(extensions.PolicyBindings):
    """MutatingAdmissionPolicyBinding."""

    def check(self, obj: Object) -> list[FieldError]:
        return list(_binding(obj.get("spec") or {}))


def _binding(spec: Object) -> Iterator[FieldError]:
    """What bindings of both kinds have in common."""
    yield from bound_policy(spec)
    yield from param_ref(spec.get("paramRef"))
    if spec.get("matchResources") is not None:
        yield from match_resources(spec["matchResources"], "spec.matchResources")


def _mutations(values: list[Object], environment: Environment) -> Iterator[FieldError]:
    if not values:
        yield fielderrors.required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(values):
        yield from _mutation(mutation, f"spec.mutations[{index}]", environment)


def _mutation(mutation: Object, path: str, environment: Environment) -> Iterator[FieldError]:
    kind = mutation.get("patchType")
    yield from checks.one_of(kind, f"{path}.patchType", tuple(_PATCH_TYPES))
    if kind not in _PATCH_TYPES:
        return
    (member, wanted), why = _PATCH_TYPES[kind], f"when patchType is {kind}"
    for other, _ in _PATCH_TYPES.values():
        if other != member and mutation.get(other) is not None:
            detail = f"must not be specified {why}"
            yield fielderrors.invalid(f"{path}.{other}", f"{{{other}}}", detail)
    holder = mutation.get(member)
    if holder is None:
        yield fielderrors.required(f"{path}.{member}", f"must be specified {why}")
    elif not holder.get("expression", "").strip():
        yield fielderrors.required(f"{path}.{member}.expression")
    else:
        yield from _compiled(holder, "expression", f"{path}.{member}", (environment, wanted))


def _policy(obj: Object) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    yield from policy_frame(spec)
    scope = Scope(params=any_params() if spec.get("paramKind") is not None else None)
    yield from conditions(spec.get("matchConditions") or [], scope)
    yield from variables(spec.get("variables") or [], scope)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield fielderrors.required("spec.validations", _NOTHING)
        yield fielderrors.required("spec.auditAnnotations", _NOTHING)
    for index, validation in enumerate(validations):
        yield from _validation(validation, f"spec.validations[{index}]", scope)
    yield from _annotations(annotations, obj["metadata"].get("name", ""), scope)


def policy_frame(spec: Object) -> Iterator[FieldError]:
    """What validating and mutating policies have in common, expressions aside."""
    policy = spec.get("failurePolicy")
    if policy not in ("Fail", "Ignore"):
        yield fielderrors.not_supported("spec.failurePolicy", policy, ("Fail", "Ignore"))
    if spec.get("paramKind") is not None:
        yield from _param_kind(spec["paramKind"])
    constraints, path = spec.get("matchConstraints"), "spec.matchConstraints"
    if constraints is None:
        yield fielderrors.required(path)
        return
    yield from match_resources(constraints, path)
    if not constraints.get("resourceRules"):
        yield fielderrors.required(f"{path}.resourceRules")


def _param_kind(kind: Object) -> Iterator[FieldError]:
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    path = "spec.paramKind.apiVersion"
    if not version:
        yield fielderrors.required(path)
    elif version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        yield fielderrors.invalid(path, version, why)
    else:
        group, _, last = version.rpartition("/")
        if group and (found := names.dns1123_subdomain(group)):
            yield fielderrors.invalid(path, group, ",".join(found))
        if not last:
            yield fielderrors.invalid(path, version, "version must be specified")
        elif found := names.dns1035_label(last):
            yield fielderrors.invalid(path, last, ",".join(found))
    if not name:
        yield fielderrors.required("spec.paramKind.kind")
    elif found := names.dns1035_label(name.lower()):
        why = f"may have mixed case, but should otherwise match: {', '.join(found)}"
        yield fielderrors.invalid("spec.paramKind.kind", name, why)


def match_resources(target: Object, path: str) -> Iterator[FieldError]:
    """MatchResources of a policy or binding, defaults filled in."""
    policy = target.get("matchPolicy")
    if policy not in ("Equivalent", "Exact"):
        choices = ("Equivalent", "Exact")
        yield fielderrors.not_supported(f"{path}.matchPolicy", policy, choices)
    for member in ("namespaceSelector", "objectSelector"):
        yield from checks.label_selector(target.get(member), f"{path}.{member}")
    for member in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(target.get(member) or []):
            place = f"{path}.{member}[{index}]"
            yield from _resource_names(rule.get("resourceNames") or [], place)
            yield from rule_errors(rule, place)


def _resource_names(values: list[str], path: str) -> Iterator[FieldError]:
    for index, name in enumerate(values):
        place = f"{path}.resourceNames[{index}]"
        yield from checks.named(name, place, names.path_segment)
        if name in values[:index]:
            yield fielderrors.duplicate(place, name)


def conditions(values: list[Object], scope: Scope) -> Iterator[FieldError]:
    """matchConditions of policies."""
    path, seen = "spec.matchConditions", set()
    if len(values) > _MAX_CONDITIONS:
        yield fielderrors.too_many(path, len(values), _MAX_CONDITIONS)
    environment = scope.environment(variables=False)
    for index, condition in enumerate(values):
        place, name = f"{path}[{index}]", condition.get("name", "")
        if not condition.get("expression", "").strip():
            yield fielderrors.required(f"{place}.expression")
        else:
            yield from _compiled(condition, "expression", place, (environment, types.BOOL))
        if not name:
            yield fielderrors.required(f"{place}.name")
        else:
            yield from checks.named(name, f"{place}.name", names.label_key)
        if name and name in seen:
            yield fielderrors.duplicate(f"{place}.name", name)
        seen.add(name)


def variables(values: list[Object], scope: Scope) -> Iterator[FieldError]:
    """Variables; each is declared for those that follow."""
    for index, variable in enumerate(values):
        place, name = f"spec.variables[{index}]", variable.get("name", "")
        text, found = variable.get("expression", ""), types.DYN
        if not name:
            yield fielderrors.required(f"{place}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            yield fielderrors.invalid(f"{place}.name", name, "must be a valid CEL identifier")
        if not text.strip():
            yield fielderrors.required(f"{place}.expression", "expression is not specified")
        else:
            try:
                found = expressions.compiled(text, scope.environment(), expressions.ANYTHING).type
            except ExpressionError as error:
                yield fielderrors.invalid(f"{place}.expression", text, str(error))
        scope.declare(name, found)


def _validation(validation: Object, path: str, scope: Scope) -> Iterator[FieldError]:
    text = validation.get("expression", "").strip()
    if not text:
        yield fielderrors.required(f"{path}.expression", "expression is not specified")
    else:
        yield from _compiled(validation, "expression", path, (scope.environment(), types.BOOL))
    yield from _message(validation, path, scope)
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield fielderrors.not_supported(f"{path}.reason", reason, _REASONS)


def _message(validation: Object, path: str, scope: Scope) -> Iterator[FieldError]:
    expression = validation.get("messageExpression", "")
    if expression and not expression.strip():
        why = "must be non-empty if specified"
        yield fielderrors.invalid(f"{path}.messageExpression", expression, why)
    elif expression:
        plain = scope.environment(authorizer=False)
        yield from _compiled(validation, "messageExpression", path, (plain, types.STRING))
    message = validation.get("message", "")
    if message and not message.strip():
        why = "message must be non-empty if specified"
        yield fielderrors.invalid(f"{path}.message", message, why)
    elif "\n" in message.strip() or "\r" in message.strip():
        yield fielderrors.invalid(f"{path}.message", message, "must not contain line breaks")
    elif not message and "\n" in validation.get("expression", "").strip():
        why = "message must be specified if expression contains line breaks"
        yield fielderrors.required(f"{path}.message", why)


def _annotations(values: list[Object], policy: str, scope: Scope) -> Iterator[FieldError]:
    path, seen = "spec.auditAnnotations", set()
    if len(values) > _MAX_ANNOTATIONS:
        why = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        yield fielderrors.invalid(path, values, why)
    for index, annotation in enumerate(values):
        place, key = f"{path}[{index}]", annotation.get("key", "")
        full = f"{policy}/{key}" if policy else key
        yield from checks.named(full, f"{place}.key", names.label_key)
        text = annotation.get("valueExpression", "").strip()
        if not text:
            why = "valueExpression is not specified"
            yield fielderrors.required(f"{place}.valueExpression", why)
        elif len(text.encode()) > _MAX_VALUE:
            why = f"must not exceed {_MAX_VALUE} bytes in length"
            yield fielderrors.required(f"{place}.valueExpression", why)
        else:
            known = (scope.environment(), *expressions.ANNOTATION)
            yield from _compiled(annotation, "valueExpression", place, known)
        if key in seen:
            yield fielderrors.duplicate(f"{place}.key", key)
        seen.add(key)


def _compiled(
    holder: Object, member: str, path: str, known: tuple[Environment, *tuple[Type, ...]]
) -> Iterator[FieldError]:
    """What is wrong with an expression; `known` is where it stands and what it must yield."""
    environment, *wanted = known
    try:
        expressions.compiled(holder[member], environment, tuple(wanted))
    except ExpressionError as error:
        yield fielderrors.invalid(f"{path}.{member}", holder[member], str(error))


def bound_policy(spec: Object) -> list[FieldError]:
    """The name of a binding's policy."""
    name = spec.get("policyName", "")
    if not name:
        return [fielderrors.required("spec.policyName")]
    return checks.named(name, "spec.policyName", names.dns1123_subdomain)


def param_ref(reference: Object | None) -> Iterator[FieldError]:
    """Where a binding finds parameters."""
    if reference is None:
        return
    path, name, selector = "spec.paramRef", reference.get("name", ""), reference.get("selector")
    if name:
        yield from checks.named(name, f"{path}.name", names.path_segment)
        if selector is not None:
            yield fielderrors.forbidden(f"{path}.name", _EXCLUSIVE)
    if selector is not None:
        yield from checks.label_selector(selector, f"{path}.selector")
        if name:
            yield fielderrors.forbidden(f"{path}.selector", _EXCLUSIVE)
    if not name and selector is None:
        yield fielderrors.required(path, "one of name or selector must be specified")
    action, place = reference.get("parameterNotFoundAction"), f"{path}.parameterNotFoundAction"
    if not action:
        yield fielderrors.required(place)
    elif action not in ("Allow", "Deny"):
        yield fielderrors.not_supported(place, action, ("Deny", "Allow"))


def _actions(actions: list[str]) -> Iterator[FieldError]:
    path = "spec.validationActions"
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield fielderrors.not_supported(f"{path}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield fielderrors.duplicate(f"{path}[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        yield fielderrors.invalid(path, actions, _TWICE)
    if not actions:
        yield fielderrors.required(path, "at least one validation action is required")
