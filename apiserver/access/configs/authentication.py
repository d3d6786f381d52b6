"""The AuthenticationConfiguration of a server: anonymous requests and JWT issuers.

Follows apiserver/pkg/apis/apiserver, AuthenticationConfiguration, and its validation.
"""

import base64
import ssl
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from inkube.apiserver import auth, http
from inkube.apiserver.access.configs import objects
from inkube.apiserver.samples import Samples
from inkube.schemas import fielderrors
from inkube.schemas.clock import Clock
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_WHAT = "authentication configuration"
_MAPPING = {"claim": None, "prefix": None, "expression": None}
_SHAPE: objects.Shape = {
    "anonymous": {"enabled": None, "conditions": [{"path": None}]},
    "jwt": [
        {
            "issuer": {
                "url": None,
                "discoveryURL": None,
                "certificateAuthority": None,
                "audiences": [None],
                "audienceMatchPolicy": None,
                "egressSelectorType": None,
            },
            "claimValidationRules": [
                {"claim": None, "requiredValue": None, "expression": None, "message": None}
            ],
            "claimMappings": {
                "username": _MAPPING,
                "groups": _MAPPING,
                "uid": {"claim": None, "expression": None},
                "extra": [{"key": None, "valueExpression": None}],
            },
            "userValidationRules": [{"expression": None, "message": None}],
        }
    ],
}
_MAX_ISSUERS = 64


class Anonymous(NamedTuple):
    """Whether requests without credentials are anonymous, and on which paths; None for all."""

    enabled: bool = True
    paths: Collection[str] | None = None


class Settings(NamedTuple):
    """What a configuration asks for; `issuers` are the members of `jwt`."""

    anonymous: Anonymous
    issuers: Sequence[Object] = ()


def read(
    source: "Path | str | Mapping[str, Any]", *, anonymous: Anonymous | None = None
) -> Settings:
    """Read a file, or an object. With `anonymous`, it must say the same about anonymous requests.
    Raises ValueError for another kind and for unknown members."""
    members = objects.read(source, "AuthenticationConfiguration", _SHAPE, _WHAT)
    settings = Settings(_anonymous(members), members.get("jwt") or ())
    if anonymous is not None and settings.anonymous != anonymous:
        why = "changed from initial configuration file"
        raise _invalid([fielderrors.forbidden("anonymous", why)])
    return settings


def _anonymous(members: Object) -> Anonymous:
    anonymous = members.get("anonymous")
    if anonymous is None:
        return Anonymous()
    conditions = anonymous.get("conditions")
    is_enabled = bool(anonymous.get("enabled"))
    if conditions and not is_enabled:
        why = "enabled should be set to true when conditions are defined"
        raise _invalid([fielderrors.invalid("anonymous.conditions", conditions, why)])
    paths = None if conditions is None else frozenset(each.get("path", "") for each in conditions)
    return Anonymous(is_enabled, paths or None)


def issuers(
    members: Sequence[Object],
    client: "auth.Outgoing",
    clock: Clock,
    samples: Samples,
    *,
    own: Collection[str],
    algorithms: Sequence[str],
) -> "list[auth.Issuer]":
    """Return the JWT issuers. `own` are the issuers of tokens of service accounts. Raises
    ValueError for invalid settings."""
    mappers = [auth.Mapper(each, f"jwt[{index}]") for index, each in enumerate(members)]
    errors = list(_problems(members, own))
    errors += [error for mapper in mappers for error in mapper.errors]
    if errors:
        raise _invalid(errors)
    wrong = next((each for each in algorithms if each not in auth.jwtissuers.ALGORITHMS), None)
    if wrong is not None:
        raise ValueError(f'oidc: unsupported signing alg: "{wrong}"')
    return [
        auth.Issuer(
            auth.jwtissuers.Verifier(
                (issuer := each["issuer"])["url"],
                issuer["audiences"],
                auth.jwtissuers.Connection(
                    auth.jwtissuers.discovery_url(issuer["url"], issuer.get("discoveryURL") or ""),
                    http.dialing.context(_bundle(issuer)),
                    client,
                ),
                clock,
                algorithms or auth.jwtissuers.ALGORITHMS,
            ),
            mapper,
            samples,
        )
        for each, mapper in zip(members, mappers, strict=True)
    ]


