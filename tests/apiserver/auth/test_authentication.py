"""Authentication: tokens, anonymous requests, and impersonation."""

import base64
import json
from datetime import timedelta
from unittest import mock

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from inkube.apiserver.auth import tokenfiles
from inkube.apiserver.auth.authenticators import Authenticator
from inkube.apiserver.server import APIServer
from inkube.controllers.clock import FakeClock
from inkube.schemas.meta import format_time

REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
NODES = "/api/v1/nodes"
NODE = {"apiVersion": "v1", "kind": "Node"}
AUTHENTICATION = "authentication.kubernetes.io"
BOT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}


async def who(ask, **arguments):
    code, body = await ask("POST", WHO, REVIEW, **arguments)
    assert code == 201, body
    return body["status"]["userInfo"]


async def test_a_token_of_the_file_is_its_user(ask) -> None:
    assert await who(ask, token="user-token") == {
        "username": "plain-user",
        "uid": "plain-uid",
        "groups": ["plain-group", "system:authenticated"],
    }


@pytest.mark.parametrize("token", ["wrong", "a.b.c", "x" * 20_000 + ".y.z"])
async def test_an_unknown_token_is_not_authenticated(ask, token: str) -> None:
    assert (await ask("GET", "/readyz", token=token))[0] == 401


async def test_anonymous_users_see_the_health_but_no_resource(ask) -> None:
    assert (await ask("GET", "/readyz", token=None))[0] == 200
    code, body = await ask("GET", "/api/v1/secrets", token=None)
    assert (code, body["reason"]) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "secrets"' in body["message"]


async def test_the_kubeconfigs_token_is_the_administrators(ask) -> None:
    assert (await who(ask, token=ask.server.security.token))["username"] == "system:admin"


async def issued(ask, **spec) -> str:
    await ask("POST", ACCOUNTS, BOT)
    code, body = await ask("POST", f"{ACCOUNTS}/bot/token", {**TOKEN, "spec": spec})
    assert code == 201, body
    return body["status"]["token"]


async def test_a_service_account_comes_with_its_own_token(ask) -> None:
    user = await who(ask, token=await issued(ask))
    assert user["username"] == "system:serviceaccount:default:bot"
    assert "system:serviceaccounts:default" in user["groups"]


async def test_a_token_ends_with_its_time(ask, clock) -> None:
    token = await issued(ask, expirationSeconds=600)
    assert (await ask("GET", "/readyz", token=token))[0] == 200
    clock.advance(662)
    assert (await ask("GET", "/readyz", token=token))[0] == 401


async def test_a_token_ends_with_its_account(ask) -> None:
    token = await issued(ask)
    await ask("DELETE", f"{ACCOUNTS}/bot")
    await ask("POST", ACCOUNTS, BOT)  # with the same name, but another UID
    assert (await ask("GET", "/readyz", token=token))[0] == 401


@pytest.fixture
async def node(ask):
    """The uid of the node "one"."""
    code, made = await ask("POST", NODES, {**NODE, "metadata": {"name": "one"}})
    assert code == 201, made
    return made["metadata"]["uid"]


async def test_a_token_that_is_bound_to_a_node_names_it_and_ends_with_it(ask, node) -> None:
    token = await issued(ask, boundObjectRef={"apiVersion": "v1", "kind": "Node", "name": "one"})
    extra = (await who(ask, token=token))["extra"]
    assert extra[f"{AUTHENTICATION}/node-name"] == ["one"]
    assert extra[f"{AUTHENTICATION}/node-uid"] == [node]
    await ask("DELETE", f"{NODES}/one")
    await ask("POST", NODES, {**NODE, "metadata": {"name": "one"}})
    assert (await ask("GET", "/readyz", token=token))[0] == 401


