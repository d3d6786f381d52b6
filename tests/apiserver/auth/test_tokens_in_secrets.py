"""Tokens in Secrets, as kube-controller-manager signs them: valid while the Secret contains them.

Follows pkg/serviceaccount/legacy.go, and TestLegacyServiceAccountTokenCleanUp of Kubernetes.
"""

import base64

import pytest

from inkube import APIServer
from inkube.apiserver.auth import TokenRefused, signing

NAME = "system:serviceaccount:default:robot"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "long", "namespace": "default"},
}
ACCOUNT = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "robot", "namespace": "default"},
}


def issued(key, uid, **more):
    claims = {
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": "default",
        "kubernetes.io/serviceaccount/secret.name": "long",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": uid,
        "sub": NAME,
    }
    return signing.Signer(key).sign({**claims, **more})


def refused(server, token, text):
    with pytest.raises(TokenRefused, match=text):
        server.security.authenticator.verify(token)


async def test_a_token_in_a_secret_is_valid_while_it_is_there(tmp_path):
    path = tmp_path / "sa.key"
    path.write_bytes(key := signing.new_key())
    async with APIServer(service_account_signing_key_file=path, controllers=False) as server:
        client = server.client
        uid = (await client.create(ACCOUNT))["metadata"]["uid"]
        token = issued(key, uid)
        refused(server, token, "Token has been invalidated")
        data = {"token": base64.b64encode(token.encode()).decode()}
        await client.create({**SECRET, "data": data})
        found = server.security.authenticator.verify(token)
        assert (found.user.name, found.user.uid) == (NAME, uid)
        assert "system:serviceaccounts:default" in found.user.groups
        assert found.audiences == server.security.authenticator.accounts.audiences
        assert "labels" not in (await client.get("v1/secrets", "long", "default"))["metadata"]
        for other, error in (
            (issued(key, uid, more=1), "Token does not match server's copy"),
            (issued(key, uid, sub="me"), "sub claim is invalid"),
            (issued(signing.new_key(), uid), "invalid signature"),
        ):
            refused(server, other, error)
        label = {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
        await client.patch("v1/secrets", "long", "default", patch={"metadata": {"labels": label}})
        refused(server, token, "has been marked invalid")


async def test_a_new_account_of_the_same_name_does_not_inherit_a_token(tmp_path):
    path = tmp_path / "sa.key"
    path.write_bytes(key := signing.new_key())
    async with APIServer(service_account_signing_key_file=path, controllers=False) as server:
        client = server.client
        token = issued(key, "gone")
        data = {"token": base64.b64encode(token.encode()).decode()}
        await client.create({**SECRET, "data": data})
        refused(server, token, "ServiceAccount default/robot has been deleted")
        await client.create(ACCOUNT)
        refused(server, token, r"does not match claim \(gone\)")
