"""Times of service account tokens: new requests are judged by them, streams that run go on.

kube-apiserver authenticates a request once, before it answers.
"""

import json

import aiohttp
import pytest
from patience import SECONDS

from inkube.apiserver.auth import signatures
from inkube.apiserver.server import APIServer

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
GROUP = "rbac.authorization.k8s.io"
SCRIPT = {
    "apiVersion": "workloads.inkube.dev/v1",
    "kind": "Script",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {
        "selector": {"matchNames": ["p"]},
        "logs": [{"text": "one\n"}, {"after": "2h", "text": "late\n"}],
        "exec": [{"command": ["shout"], "stdin": "Echo"}],
        "forwards": [{"port": 80, "body": "from the pod"}],
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"nodeName": "kube-node-1", "containers": [{"name": "c", "image": "i:1"}]},
}
STDIN, STDOUT = b"\0", b"\1"


async def issued(ask, seconds=600, name="bot", reference=None):
    """Return a new token of an administrator's account, which is created."""
    await ask("POST", ACCOUNTS, {"metadata": {"name": name, "finalizers": ["example.com/kept"]}})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    await ask(
        "POST", BINDINGS, {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    )
    spec = {"expirationSeconds": seconds, "boundObjectRef": reference}
    code, body = await ask("POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})
    assert code == 201, body
    return body["status"]["token"]


async def judged(ask, token):
    """Return the code for a request with a token, and the error of its review."""
    code, _ = await ask("GET", "/api", token=token)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    _, body = await ask("POST", REVIEWS, {**review, "spec": {"token": token}})
    return code, body["status"].get("error", "")


EXPIRED = "service account token has expired"
EARLY = "service account token is not valid yet"
FUTURE = "service account token is issued in the future"


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"exp": -55}, ""),
        ({"exp": -65}, EXPIRED),
        ({"nbf": 55}, ""),
        ({"nbf": 65}, EARLY),
        ({"iat": 55}, ""),
        ({"iat": 65}, FUTURE),
        ({"iat": 65, "exp": -65}, EXPIRED),
        ({"exp": -65, "nbf": 65}, EARLY),
    ],
)
async def test_tokens_are_valid_a_minute_before_and_after_their_time(ask, clock, change, refusal):
    accounts = ask.server.security.authenticator.accounts
    claims = signatures.signing.read_claims(await issued(ask))
    now = clock.now().timestamp()
    token = accounts.issue({**claims, **{name: now + late for name, late in change.items()}})
    shown = f"[invalid bearer token, {refusal}]" if refusal else ""
    assert await judged(ask, token) == (401 if refusal else 200, shown)


FOLDERS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/default/pods",
    "Secret": "/api/v1/namespaces/default/secrets",
}
SPECS = {
    "Pod": {"spec": {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]}}
}


async def bound(ask, kind):
    """Return the path of a new object, and a token that is bound to it."""
    meta = {"name": "kept", "finalizers": ["example.com/kept"]}
    code, made = await ask("POST", FOLDERS[kind], {"metadata": meta, **SPECS.get(kind, {})})
    assert code == 201, made
    reference = {"apiVersion": "v1", "kind": kind, "name": "kept"}
    return f"{FOLDERS[kind]}/kept", await issued(ask, reference=reference)


async def test_a_token_ends_a_minute_after_the_deletion_of_its_account(ask, clock):
    token = await issued(ask)
    assert (await ask("DELETE", f"{ACCOUNTS}/bot"))[0] == 200
    clock.advance(55)
    assert await judged(ask, token) == (200, "")
    clock.advance(10)
    refusal = "[invalid bearer token, service account default/bot has been deleted]"
    assert await judged(ask, token) == (401, refusal)


@pytest.mark.parametrize("kind", FOLDERS)
async def test_a_token_ends_a_minute_after_the_deletion_of_its_object(ask, clock, kind):
    path, token = await bound(ask, kind)
    assert (await ask("DELETE", f"{path}?gracePeriodSeconds=0"))[0] == 200
    clock.advance(55)
    assert await judged(ask, token) == (200, "")
    clock.advance(10)
    refusal = "[invalid bearer token, service account token has been invalidated]"
    assert await judged(ask, token) == (401, refusal)


@pytest.mark.parametrize("kind", [*FOLDERS, "ServiceAccount"])
async def test_a_token_ends_with_its_object_and_with_another_of_that_name(ask, kind):
    if kind == "ServiceAccount":
        path, token = f"{ACCOUNTS}/bot", await issued(ask)
        gone, of = 'serviceaccounts "bot" not found', "claim"
        word, folder, body = "service account", ACCOUNTS, {"metadata": {"name": "bot"}}
    else:
        path, token = await bound(ask, kind)
        word = kind.lower()
        gone, of = "service account token has been invalidated", f"service account {word} ref claim"
        folder, body = FOLDERS[kind], {"metadata": {"name": "kept"}, **SPECS.get(kind, {})}
    _, old = await ask("GET", path)
    patch = json.dumps({"metadata": {"finalizers": None}})
    merge = {"Content-Type": "application/merge-patch+json"}
    assert (await ask("PATCH", path, patch, headers=merge))[0] == 200
    assert (await ask("DELETE", f"{path}?gracePeriodSeconds=0"))[0] == 200
    assert await judged(ask, token) == (401, f"[invalid bearer token, {gone}]")
    _, new = await ask("POST", folder, body)
    uids = [each["metadata"]["uid"] for each in (new, old)]
    refusal = f"{word} UID ({uids[0]}) does not match {of} ({uids[1]})"
    assert await judged(ask, token) == (401, f"[invalid bearer token, {refusal}]")


async def test_streams_of_a_token_go_on_after_its_time(token_file, clock):
    async with (
        APIServer(
            token_auth_file=token_file,
            authorization_mode="RBAC",
            clock=clock,
            modules="all",
            workloads=True,
        ) as server,
        aiohttp.ClientSession(server.url, timeout=aiohttp.ClientTimeout(SECONDS)) as session,
    ):

        async def ask(method, path, body=None, token="admin-token"):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.request(method, path, json=body, headers=headers) as answer:
                return answer.status, await answer.json()

        token = await issued(ask)
        await server.client.create(POD)
        await server.client.create(SCRIPT)
        await server.settled()
        headers = {"Authorization": f"Bearer {token}"}

        def connect(path):
            return session.ws_connect(path, headers=headers, protocols=["v4.channel.k8s.io"])

        async with (
            session.get(f"{MAPS}?watch=1", headers=headers) as watch,
            session.get(f"{PODS}/p/log?follow=1", headers=headers) as log,
            connect(f"{PODS}/p/exec?command=shout&stdin=1&stdout=1") as command,
            connect(f"{PODS}/p/portforward?ports=80") as forward,
        ):
            assert await log.content.readline() == b"one\n"
            ports = [await forward.receive_bytes() for _ in range(2)]
            assert [each[1:] for each in ports] == [b"P\0", b"P\0"]
            clock.advance(3600)
            assert (await ask("GET", MAPS, token=token))[0] == 401

            assert (await ask("POST", MAPS, {"metadata": {"name": "new"}}))[0] == 201
            names = []
            while "new" not in names:
                event = json.loads(await watch.content.readline())
                names.append(event["object"]["metadata"]["name"])
            clock.advance(3600)
            assert await log.content.readline() == b"late\n"
            await command.send_bytes(STDIN + b"still there")
            said = b""
            while b"still there" not in said:
                said += (await command.receive_bytes()).removeprefix(STDOUT)
            await forward.send_bytes(b"\0hello")
            assert await forward.receive_bytes() == b"\0from the pod"