@pytest.mark.parametrize("exists", [True, False])
async def test_a_token_of_a_pod_names_its_node_and_outlives_it(ask, node, exists) -> None:
    name = "one" if exists else "other"
    spec = {
        "serviceAccountName": "bot",
        "nodeName": name,
        "containers": [{"name": "c", "image": "i"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    code, made = await ask("POST", "/api/v1/namespaces/default/pods", pod)
    assert code == 201, made
    token = await issued(ask, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "a"})
    extra = (await who(ask, token=token))["extra"]
    assert extra.pop(f"{AUTHENTICATION}/credential-id")
    assert extra == {
        f"{AUTHENTICATION}/pod-name": ["a"],
        f"{AUTHENTICATION}/pod-uid": [made["metadata"]["uid"]],
        f"{AUTHENTICATION}/node-name": [name],
        **({f"{AUTHENTICATION}/node-uid": [node]} if exists else {}),
    }
    await ask("DELETE", f"{NODES}/one")
    assert (await ask("GET", "/readyz", token=token))[0] == 200


POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
    "spec": {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]},
}  # fmt: skip
OF_POD = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "a"}}


@pytest.mark.parametrize(
    ("extends", "spec", "is_extended"),
    [
        (True, {"expirationSeconds": 3607, **OF_POD}, True),
        (False, {"expirationSeconds": 3607, **OF_POD}, False),
        (True, {"expirationSeconds": 3606, **OF_POD}, False),
        (True, {"expirationSeconds": 3607}, False),
        (True, {"expirationSeconds": 3607, "audiences": ["elsewhere"], **OF_POD}, False),
    ],
)
async def test_a_token_of_a_pod_is_valid_longer_than_it_is_requested(
    tmp_path, web_of, extends, spec, is_extended
) -> None:
    clock, log = FakeClock(), tmp_path / "audit.log"
    (tmp_path / "tokens").write_text('root,root,1,"system:masters"\n')
    async with (
        APIServer(
            clock=clock,
            audit_log=log,
            token_auth_file=tmp_path / "tokens",
            service_account_extend_token_expiration=extends,
        ) as server,
        web_of(server) as web,
    ):
        root = {"Authorization": "Bearer root"}
        pods = "/api/v1/namespaces/default/pods"
        for path, body in ((ACCOUNTS, BOT), (pods, POD)):
            assert (await web.ask("POST", path, body, **root)).code == 201
        answer = await web.ask("POST", f"{ACCOUNTS}/bot/token", {**TOKEN, "spec": spec}, **root)
        told = answer.json["status"]
        payload = told["token"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        seconds = spec["expirationSeconds"]
        assert told["expirationTimestamp"] == format_time(clock.now() + timedelta(seconds=seconds))
        assert claims["exp"] - claims["iat"] == (365 * 24 * 3600 if is_extended else seconds)
        warning = claims["iat"] + seconds if is_extended else None
        assert claims["kubernetes.io"].get("warnafter") == warning
        if not is_extended:
            return
        owner = {"Authorization": f"Bearer {told['token']}"}
        for later, expected in ((3607, None), (10, 10)):
            clock.advance(later)
            await web.ask("GET", "/version", **owner)
            noted = json.loads(log.read_text().splitlines()[-1])["annotations"]
            why = f"subject: {claims['sub']}, seconds after warning threshold: {expected}"
            found = noted.get("authentication.k8s.io/stale-token")
            assert found == (why if expected else None)
        clock.advance(365 * 24 * 3600)
        assert (await web.ask("GET", "/version", **owner)).code == 401


async def test_a_token_is_bound_to_the_node_with_the_uid_of_the_request(ask, node) -> None:
    await ask("POST", ACCOUNTS, BOT)
    reference = {"apiVersion": "v1", "kind": "Node", "name": "one", "uid": "another"}
    code, body = await ask(
        "POST", f"{ACCOUNTS}/bot/token", {**TOKEN, "spec": {"boundObjectRef": reference}}
    )
    assert (code, body["reason"]) == (409, "Conflict")
    reference = {"apiVersion": "v1", "kind": "Node", "name": "missing"}
    code, body = await ask(
        "POST", f"{ACCOUNTS}/bot/token", {**TOKEN, "spec": {"boundObjectRef": reference}}
    )
    assert (code, body["message"]) == (404, 'nodes "missing" not found')


async def test_a_token_is_for_the_account_with_the_uid_of_the_request(ask) -> None:
    _, account = await ask("POST", ACCOUNTS, BOT)
    own = account["metadata"]["uid"]
    code, body = await ask("POST", f"{ACCOUNTS}/bot/token", {**TOKEN, "metadata": {"uid": own}})
    assert (code, body["metadata"]["uid"]) == (201, own)
    code, body = await ask("POST", f"{ACCOUNTS}/bot/token", {**TOKEN, "metadata": {"uid": "old"}})
    assert (code, body["reason"]) == (409, "Conflict")
    assert body["message"] == (
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the '
        f"token request (old) does not match the UID of the service account ({own})"
    )


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"metadata": {"namespace": "x"}}, 400, "does not match the namespace sent on the request"),
        (
            {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}}},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ],
)
async def test_a_token_is_requested_for_the_account_in_the_path(ask, change, code, text) -> None:
    await ask("POST", ACCOUNTS, BOT)
    answer = await ask("POST", f"{ACCOUNTS}/bot/token", {**TOKEN, **change})
    assert answer[0] == code
    assert text in answer[1]["message"]