def _invalid(errors: Sequence[FieldError]) -> ValueError:
    return ValueError(f"invalid {_WHAT}: {fielderrors.joined(errors)}")


def _bundle(issuer: Object) -> str:
    return base64.b64encode((issuer.get("certificateAuthority") or "").encode()).decode()


def _problems(members: Sequence[Object], own: Collection[str]) -> Iterator[FieldError]:
    """Yield the errors of issuers, apart from those of claims (ValidateAuthenticationConfiguration,
    validateIssuer)."""
    if len(members) > _MAX_ISSUERS:
        yield fielderrors.too_many("jwt", len(members), _MAX_ISSUERS)
    seen: set[str] = set()
    for index, member in enumerate(members):
        place, issuer = f"jwt[{index}].issuer", member.get("issuer") or {}
        url, discovery = issuer.get("url") or "", issuer.get("discoveryURL") or ""
        if not url:
            yield fielderrors.required(f"{place}.url")
        else:
            yield from _url_problems(f"{place}.url", url, own)
        if discovery:
            if url.rstrip("/") == discovery.rstrip("/"):
                why = "discoveryURL must be different from URL"
                yield fielderrors.invalid(f"{place}.discoveryURL", discovery, why)
            yield from _url_problems(f"{place}.discoveryURL", discovery, ())
        yield from _audience_problems(place, issuer)
        yield from _authority_problems(place, issuer)
        if issuer.get("egressSelectorType"):
            # the feature gate is on, but there is no egress selector here
            selector = issuer["egressSelectorType"]
            why = "egress selectors are not supported here"
            yield fielderrors.invalid(f"{place}.egressSelectorType", selector, why)
        for member_name, value in (("url", url), ("discoveryURL", discovery)):
            if value and f"{member_name} {value}" in seen:
                yield fielderrors.duplicate(f"{place}.{member_name}", value)
            seen.add(f"{member_name} {value}")


def _url_problems(path: str, url: str, own: Collection[str]) -> Iterator[FieldError]:
    if url in own:
        listed = " ".join(sorted(own))
        why = f"URL must not overlap with disallowed issuers: [{listed}]"
        yield fielderrors.invalid(path, url, why)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield fielderrors.invalid(path, url, str(error))
        return
    if parts.scheme != "https":
        yield fielderrors.invalid(path, url, "URL scheme must be https")
    if parts.username is not None or parts.password is not None:
        yield fielderrors.invalid(path, url, "URL must not contain a username or password")
    if parts.query:
        yield fielderrors.invalid(path, url, "URL must not contain a query")
    if parts.fragment:
        yield fielderrors.invalid(path, url, "URL must not contain a fragment")


def _audience_problems(place: str, issuer: Object) -> Iterator[FieldError]:
    audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy") or ""
    path, where = f"{place}.audiences", f"{place}.audienceMatchPolicy"
    if not audiences:
        yield fielderrors.required(path, f"at least one {path} is required")
        return
    for index, audience in enumerate(audiences):
        if not audience:
            yield fielderrors.required(f"{path}[{index}]")
        if audience in audiences[:index]:
            yield fielderrors.duplicate(f"{path}[{index}]", audience)
    if policy == "MatchAny":
        return
    if len(audiences) > 1:
        why = "audienceMatchPolicy must be MatchAny for multiple audiences"
        yield fielderrors.invalid(where, policy, why)
    elif policy:
        why = "audienceMatchPolicy must be empty or MatchAny for single audience"
        yield fielderrors.invalid(where, policy, why)


def _authority_problems(place: str, issuer: Object) -> Iterator[FieldError]:
    if issuer.get("certificateAuthority"):
        try:
            http.dialing.client_context(_bundle(issuer))
        except (ssl.SSLError, ValueError):
            why = "data does not contain any valid RSA or ECDSA certificates"
            yield fielderrors.invalid(f"{place}.certificateAuthority", "<omitted>", why)
