"""Irregular rules of webhooks and admission policies: their resource rules and expressions."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from inkube.schemas import cel, expressionsize, fielderrors, jsonpath, policies, webhooks
from inkube.schemas.builtin.rules.calls import flowcontrol
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.crds import conversion
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

REVIEWS: Final = ("v1", "v1beta1")
_SEGMENTS: Final = "should be a domain with at least three segments separated by dots"
_ONLY_REVIEWS: Final = ", ".join(REVIEWS)
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_NOTHING: Final = "validations or auditAnnotations must contain at least one item"
_MUTABLE: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCH_TYPES: "Final[dict[str, tuple[str, Callable[[], cel.Type]]]]" = {
    "ApplyConfiguration": ("applyConfiguration", lambda: cel.types.object_of("Object")),
    "JSONPatch": ("jsonPatch", lambda: cel.types.list_of(cel.types.object_of("JSONPatch"))),
}
"""The member of a mutation of each type, and the type of its expression. The language is loaded
with the first expression."""
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

crowds = flowcontrol.crowds


def json_path(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a field reference is not blank and is a valid JSONPath (validateFieldRef)."""
    if not value.strip():
        return [fielderrors.required(path)]
    try:
        jsonpath.parse(f"{{{value.strip()}}}")
    except ValueError as error:
        return [fielderrors.invalid(path, value.strip(), f"invalid JSONPath: {error}")]
    return []


# -------------------------------------------------------------------------------------- webhooks


def fits(frame: Frame) -> bool:
    """Return whether the expressions of all webhooks together are small enough to be checked."""
    return not expressionsize.errors(frame.obj.get("webhooks"), "webhooks")


