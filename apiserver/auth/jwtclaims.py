"""From the claims of a JWT to a user: mappings and rules of an AuthenticationConfiguration.

Loaded with the first JWT issuer, because it imports CEL. Follows
apiserver/plugin/pkg/authenticator/token/oidc, apiserver/pkg/authentication/cel and
apiserver/pkg/apis/apiserver/validation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from inkube.apiserver.auth.serviceaccounts import CREDENTIAL, TokenRefused
from inkube.apiserver.registry import User
from inkube.schemas import fielderrors
from inkube.schemas.cel import FUNCTIONS, CelError, Environment, Shape, types, unescape
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import quote
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.policies import USER, Expression, ExpressionError, expressions

_CLAIMS: Final = Environment(FUNCTIONS, {"claims": Shape.of(types.map_of(types.STRING, types.DYN))})
_USER: Final = Environment(FUNCTIONS, {"user": USER})
_TEXT: Final = (types.STRING, types.DYN)
_TEXTS: Final = (*_TEXT, types.LIST_STRING, types.list_of(types.DYN))
_RESERVED = ("kubernetes.io", "k8s.io")
_VERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
    "claims.email is used in claimMappings.username.expression"
)


class Rule(NamedTuple):
    """A condition, and the message if it is false."""

    expression: Expression
    message: str


class Mapper:
    """Reads the user in the claims of one issuer.

    `errors` are those of its configuration; a mapper with errors must not be used.
    """

    def __init__(self, issuer: Object, path: str) -> None:
        self.errors: list[FieldError] = []
        self._path = path
        self._names_email = self._checks_email = False
        claim_rules = issuer.get("claimValidationRules") or ()
        self._required = {
            rule["claim"]: rule.get("requiredValue", "")
            for rule in claim_rules
            if rule.get("claim")
        }
        self._claim_rules = list(self._read_claim_rules(claim_rules))
        mappings = issuer.get("claimMappings") or {}
        self._names = mappings.get("username") or {}
        self._username = self._read_mapping(self._names, "username", is_required=True)
        self._group_names = mappings.get("groups") or {}
        self._groups = self._read_mapping(self._group_names, "groups")
        self._uid_claim = (mappings.get("uid") or {}).get("claim", "")
        self._uid = self._read_uid(mappings.get("uid") or {})
        self._extra = list(self._read_extra(mappings.get("extra") or ()))
        if self._names_email and not self._checks_email:
            place = f"{path}.claimMappings.username.expression"
            self._refuse(fielderrors.invalid(place, self._names.get("expression"), _VERIFIED))
        self._user_rules = list(self._read_user_rules(issuer.get("userValidationRules") or ()))

    @property
    def groups_claim(self) -> str:
        """The claim with the groups of a user; "" without."""
        claim: str = self._group_names.get("claim", "")
        return claim

    def user(self, claims: Object) -> User:
        """Return the user. Raises TokenRefused if a claim is missing or a rule is not met."""
        values = {"claims": _Claims(claims)}
        name, groups = self._username_of(claims, values), self._groups_of(claims, values)
        user = User(name, self._uid_of(claims, values), groups, self._extra_of(claims, values))
        for claim, wanted in self._required.items():
            if claim not in claims:
                raise TokenRefused(f"oidc: required claim {claim} not present in ID token")
            if claims[claim] != wanted:
                raise TokenRefused(
                    f"oidc: required claim {claim} value does not match. Got = {claims[claim]}, "
                    f"want = {wanted}"
                )
        _check(self._claim_rules, values, "claim validation expression")
        if self._user_rules:
            info = {"uid": "", "groups": [], "extra": {}, **user.info()}
            _check(self._user_rules, {"user": info}, "user info validation rule")
        return user

    def _username_of(self, claims: Object, values: Object) -> str:
        place = "username claim"
        if self._username is not None:
            name = _evaluated(self._username, values, place)
            if not isinstance(name, str):
                raise _failed(place, "username claim expression must return a string")
            if not name:
                raise TokenRefused("oidc: empty username via CEL expression is not allowed")
            return name
        claim = self._names.get("claim", "")
        name = claims.get(claim)
        if not isinstance(name, str):
            why = "claim not present" if claim not in claims else "it is not a string"
            raise TokenRefused(f"oidc: parse username claims {quote(claim)}: {why}")
        if claim == "email" and claims.get("email_verified", True) is not True:
            raise TokenRefused("oidc: email not verified")
        return f"{self._names.get('prefix') or ''}{name}"

    def _groups_of(self, claims: Object, values: Object) -> tuple[str, ...]:
        if self._groups is not None:
            return _texts(_evaluated(self._groups, values, "group claim"), "group claim")
        claim = self.groups_claim
        if not claim or claim not in claims:
            return ()
        found = claims[claim]
        groups = [found] if isinstance(found, str) else found
        if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
            raise TokenRefused(f"oidc: parse groups claim {quote(claim)}: it holds no strings")
        prefix = self._group_names.get("prefix") or ""
        return tuple(f"{prefix}{group}" for group in groups)

    def _uid_of(self, claims: Object, values: Object) -> str:
        if self._uid is not None:
            uid = _evaluated(self._uid, values, "uid claim")
            if not isinstance(uid, str):
                raise _failed("uid claim", "uid claim expression must return a string")
            return uid
        if not self._uid_claim:
            return ""
        uid = claims.get(self._uid_claim)
        if not isinstance(uid, str):
            why = "claim not present" if self._uid_claim not in claims else "it is not a string"
            raise TokenRefused(f"oidc: parse uid claim {quote(self._uid_claim)}: {why}")
        return uid

    def _extra_of(self, claims: Object, values: Object) -> tuple[tuple[str, tuple[str, ...]], ...]:
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(claims.get("jti"), str):
            extra[CREDENTIAL] = (f"JTI={claims['jti']}",)
        for key, expression in self._extra:
            found = _texts(_evaluated(expression, values, "extra claim"), "extra claim")
            if found:
                extra[key] = found
        return tuple(extra.items())

    def _refuse(self, error: FieldError) -> None:
        self.errors.append(error)

    def _read_claim_rules(self, rules: Sequence[Object]) -> Iterator[Rule]:
        seen: set[tuple[str, str]] = set()
        for index, rule in enumerate(rules):
            place = f"{self._path}.claimValidationRules[{index}]"
            claim, text = rule.get("claim", ""), rule.get("expression", "")
            message, value = rule.get("message", ""), rule.get("requiredValue", "")
            kind = "claim" if claim else "expression"
            if claim and text:
                why = "claim and expression can't both be set"
                self._refuse(fielderrors.invalid(place, claim, why))
                continue
            if not claim and not text:
                self._refuse(fielderrors.required(place, "claim or expression is required"))
                continue
            if claim and message:
                why = "may not be specified when claim is set"
                self._refuse(fielderrors.invalid(f"{place}.message", message, why))
            if text and value:
                why = "may not be specified when expression is set"
                self._refuse(fielderrors.invalid(f"{place}.requiredValue", value, why))
            if (kind, claim or text) in seen:
                self._refuse(fielderrors.duplicate(f"{place}.{kind}", claim or text))
                continue
            seen.add((kind, claim or text))
            expression = self._compiled(text, f"{place}.expression", _CLAIMS, (types.BOOL,))
            if expression is not None:
                yield Rule(expression, message)

    def _read_user_rules(self, rules: Sequence[Object]) -> Iterator[Rule]:
        seen: set[str] = set()
        for index, rule in enumerate(rules):
            place = f"{self._path}.userValidationRules[{index}].expression"
            text = rule.get("expression", "")
            if not text:
                self._refuse(fielderrors.required(place))
            elif text in seen:
                self._refuse(fielderrors.duplicate(place, text))
            else:
                seen.add(text)
                expression = self._compiled(text, place, _USER, (types.BOOL,))
                if expression is not None:
                    yield Rule(expression, rule.get("message", ""))

    def _read_mapping(
        self, mapping: Object, member: str, *, is_required: bool = False
    ) -> Expression | None:
        place = f"{self._path}.claimMappings.{member}"
        claim, text = mapping.get("claim", ""), mapping.get("expression", "")
        if claim and text:
            why = "claim and expression can't both be set"
            self._refuse(fielderrors.invalid(place, "", why))
            return None
        if claim and mapping.get("prefix") is None:
            why = (
                "prefix is required when claim is set. It can be set to an empty string to disable "
                "prefixing"
            )
            self._refuse(fielderrors.required(f"{place}.prefix", why))
        if not claim and not text and is_required:
            self._refuse(fielderrors.required(place, "claim or expression is required"))
        if text and mapping.get("prefix") is not None:
            why = "may not be specified when expression is set"
            self._refuse(fielderrors.invalid(f"{place}.prefix", mapping["prefix"], why))
        accepted = _TEXT if is_required else _TEXTS
        expression = self._compiled(text, f"{place}.expression", _CLAIMS, accepted)
        if expression is not None and is_required:
            self._names_email |= expression.selects("claims", "email")
        return expression

    def _read_uid(self, mapping: Object) -> Expression | None:
        place = f"{self._path}.claimMappings.uid"
        claim, text = mapping.get("claim", ""), mapping.get("expression", "")
        if claim and text:
            self._refuse(fielderrors.invalid(place, "", "claim and expression can't both be set"))
            return None
        return self._compiled(text, f"{place}.expression", _CLAIMS, _TEXT)

    def _read_extra(self, mappings: Sequence[Object]) -> Iterator[tuple[str, Expression]]:
        seen: set[str] = set()
        for index, mapping in enumerate(mappings):
            place = f"{self._path}.claimMappings.extra[{index}]"
            key, text = mapping.get("key", ""), mapping.get("valueExpression", "")
            self.errors += names.domain_prefixed_path(key, f"{place}.key")
            if key != key.lower():
                self._refuse(fielderrors.invalid(f"{place}.key", key, "must be lowercase"))
            domain = key.partition("/")[0]
            if "/" in key and any(domain == d or domain.endswith(f".{d}") for d in _RESERVED):
                why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
                self._refuse(fielderrors.invalid(f"{place}.key", key, why))
            if key in seen:
                self._refuse(fielderrors.duplicate(f"{place}.key", key))
                continue
            seen.add(key)
            if not text:
                self._refuse(fielderrors.required(f"{place}.valueExpression"))
                continue
            expression = self._compiled(text, f"{place}.valueExpression", _CLAIMS, _TEXTS)
            if expression is not None:
                yield key, expression

    def _compiled(
        self, text: str, path: str, environment: Environment, accepted: "tuple[types.Type, ...]"
    ) -> Expression | None:
        """Return an expression; None for an empty text, or one with an error."""
        if not text:
            return None
        try:
            expression = expressions.compiled(text, environment, accepted)
        except ExpressionError as error:
            self._refuse(fielderrors.invalid(path, text, str(error)))
            return None
        self._checks_email |= expression.selects("claims", "email_verified")
        return expression


class _Claims(dict[str, Any]):
    """Claims whose members expressions also find by their escaped names (`a__dot__b`)."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        super().__init__({name: _nested(value) for name, value in members.items()})

    def __missing__(self, key: str) -> Any:
        name = unescape(key)
        if not dict.__contains__(self, name):
            raise KeyError(key)
        return self[name]

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or dict.__contains__(self, unescape(str(key)))


def _nested(value: Any) -> Any:
    if isinstance(value, dict):
        return _Claims(value)
    return [_nested(item) for item in value] if isinstance(value, list) else value


def _evaluated(expression: Expression, values: Object, place: str) -> Any:
    try:
        return expression.evaluate(values, expressions.Budget())
    except CelError as error:
        raise _failed(place, expressions.resulted(expression, error)) from error


def _failed(place: str, why: str) -> TokenRefused:
    return TokenRefused(f"oidc: error evaluating {place} expression: {why}")


def _texts(value: Any, place: str) -> tuple[str, ...]:
    """Return the result of an expression as strings, without the empty ones."""
    found = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise _failed(place, "expression must return a string or a list of strings")
    return tuple(filter(None, found))


def _check(rules: Sequence[Rule], values: Object, place: str) -> None:
    for rule in rules:
        try:
            result = rule.expression.evaluate(values, expressions.Budget())
        except CelError as error:
            why = expressions.resulted(rule.expression, error)
            raise TokenRefused(f"oidc: error evaluating {place}: {why}") from error
        if result is not True:
            raise TokenRefused(
                f"oidc: error evaluating {place}: validation expression '{rule.expression.text}' "
                f"failed: {rule.message}"
            )
