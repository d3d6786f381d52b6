"""TokenRequest: a POST to a service account's `token` returns a token for the account.

Follows pkg/registry/core/serviceaccount/storage/token.go and pkg/serviceaccount/claims.go.
"""

from datetime import timedelta

from aiohttp import web

from inkube.apiserver.auth import ServiceAccountTokens
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import responses
from inkube.apiserver.registry import Registry, Request, SystemFields, keys, ownership
from inkube.apiserver.subresources import posted
from inkube.schemas import caches, fielderrors, meta, status
from inkube.schemas.builtin import decoding
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import quote
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object
from inkube.schemas.ownership import TypedSchema, managedfields

KIND = GVK("authentication.k8s.io", "v1", "TokenRequest")
_MIN, _MAX = 600, 1 << 32
_EXTENDED = 3607
"""The seconds for which a pod requests a token that is to be extended
(WarnOnlyBoundTokenExpirationSeconds)."""
_LONG = 365 * 24 * 3600
"""The seconds for which it is valid then (ExpirationExtensionSeconds)."""
_BOUND = {("v1", "Node"): "nodes", ("v1", "Pod"): "pods", ("v1", "Secret"): "secrets"}


class TokenRequestHandler:
    """Serves creates of tokens."""

    def __init__(
        self,
        registry: Registry,
        tokens: ServiceAccountTokens,
        system_fields: SystemFields,
        *,
        names_uid: bool = True,
        max_seconds: float = 0,
        extends: bool = True,
    ) -> None:
        """`names_uid` is whether tokens are for the uid of an account, which their metadata has.
        `max_seconds` limits the validity that they are requested for; 0 is no limit. `extends` is
        whether tokens of pods are valid for a year, for clients that read them only once."""
        self._max_seconds = int(max_seconds)
        self._extends = extends
        self._registry = registry
        self._names_uid = names_uid
        self._tokens = tokens
        self._system_fields = system_fields

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError."""
        posted.check_verb(exchange.request)
        request, token_request = await posted.read(exchange, KIND)
        answer = await self._issue(request, token_request)
        form = exchange.form.without_transform()
        return responses.render(answer, form, code=201, warnings=request.warnings)

    async def _issue(self, request: Request, token_request: Object) -> Object:
        token_request = {"kind": KIND.kind, "apiVersion": KIND.api_version, **token_request}
        write = self._registry.begin(request, token_request)
        managedfields.track_first(token_request, _typed(), ownership.writer(write, kind=KIND))
        await self._registry.chain.mutate(write)
        spec, names = token_request["spec"], token_request["metadata"]
        _check_name(request, names)
        account = self._registry.get(request).value
        if self._names_uid:
            _check_uid(account, names)
        spec["audiences"] = spec.get("audiences") or list(self._tokens.audiences)
        seconds = spec["expirationSeconds"]
        created = self._system_fields.now()
        names |= {
            "name": request.name,
            "namespace": request.namespace,
            **({"uid": account["metadata"]["uid"]} if self._names_uid else {}),
            "creationTimestamp": meta.format_time(created),
        }
        token_request["status"] = {"token": "", "expirationTimestamp": None}
        errors = _expiration(seconds)
        if errors:
            raise status.invalid(KIND.group, KIND.kind, "", errors)
        await self._registry.chain.validate(write)
        if self._max_seconds and seconds > self._max_seconds:
            request.warn(
                f"requested expiration of {seconds} seconds shortened to {self._max_seconds} "
                "seconds"
            )
            spec["expirationSeconds"] = seconds = self._max_seconds
        claims = self._claims(account, spec, self._bound(request, spec.get("boundObjectRef")))
        credential = "authentication.kubernetes.io/issued-credential-id"
        request.notes.annotate(credential, f"JTI={claims['jti']}")
        spec.setdefault("boundObjectRef", None)
        expires = meta.format_time(created + timedelta(seconds=seconds))
        issued = {"token": self._tokens.issue(claims), "expirationTimestamp": expires}
        return {**token_request, "status": issued}

    def _claims(self, account: Object, spec: Object, bound: Object) -> Object:
        now = int(self._system_fields.now().timestamp())
        own, namespace = account["metadata"], account["metadata"]["namespace"]
        seconds, warning = spec["expirationSeconds"], {}
        is_own = set(self._tokens.audiences).issuperset(spec["audiences"])
        if self._extends and "pod" in bound and is_own and seconds == _EXTENDED:
            seconds, warning = _LONG, {"warnafter": now + seconds}
        return {
            "aud": spec["audiences"],
            "exp": now + seconds,
            "iat": now,
            "iss": self._tokens.issuer,
            "jti": self._system_fields.uid(),
            "kubernetes.io": {
                "namespace": namespace,
                **bound,
                "serviceaccount": {"name": own["name"], "uid": own["uid"]},
                **warning,
            },
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{own['name']}",
        }

    def _bound(self, request: Request, reference: Object | None) -> Object:
        """Return the claim for the object that the token is bound to, and that for the node of a
        pod. The token is invalid after the deletion of the object."""
        if reference is None:
            return {}
        kind, name = reference.get("kind", ""), reference.get("name", "")
        plural = _BOUND.get((reference.get("apiVersion", ""), kind))
        if plural is None:
            group, _, version = reference.get("apiVersion", "").rpartition("/")
            text = f"{group}/{version}, Kind={kind}"
            raise status.bad_request(f"cannot bind token to object of type {text}")
        namespace = "" if kind == "Node" else request.namespace
        entry = self._registry.store.get(keys.key(plural, namespace, name))
        if entry is None:
            raise status.not_found("", plural, name)
        spec = entry.value.get("spec", {}) if kind == "Pod" else {}
        if kind == "Pod" and spec.get("serviceAccountName", "") != request.name:
            raise status.bad_request(
                f"cannot bind token for serviceaccount {quote(request.name)} to pod running with "
                "different serviceaccount name."
            )
        uid, wanted = entry.value["metadata"]["uid"], reference.get("uid")
        if wanted and wanted != uid:
            why = (
                f"the UID in the bound object reference ({wanted}) does not match the UID in "
                "record. The object might have been deleted and then recreated"
            )
            raise status.conflict("", kind, name, why)
        claims = {kind.lower(): {"name": name, "uid": uid}}
        if spec.get("nodeName"):
            claims["node"] = self._node(spec["nodeName"])
        return claims

    def _node(self, name: str) -> Object:
        """Return the claim for the node of a pod, without a uid if the node does not exist."""
        entry = self._registry.store.get(keys.key("nodes", "", name))
        return {"name": name} | ({} if entry is None else {"uid": entry.value["metadata"]["uid"]})


@caches.of_values(1)
def _typed() -> TypedSchema:
    """Return the schema for the ownership of a TokenRequest's fields."""
    return TypedSchema(table.schema(KIND), custom=False, empty=decoding.empty(KIND))


def _check_name(request: Request, names: Object) -> None:
    given = names.get("name")
    if given and given != request.name:
        why = "must match the service account name if specified"
        error = fielderrors.invalid("metadata.name", given, why)
        raise status.invalid(KIND.group, KIND.kind, request.name, [error])


def _check_uid(account: Object, names: Object) -> None:
    """Refuse a request for an account that was created again (the feature gate
    TokenRequestServiceAccountUIDValidation). Raises StatusError 409."""
    given, own = names.get("uid"), account["metadata"]
    if given and given != own["uid"]:
        why = (
            f"the UID in the token request ({given}) does not match the UID of the service account "
            f"({own['uid']})"
        )
        raise status.conflict(KIND.group, KIND.kind, own["name"], why)


def _expiration(seconds: int) -> list[FieldError]:
    place = "spec.expirationSeconds"
    if seconds < _MIN:
        why = "may not specify a duration less than 10 minutes"
        return [fielderrors.invalid(place, seconds, why)]
    if seconds > _MAX:
        why = "may not specify a duration larger than 2^32 seconds"
        return [fielderrors.invalid(place, seconds, why)]
    return []