def qualified_name(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a name has at least three segments (IsFullyQualifiedName)."""
    if not value:
        return [fielderrors.required(path)]
    problems = names.dns1123_subdomain(value)
    if not problems and len(value.split(".")) < 3:
        problems = [_SEGMENTS]
    return [fielderrors.invalid(path, value, why) for why in problems]


def reviews(value: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check that the versions of reviews are unique, and that kube-apiserver sends at least one of
    them."""
    errors = []
    known: set[str] = set()
    for index, version in enumerate(value):
        place = f"{path}[{index}]"
        if version in known:
            errors.append(fielderrors.invalid(place, version, "duplicate version"))
        else:
            known.add(version)
            errors += [
                fielderrors.invalid(place, version, why) for why in names.dns1035_label(version)
            ]
    if not set(value) & set(REVIEWS):
        why = f"must include at least one of {_ONLY_REVIEWS}"
        errors.append(fielderrors.invalid(path, value, why))
    return errors


def client(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check a client configuration: exactly one of `url` and `service`."""
    return list(conversion.client_errors(value, path))


def match_conditions(value: list[Object], path: str, _frame: Frame) -> list[FieldError]:
    """Check the matchConditions of a webhook."""
    return list(webhooks.conditions.validate(value, path))


def resources(values: list[str], path: str, _frame: Frame) -> list[FieldError]:
    """Check that no resource covers another: `pods/*` covers `pods/status`, `*/status` covers the
    status of every resource, `*/*` covers everything."""
    errors: list[FieldError] = []
    wholes: set[str] = set()
    subresources: set[str] = set()
    for index, value in enumerate(values):
        place = f"{path}[{index}]"
        if not value:
            errors.append(fielderrors.required(place))
            continue
        resource, slash, subresource = value.partition("/")
        if not slash:
            continue
        if resource in wholes:
            why = f"if '{resource}/*' is present, must not specify {value}"
            errors.append(fielderrors.invalid(place, value, why))
        if subresource in subresources:
            why = f"if '*/{subresource}' is present, must not specify {value}"
            errors.append(fielderrors.invalid(place, value, why))
        if subresource == "*":
            wholes.add(resource)
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


# -------------------------------------------------------------------------- policies and bindings


def group_version(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check a `group/version`. An error about one part shows only this part."""
    if value.count("/") > 1:
        return [fielderrors.invalid(path, value, f"unexpected GroupVersion string: {value}")]
    group, _, last = value.rpartition("/")
    errors = []
    if group and (found := names.dns1123_subdomain(group)):
        errors.append(fielderrors.invalid(path, group, ",".join(found)))
    if not last:
        errors.append(fielderrors.invalid(path, value, "version must be specified"))
    elif found := names.dns1035_label(last):
        errors.append(fielderrors.invalid(path, last, ",".join(found)))
    return errors


def mixed_case(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a kind is a DNS label after it is converted to lower case."""
    found = names.dns1035_label(value.lower())
    why = f"may have mixed case, but should otherwise match: {', '.join(found)}"
    return [fielderrors.invalid(path, value, why)] if found else []


def warns_and_denies(frame: Frame) -> bool:
    """Return whether a failure would be both a denial and a warning."""
    return {"Deny", "Warn"} <= set(frame.obj.get("validationActions") or ())


def validating_expressions(spec: Object, _path: str, frame: Frame) -> list[FieldError]:
    """Check the conditions, variables, validations and annotations of a
    ValidatingAdmissionPolicy."""
    name = (frame.root.obj.get("metadata") or {}).get("name", "")
    return list(_validating(spec, name))


def mutating_expressions(spec: Object, _path: str, _frame: Frame) -> list[FieldError]:
    """Check the conditions, variables and mutations of a MutatingAdmissionPolicy."""
    has_params = spec.get("paramKind") is not None
    scope = policies.Scope(params=policies.any_params() if has_params else None, mutates=True)
    return [
        *_writes(spec.get("matchConstraints") or {}),
        *_conditions(spec.get("matchConditions") or [], scope),
        *_variables(spec.get("variables") or [], scope),
        *_mutations(spec.get("mutations") or [], scope.environment()),
    ]


def _writes(constraints: Object) -> Iterator[FieldError]:
    """Refuse operations that cannot be mutated, such as DELETE. As upstream, the path has no
    index."""
    path, known = "spec.matchConstraints.resourceRules.operations", _MUTABLE
    for rule in constraints.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in known:
                yield fielderrors.not_supported(path, operation, known)


def _mutations(values: list[Object], environment: "cel.Environment") -> Iterator[FieldError]:
    if not values:
        yield fielderrors.required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(values):
        yield from _mutation(mutation, f"spec.mutations[{index}]", environment)


def _mutation(mutation: Object, path: str, environment: "cel.Environment") -> Iterator[FieldError]:
    kind = mutation.get("patchType")
    if not kind:
        yield fielderrors.required(f"{path}.patchType")
    elif kind not in _PATCH_TYPES:
        yield fielderrors.not_supported(f"{path}.patchType", kind, tuple(_PATCH_TYPES))
    if kind not in _PATCH_TYPES:
        return
    (member, wanted), why = _PATCH_TYPES[kind], f"when patchType is {kind}"
    holder = mutation.get(member)
    if holder is None:
        yield fielderrors.required(f"{path}.{member}", f"must be specified {why}")
    elif not holder.get("expression", "").strip():
        yield fielderrors.required(f"{path}.{member}.expression")
    else:
        known = environment, wanted()
        yield from _compiled(_trimmed(holder), "expression", f"{path}.{member}", known)
    for other, _ in _PATCH_TYPES.values():
        if other != member and mutation.get(other) is not None:
            detail = f"must not be specified {why}"
            yield fielderrors.invalid(f"{path}.{other}", f"{{{other}}}", detail)


def _validating(spec: Object, name: str) -> Iterator[FieldError]:
    params = policies.any_params() if spec.get("paramKind") is not None else None
    variables = spec.get("variables") or []
    scope = policies.Scope(params=params, has_variables=bool(variables))
    yield from _conditions(spec.get("matchConditions") or [], scope)
    yield from _variables(variables, scope)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield fielderrors.required("spec.validations", _NOTHING)
        yield fielderrors.required("spec.auditAnnotations", _NOTHING)
    for index, validation in enumerate(validations):
        yield from _validation(validation, f"spec.validations[{index}]", scope)
    yield from _annotations(annotations, name, scope)


def _conditions(values: list[Object], scope: "policies.Scope") -> Iterator[FieldError]:
    """Check the matchConditions of a policy."""
    path, seen = "spec.matchConditions", set()
    if len(values) > _MAX_CONDITIONS:
        yield fielderrors.too_many(path, len(values), _MAX_CONDITIONS)
    environment = scope.environment(variables=False)
    for index, condition in enumerate(values):
        place, name = f"{path}[{index}]", condition.get("name", "")
        if not condition.get("expression", "").strip():
            yield fielderrors.required(f"{place}.expression")
        else:
            yield from _compiled(
                _trimmed(condition), "expression", place, (environment, cel.types.BOOL)
            )
        if not name:
            yield fielderrors.required(f"{place}.name")
        else:
            yield from _named(name, f"{place}.name", names.label_key)
        if name and name in seen:
            yield fielderrors.duplicate(f"{place}.name", name)
        seen.add(name)


def _variables(values: list[Object], scope: "policies.Scope") -> Iterator[FieldError]:
    """Check variables. Each variable is declared for the expressions after it."""
    for index, variable in enumerate(values):
        place, name = f"spec.variables[{index}]", variable.get("name", "")
        text, found = variable.get("expression", ""), cel.types.DYN
        if not name:
            yield fielderrors.required(f"{place}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            yield fielderrors.invalid(f"{place}.name", name, "must be a valid CEL identifier")
        if not text.strip():
            yield fielderrors.required(f"{place}.expression", "expression is not specified")
        else:
            try:
                anything = policies.expressions.ANYTHING
                found = policies.expressions.compiled(text, scope.environment(), anything).type
            except policies.ExpressionError as error:
                yield _refused(f"{place}.expression", text, error)
        scope.declare(name, found)


def _validation(validation: Object, path: str, scope: "policies.Scope") -> Iterator[FieldError]:
    text = validation.get("expression", "").strip()
    if not text:
        yield fielderrors.required(f"{path}.expression", "expression is not specified")
    else:
        yield from _compiled(validation, "expression", path, (scope.environment(), cel.types.BOOL))
    yield from _message(validation, path, scope)
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield fielderrors.not_supported(f"{path}.reason", reason, _REASONS)


def _message(validation: Object, path: str, scope: "policies.Scope") -> Iterator[FieldError]:
    expression = validation.get("messageExpression", "")
    if expression and not expression.strip():
        why = "must be non-empty if specified"
        yield fielderrors.invalid(f"{path}.messageExpression", expression, why)
    elif expression:
        plain = scope.environment(authorizer=False)
        yield from _compiled(validation, "messageExpression", path, (plain, cel.types.STRING))
    message = validation.get("message", "")
    if message and not message.strip():
        why = "message must be non-empty if specified"
        yield fielderrors.invalid(f"{path}.message", message, why)
    elif "\n" in message.strip() or "\r" in message.strip():
        yield fielderrors.invalid(f"{path}.message", message, "must not contain line breaks")


def _annotations(
    values: list[Object], policy: str, scope: "policies.Scope"
) -> Iterator[FieldError]:
    path, seen = "spec.auditAnnotations", set()
    if len(values) > _MAX_ANNOTATIONS:
        why = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        yield fielderrors.invalid(path, values, why)
    for index, annotation in enumerate(values):
        place, key = f"{path}[{index}]", annotation.get("key", "")
        full = f"{policy}/{key}" if policy else key
        yield from _named(full, f"{place}.key", names.label_key)
        text = annotation.get("valueExpression", "").strip()
        if not text:
            why = "valueExpression is not specified"
            yield fielderrors.required(f"{place}.valueExpression", why)
        elif len(text.encode()) > _MAX_VALUE:
            why = f"must not exceed {_MAX_VALUE} bytes in length"
            yield fielderrors.required(f"{place}.valueExpression", why)
        else:
            known = (scope.environment(), *policies.expressions.ANNOTATION)
            yield from _compiled({"valueExpression": text}, "valueExpression", place, known)
        if key in seen:
            yield fielderrors.duplicate(f"{place}.key", key)
        seen.add(key)


def _trimmed(holder: Object) -> Object:
    """Return the expression as upstream compiles and shows it in conditions and mutations."""
    return {"expression": holder["expression"].strip()}


def _compiled(
    holder: Object, member: str, path: str, known: "tuple[cel.Environment, *tuple[cel.Type, ...]]"
) -> Iterator[FieldError]:
    """Yield the error of an expression. `known` contains its environment and the permitted types of
    its result."""
    environment, *wanted = known
    try:
        policies.expressions.compiled(holder[member], environment, tuple(wanted))
    except policies.ExpressionError as error:
        yield _refused(f"{path}.{member}", holder[member], error)


def _refused(path: str, text: str, error: "policies.ExpressionError") -> FieldError:
    """Return the error of an expression (convertCELErrorToValidationError)."""
    if error.internal:
        return fielderrors.internal(path, str(error))
    return fielderrors.invalid(path, text, str(error))


def _named(value: str, path: str, check: Callable[[str], list[str]]) -> Iterator[FieldError]:
    for why in check(value):
        yield fielderrors.invalid(path, value, why)