async def test_a_token_review_reads_a_token_as_a_header(ask) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    found = {}
    for token in (" ", "user-token ", " user-token", "wrong"):
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        _, body = await ask("POST", path, {**review, "spec": {"token": token}})
        found[token] = body["status"]["user"].get("username")
    nobody = "system:anonymous"
    assert found == {" ": nobody, "user-token ": "plain-user", " user-token": nobody, "wrong": None}


async def test_a_changed_token_is_not_authenticated(ask) -> None:
    head, claims, signature = (await issued(ask)).split(".")
    other = ("A" if signature[0] != "A" else "B") + signature[1:]
    assert (await ask("GET", "/readyz", token=f"{head}.{claims}.{other}"))[0] == 401
    assert (await ask("GET", "/readyz", token=f"{head}.{claims}."))[0] == 401


async def test_others_may_verify_a_token_by_the_published_key(ask) -> None:
    token = await issued(ask)
    code, found = await ask("GET", "/.well-known/openid-configuration", token=token)
    assert code == 200
    assert found["jwks_uri"] == ask.server.url + "/openid/v1/jwks"
    code, text = await ask("GET", "/openid/v1/jwks", token=token)
    assert code == 200
    (key,) = json.loads(text)["keys"]
    signed, _, signature = token.rpartition(".")
    x, y, raw = (base64.urlsafe_b64decode(part + "==") for part in (key["x"], key["y"], signature))
    point = ec.EllipticCurvePublicNumbers(int.from_bytes(x), int.from_bytes(y), ec.SECP256R1())
    halves = utils.encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    point.public_key().verify(halves, signed.encode(), ec.ECDSA(hashes.SHA256()))
    assert (await ask("GET", "/openid/v1/jwks", token="user-token"))[0] == 403


async def test_impersonation_needs_rights(ask) -> None:
    headers = {"Impersonate-User": "jane"}
    assert (await who(ask, headers=headers))["username"] == "jane"
    code, body = await ask("POST", WHO, REVIEW, token="user-token", headers=headers)
    assert code == 403
    assert "cannot impersonate-on:user-info:create" in body["message"]


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("system:serviceaccount:default:bot", "serviceaccount"),
        ("system:node:one", "arbitrary-node"),
        ("tom", "user-info"),
    ],
)
async def test_each_sort_of_impersonated_user_has_its_own_verb(ask, name: str, mode: str) -> None:
    headers = {"Impersonate-User": name}
    code, body = await ask("POST", WHO, REVIEW, token="user-token", headers=headers)
    assert code == 403
    assert f"cannot impersonate-on:{mode}:create resource" in body["message"]
    assert (await who(ask, headers=headers))["username"] == name


async def test_plain_impersonation_may_be_granted_by_name(ask) -> None:
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "mask"},
        "rules": [{**rule, "resourceNames": ["jane"]}],
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "mask"},
        "roleRef": {"kind": "ClusterRole", "name": "mask"},
        "subjects": [{"kind": "User", "name": "plain-user"}],
    }
    for plural, body in (("clusterroles", role), ("clusterrolebindings", binding)):
        assert (await ask("POST", f"/apis/{group}/v1/{plural}", body))[0] == 201
    jane, tom = {"Impersonate-User": "jane"}, {"Impersonate-User": "tom"}
    assert (await who(ask, token="user-token", headers=jane))["username"] == "jane"
    assert (await ask("POST", WHO, REVIEW, token="user-token", headers=tom))[0] == 403
    devs = {**jane, "Impersonate-Group": "devs"}
    assert (await ask("POST", WHO, REVIEW, token="user-token", headers=devs))[0] == 403


