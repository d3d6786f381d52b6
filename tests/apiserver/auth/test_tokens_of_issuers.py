"""Tokens of JWT issuers: discovery and keys, mappings and rules, and invalid configurations."""

import base64
import contextlib
import hashlib
import json
import re
import socket
import time

import aiohttp
import jwt
import pytest
from openid import BY_CLAIM, configuration
from steppedclocks import SteppedClock

from inkube import APIServer
from inkube.apiserver.access.configs import authentication as authenticationconfig
from inkube.apiserver.auth import Outgoing
from inkube.apiserver.samples import Samples
from inkube.controllers.clock import SystemClock
from inkube.controllers.core import identity

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
TOKEN_REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
MAPPED = {
    "username": {"expression": "claims.email_verified ? claims.email : claims.sub"},
    "groups": {"expression": "claims.roles.map(r, 'team-' + r)"},
    "uid": {"claim": "sub"},
    "extra": [
        {"key": "example.com/tenant", "valueExpression": "claims.corp__dot__com.tenant"},
        {"key": "example.com/none", "valueExpression": "''"},
    ],
}


@contextlib.asynccontextmanager
async def served(config, **options):
    """A server with this configuration, and a function that sends a token and returns the code and
    the user, or the error of a review of the token."""
    async with (
        APIServer(authentication_config=config, authorization_mode="RBAC", **options) as server,
        aiohttp.ClientSession() as session,
    ):

        async def ask(token):
            sent = {"Authorization": f"Bearer {token}"}
            async with session.post(server.url + WHO, json=REVIEW, headers=sent) as answer:
                body = await answer.json()
            return answer.status, (body.get("status") or {})["userInfo"] if answer.ok else {}

        async def refusal(token):
            sent = {"Authorization": f"Bearer {server.security.token}"}
            review = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token},
            }
            url = server.url + TOKEN_REVIEW
            async with session.post(url, json=review, headers=sent) as answer:
                return (await answer.json())["status"]["error"]

        yield ask, refusal


async def test_claims_are_mapped_and_rules_are_checked(issuer) -> None:
    rules = {
        "claimMappings": MAPPED,
        "claimValidationRules": [
            {"claim": "hd", "requiredValue": "example.com"},
            {"expression": "claims.exp - claims.iat <= 3600", "message": "too long"},
        ],
        "userValidationRules": [
            {"expression": "!user.username.startsWith('system:')", "message": "reserved"}
        ],
    }
    claims = {
        "email": "ada@example.com",
        "email_verified": True,
        "roles": ["a", "b"],
        "corp.com": {"tenant": "blue"},
        "hd": "example.com",
        "iat": int(time.time()),
        "exp": int(time.time()) + 600,
        "jti": "12",
    }
    async with served(configuration(issuer, **rules)) as (ask, refusal):
        code, user = await ask(issuer.token(**claims))
        assert (code, user) == (
            201,
            {
                "username": "ada@example.com",
                "uid": "7",
                "groups": ["team-a", "team-b", "system:authenticated"],
                "extra": {
                    "authentication.kubernetes.io/credential-id": ["JTI=12"],
                    "example.com/tenant": ["blue"],
                },
            },
        )
        for change, why in (
            ({"hd": "evil.com"}, "required claim hd value does not match. Got = evil.com"),
            ({"iat": 0}, "failed: too long"),
            ({"email": "system:admin"}, "failed: reserved"),
            ({"roles": [1]}, "error evaluating group claim expression"),
        ):
            token = issuer.token(**{**claims, **change})
            assert (await ask(token))[0] == 401
            assert why in await refusal(token)


async def test_keys_are_fetched_once_and_again_for_an_unknown_key(issuer) -> None:
    async with served(configuration(issuer)) as (ask, _refusal):
        for _ in range(2):
            code, user = await ask(issuer.token())
            assert (code, user["username"]) == (201, "corp:7")
        assert issuer.fetched == 1
        old = issuer.token()
        issuer.rotate("second")
        assert (await ask(issuer.token()))[0] == 201
        assert issuer.fetched == 2
        assert (await ask(old))[0] == 401


