"""Reviews, which return a result and are never stored: SelfSubjectReview, access reviews,
TokenReview.

Each is a function from a decoded body to the body of the response. `handlers` returns them by
resource. Follows pkg/registry/authorization/* and pkg/registry/authentication/*.
"""

from collections.abc import Callable
from functools import partial

from aiohttp import web

from inkube.apiserver.auth import Attributes, Authenticator, Authorizer, TokenRefused, answered
from inkube.apiserver.handlers import Exchange, tables
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.registry import Request, SystemFields, User, Write, ownership
from inkube.apiserver.subresources import reviewchecks
from inkube.apiserver.subresources.reviewchecks import check_local, check_self, check_subject
from inkube.schemas import status
from inkube.schemas.builtin import rules
from inkube.schemas.objects import Object

Review = Callable[[Request, Object], Object]
_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"


class Reviews:
    """Serves reviews with the server's authenticator and authorizer."""

    def __init__(
        self, authenticator: Authenticator, authorizer: Authorizer, system_fields: SystemFields
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._system_fields = system_fields

    def handlers(self) -> dict[tuple[str, str, str], "ReviewHandler"]:
        """Return (group, plural, "") → the handler of a create."""
        table: dict[tuple[str, str], Review] = {
            (_AUTHENTICATION, "selfsubjectreviews"): self.who_am_i,
            (_AUTHENTICATION, "tokenreviews"): self.token,
            (_AUTHORIZATION, "selfsubjectaccessreviews"): partial(self.access, check_self),
            (_AUTHORIZATION, "selfsubjectrulesreviews"): self.my_rules,
            (_AUTHORIZATION, "subjectaccessreviews"): partial(self.access, check_subject),
            (_AUTHORIZATION, "localsubjectaccessreviews"): partial(self.access, check_local),
        }
        return {
            (group, plural, ""): ReviewHandler(review) for (group, plural), review in table.items()
        }

    def who_am_i(self, request: Request, obj: Object) -> Object:
        """Process a SelfSubjectReview."""
        meta = {"creationTimestamp": self._system_fields.timestamp()}
        return _envelope(request, meta, status={"userInfo": request.user.info()})

    def access(self, check: Callable[[Object], None], request: Request, obj: Object) -> Object:
        """Process a review of access: of the user of the request, or of the subject in its spec.
        `check` is the validation of its kind."""
        check(obj)
        user = request.user if check is check_self else _subject(obj["spec"])
        decision = self._authorizer.decide(_attributes(user, obj["spec"]))
        result: Object = {"allowed": decision.allowed}
        if decision.is_denied:
            result["denied"] = True
        if decision.reason:
            result["reason"] = decision.reason
        if decision.error:
            result["evaluationError"] = decision.error
        ignored = reviewchecks.ignored_selectors(obj["spec"].get("resourceAttributes") or {})
        if ignored:
            result["evaluationError"] = ignored
        return {**obj, "status": result}

    def my_rules(self, request: Request, obj: Object) -> Object:
        """Process a SelfSubjectRulesReview."""
        namespace = obj["spec"].get("namespace")
        if not namespace:
            raise status.bad_request("no namespace on request")
        rules, failure, is_incomplete = self._authorizer.rules_for(request.user, namespace)
        result: Object = {
            "resourceRules": [
                _pick(rule, "verbs", "apiGroups", "resources", "resourceNames")
                for rule in rules
                if rule.get("resources")
            ],
            "nonResourceRules": [
                _pick(rule, "verbs", "nonResourceURLs")
                for rule in rules
                if rule.get("nonResourceURLs")
            ],
            "incomplete": is_incomplete,
        }
        if failure:
            result["evaluationError"] = failure
        return _envelope(request, {}, spec={}, status=result)

    def token(self, request: Request, obj: Object) -> Object:
        """Process a TokenReview."""
        spec = obj["spec"]
        if not spec.get("token"):
            raise status.bad_request("token is required for TokenReview in authentication")
        try:
            found = self._authenticator.review(spec["token"], spec.get("audiences") or ())
        except TokenRefused as error:
            return {**obj, "status": {"user": {}, "error": str(error)}}
        result = {
            "authenticated": True,
            "user": found.user.info(),
            "audiences": list(found.audiences),
        }
        return {**obj, "status": result}


class ReviewHandler:
    """Serves a create that stores nothing: decodes the body, passes admission, calls the
    review, and returns 201."""

    def __init__(self, review: Review) -> None:
        self._review = review

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError."""
        request = exchange.with_options("CreateOptions")
        body = await bodies.read(exchange.http)
        accepted = await exchange.accepted(request, body, bodies.media_type(exchange.http))
        obj = accepted.object
        rules.book(request.resource.definition.minor).drop_disabled(obj, request.served.gvk)
        write = Write(
            exchange.engine,
            request,
            object=obj,
            options=request.options,
            name=obj["metadata"].get("name", ""),
            notes=request.notes,
            size=len(body),
        )
        await ownership.record(write)
        await exchange.engine.chain.mutate(write)
        await exchange.engine.chain.validate(write)
        answer = await answered(partial(self._review, request, obj))
        form = exchange.form
        if form.kind:
            answer = tables.partial(answer, form.version)
        return responses.render(answer, form, code=201, warnings=request.warnings)


def _subject(spec: Object) -> User:
    extra = tuple((key, tuple(values or ())) for key, values in (spec.get("extra") or {}).items())
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _attributes(user: User, spec: Object) -> Attributes:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec["nonResourceAttributes"]
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""), is_resource=False)
    members = ("group", "resource", "subresource", "namespace", "name")
    return Attributes(
        user,
        asked.get("verb", ""),
        version=asked.get("version") or "*",
        **{member: asked.get(member, "") for member in members},
        field_selector=reviewchecks.field_selector(asked),
        label_selector=reviewchecks.label_selector(asked),
    )


def _pick(rule: Object, *members: str) -> Object:
    return {member: rule[member] for member in members if rule.get(member)}


def _envelope(request: Request, meta: Object, **parts: Object) -> Object:
    return {
        "kind": request.served.kind,
        "apiVersion": request.served.api_version,
        "metadata": meta,
        **parts,
    }