async def test_an_open_server_has_one_user(ask_open) -> None:
    assert (await who(ask_open, token=None))["username"] == "system:admin"
    assert (await who(ask_open, token="anybody"))["username"] == "system:admin"
    jane = await who(ask_open, token=None, headers={"Impersonate-User": "jane"})
    assert jane["username"] == "jane"


def test_a_token_file_needs_three_columns(tmp_path) -> None:
    path = tmp_path / "tokens"
    path.write_text("token,name\n")
    with pytest.raises(ValueError, match="at least 3 columns"):
        tokenfiles.read_tokens(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * 200_000 + b",me,1"], ids=["text", "field"])
def test_a_token_file_that_is_no_csv_is_named(tmp_path, content):
    path = tmp_path / "tokens.csv"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"token file '.*tokens\.csv' is not a CSV file in UTF-8: "
    ):
        tokenfiles.read_tokens(path)


@pytest.mark.parametrize("groups", ["", ',"devs"', ',"devs,system:authenticated"'])
def test_requests_with_a_token_of_a_file_have_one_user(tmp_path, groups):
    """With all of its groups: what is known of a user is found by this object."""
    path = tmp_path / "tokens.csv"
    path.write_text(f"secret,jane,1{groups}\n")
    accounts = mock.Mock(audiences=("https://api",))
    authenticator = Authenticator(accounts, tokens=tokenfiles.read_tokens(path))
    first, second = (authenticator.verify("secret").user for _ in range(2))
    assert first is second
    assert "system:authenticated" in first.groups


async def test_tokens_outlive_a_restart(tmp_path, token_file) -> None:
    options = {"data": tmp_path / "data.db", "token_auth_file": token_file}
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    meta = {"name": "bot", "namespace": "default"}
    async with APIServer(**options) as server:
        made = await server.client.create({**account, "metadata": meta})
        claims = {
            "iss": "https://kubernetes.default.svc",
            "aud": ["https://kubernetes.default.svc"],
            "exp": 1 << 40,
            "nbf": 0,
            "jti": "1",
            "kubernetes.io": {
                "namespace": "default",
                "serviceaccount": {"name": "bot", "uid": made["metadata"]["uid"]},
            },
        }
        token = server.security.authenticator.accounts.issue(claims)
    async with APIServer(**options) as server:
        found = server.security.authenticator.verify(token)
        assert found.user.name == "system:serviceaccount:default:bot"
    assert (tmp_path / "data.db.tokens.key").stat().st_mode & 0o077 == 0


async def test_the_rules_of_an_administrator_are_those_of_the_bindings(ask) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    code, body = await ask("POST", path, {**review, "spec": {"namespace": "default"}})
    assert code == 201, body
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert body["status"]["resourceRules"].count(everything) == 1
    every_path = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    assert body["status"]["nonResourceRules"].count(every_path) == 1


async def test_a_binding_counts_once_for_a_user_who_is_several_of_its_subjects(ask) -> None:
    """rbac/validation/rule.go: the first subject decides whether a binding applies."""
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rule = {"verbs": ["approve"], "apiGroups": ["example.com"], "resources": ["boats"]}
    code, body = await ask("POST", f"{roles}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
    assert code == 201, body
    account = {"kind": "ServiceAccount", "name": "bot", "namespace": "default"}
    everybody = {**group, "kind": "Group", "name": "system:authenticated"}
    administrator = {**group, "kind": "User", "name": "admin"}
    binding = {
        "metadata": {"name": "b"}, "roleRef": {**group, "kind": "Role", "name": "r"},
        "subjects": [account, account, administrator, administrator, everybody],
    }  # fmt: skip
    code, body = await ask("POST", f"{roles}/rolebindings", binding)
    assert code == 201, body
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    _, body = await ask("POST", path, {**review, "spec": {"namespace": "default"}})
    assert body["status"]["resourceRules"].count(rule) == 1