@pytest.mark.parametrize("step", [-7200, 300])
async def test_an_issuer_is_asked_again_after_seconds_when_the_clock_is_set(issuer, step) -> None:
    clock, token = SteppedClock(ticking=True), issuer.token()
    issuer.is_broken = True
    async with served(configuration(issuer), clock=clock) as (ask, _refusal):
        assert (await ask(token))[0] == 401
        issuer.is_broken = False
        clock.step(step)
        assert (await ask(token))[0] == 401
        clock.advance(11)
        assert (await ask(token))[0] == 201


async def test_tokens_for_others_are_refused(issuer) -> None:
    async with served(configuration(issuer)) as (ask, refusal):
        head, _, signature = issuer.token().split(".")
        forged = {"iss": issuer.url, "aud": "kubernetes", "sub": "root", "exp": 2**33}
        claims = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
        for token, why in (
            (issuer.token(aud="someone"), 'expected audience in ["kubernetes" "other"] got'),
            (issuer.token(exp=1), "oidc: token is expired (Token Expiry: 1970-01-01T00:00:01Z)"),
            (issuer.token(nbf=time.time() + 900), "before the nbf (not before) time"),
            (f"{head}.{claims}.{signature}", "failed to verify signature"),
            (jwt.encode(forged, "k" * 32, "HS256"), 'unexpected signature algorithm "HS256"'),
        ):  # fmt: skip
            assert (await ask(token))[0] == 401
            assert why in await refusal(token)
        assert (await ask(issuer.token(iss="https://other")))[0] == 401


async def test_verifications_are_measured_by_issuer_and_result(issuer) -> None:
    config = configuration(issuer)
    async with (
        APIServer(authentication_config=config, authorization_mode="RBAC") as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        for token in (issuer.token(), issuer.token(exp=1)):
            await session.post(WHO, json=REVIEW, headers={"Authorization": f"Bearer {token}"})
        head = {"Authorization": f"Bearer {server.security.token}"}
        async with session.get("/metrics", headers=head) as answer:
            lines = (await answer.text()).splitlines()
    name = "apiserver_authentication_jwt_authenticator_latency_seconds_count"
    hashed = f"sha256:{hashlib.sha256(issuer.url.encode()).hexdigest()}"
    for result in ("success", "failure"):
        assert f'{name}{{jwt_issuer_hash="{hashed}",result="{result}"}} 1' in lines


async def test_metrics_show_the_last_set_of_keys_and_when_fetching_it_succeeded_and_failed(
    issuer,
) -> None:
    config = configuration(issuer)
    async with (
        APIServer(authentication_config=config, authorization_mode="RBAC") as server,
        aiohttp.ClientSession(server.url) as session,
    ):

        async def measured(token):
            await session.post(WHO, json=REVIEW, headers={"Authorization": f"Bearer {token}"})
            head = {"Authorization": f"Bearer {server.security.token}"}
            async with session.get("/metrics", headers=head) as answer:
                text = await answer.text()
            [known] = re.findall(rf"^{name}_key_set_info{{(.*)}} 1$", text, re.MULTILINE)
            fetches = re.findall(rf"^{name}_timestamp_seconds{{(.*)}} \S+$", text, re.MULTILINE)
            return known, sorted(fetches)

        name = "apiserver_authentication_jwt_authenticator_jwks_fetch_last"
        server_name = identity.name_of(socket.gethostname())
        own, url = (
            f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
            for text in (server_name, issuer.url)
        )
        labels = f'apiserver_id_hash="{own}",jwt_issuer_hash="{url}"'
        known, fetches = await measured(issuer.token())
        hashed = hashlib.sha256(issuer.key_set).hexdigest()
        first = f'apiserver_id_hash="{own}",hash="sha256:{hashed}",jwt_issuer_hash="{url}"'
        assert known == first
        assert fetches == [f'{labels},result="success"']
        issuer.rotate("second")
        issuer.is_broken = True
        known, fetches = await measured(issuer.token())
        assert known == first
        assert fetches == [f'{labels},result="{result}"' for result in ("failure", "success")]


async def test_a_claim_is_fetched_from_the_server_that_has_it(issuer) -> None:
    groups = {"claimMappings": {**BY_CLAIM, "groups": {"claim": "teams", "prefix": "t:"}}}

    def referring(path, name="teams", **source):
        sources = {"s": {"endpoint": issuer.url + path, **source}}
        return issuer.token(_claim_names={name: "s"}, _claim_sources=sources)

    async with served(configuration(issuer, **groups)) as (ask, refusal):
        issuer.answers["/claims"] = ("secret", issuer.token(teams=["a", "b"]))
        code, user = await ask(referring("/claims", access_token="secret"))
        assert (code, user["groups"]) == (201, ["t:a", "t:b", "system:authenticated"])
        code, user = await ask(referring("/claims", name="other"))
        assert (code, user["groups"]) == (201, ["system:authenticated"])
        issuer.answers["/none"] = ("", issuer.token())
        issuer.answers["/late"] = ("", issuer.token(teams=["a"], exp=1))
        issuer.answers["/odd"] = ("", "nothing")
        for path, why in (
            ("/claims", 'while getting distributed claim "teams": Get'),
            ("/none", "did not contain claim: teams"),
            ("/late", "verify distributed claim token: oidc: token is expired"),
            ("/odd", "getting untrusted issuer from endpoint"),
        ):
            token = referring(path)
            assert (await ask(token))[0] == 401
            message = await refusal(token)
            assert "oidc: could not expand distributed claims: " in message
            assert why in message
        unnamed = issuer.token(_claim_names={"teams": "s"}, _claim_sources={})
        assert "contained a source s missing in _claims_sources" in await refusal(unnamed)


async def test_an_issuer_that_does_not_answer_refuses_its_tokens_only(issuer, token_file) -> None:
    config = configuration(issuer)
    config["jwt"][0]["issuer"]["discoveryURL"] = "https://127.0.0.1:1/discovery"
    async with served(config) as (ask, refusal):
        token = issuer.token()
        assert (await ask(token))[0] == 401
        assert "oidc: authenticator not initialized" in await refusal(token)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"issuer": {"url": "http://a"}}, 'issuer.url: Invalid value: "http://a": URL scheme must'),
        ({"issuer": {"url": "https://a?b"}}, "URL must not contain a query"),
        ({"issuer": {"url": "https://kubernetes.default.svc"}}, "overlap with disallowed issuers"),
        ({"issuer": {"audiences": []}}, "issuer.audiences: Required value: at least one"),
        ({"issuer": {"audiences": ["a", "b"]}}, "audienceMatchPolicy must be MatchAny"),
        ({"issuer": {"discoveryURL": "https://a/"}}, "discoveryURL must be different from URL"),
        ({"issuer": {"certificateAuthority": "x"}}, 'certificateAuthority: Invalid value: "<om'),
        ({"claimMappings": {}}, "claimMappings.username: Required value: claim or expression"),
        ({"claimMappings": {"username": {"claim": "sub"}}}, "prefix is required when claim is set"),
        ({"claimMappings": {"username": {"expression": "claims."}}}, "compilation failed: "),
        ({"claimMappings": {"username": {"expression": "1"}}}, "must evaluate to one of [string"),
        ({"claimMappings": {"username": {"expression": "claims.email"}}}, "email_verified must be"),
        ({"userValidationRules": [{"expression": "user.nme == ''"}]}, "undefined field 'nme'"),
        ({"claimValidationRules": [{"claim": "a", "message": "m"}]}, "may not be specified when"),
        (
            {
                "claimMappings": {
                    **BY_CLAIM,
                    "extra": [{"key": "k8s.io/A", "valueExpression": "''"}],
                }
            },
            "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use",
        ),
        ({"claimRules": []}, 'strict decoding error: unknown field "jwt[0].claimRules"'),
    ],
)
async def test_an_invalid_configuration_ends_the_start(change, why) -> None:
    issuer = {"url": "https://a", "audiences": ["b"]}
    member = {"issuer": {**issuer, **change.pop("issuer", {})}, "claimMappings": BY_CLAIM, **change}
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [member],
    }

    def started():
        members = authenticationconfig.read(config).issuers
        own = ("https://kubernetes.default.svc",)
        return authenticationconfig.issuers(
            members, Outgoing(), SystemClock(), Samples(), own=own, algorithms=()
        )

    with pytest.raises(ValueError, match="invalid authentication configuration: ") as error:
        started()
    assert why in str(error.value)
