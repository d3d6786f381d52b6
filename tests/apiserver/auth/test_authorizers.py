"""Several authorizers: webhooks with conditions, ABAC, and Node with the objects of its pods."""

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from steppedclocks import SteppedClock

from inkube import APIServer
from inkube.apiserver.access.configs import authorization as authorizationconfig
from inkube.apiserver.auth import attributes
from inkube.apiserver.http import requests
from inkube.apiserver.registry import User
from inkube.controllers.clock import FakeClock

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
REVIEW = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
TOKENS = """\
admin,admin,1,"system:masters"
ada,ada,2,"dev"
one,system:node:one,3,"system:nodes"
two,system:node:two,4,"system:nodes"
lost,system:node:,5,"system:nodes"
"""


class Reviewer:
    """A webhook: answers reviews with a function of their `spec`, and records these."""

    def __init__(self) -> None:
        self.specs: list[dict] = []
        self.status = lambda spec: {"allowed": False}
        self.code = 200
        self.kubeconfig = Path()

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        review = await request.json()
        self.specs.append(review["spec"])
        status = self.status(review["spec"])
        return web.json_response({**review, "status": status}, status=self.code)


@pytest.fixture
async def reviewer(tmp_path):
    """A running webhook, with the path of its kubeconfig."""
    made = Reviewer()
    runner = web.ServerRunner(web.Server(made))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/review"
    made.kubeconfig = tmp_path / "webhook.kubeconfig"
    made.kubeconfig.write_text(
        yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{"name": "a", "cluster": {"server": url}}],
            "users": [{"name": "a", "user": {"token": "secret"}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        })
    )  # fmt: skip
    yield made
    await runner.cleanup()


@contextlib.asynccontextmanager
async def served(folder, **options):
    """A server with these options, and a function that sends a request with a token."""
    (folder / "tokens.csv").write_text(TOKENS)
    options = {"token_auth_file": folder / "tokens.csv", "modules": "none", **options}
    async with APIServer(**options) as server, aiohttp.ClientSession() as session:

        async def request(token, method, path, body=None, **headers):
            sent = {"Authorization": f"Bearer {token}", **headers}
            url = server.url + path
            async with session.request(method, url, json=body, headers=sent) as answer:
                text = await answer.text()
            is_json = answer.content_type == "application/json"
            return answer.status, json.loads(text) if is_json else text

        yield request


def webhook(reviewer, **members):
    return {
        "unauthorizedTTL": "0s", "timeout": "3s",  # their default is used, also instead of 0
        "subjectAccessReviewVersion": "v1", "matchConditionSubjectAccessReviewVersion": "v1",
        "failurePolicy": "NoOpinion",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(reviewer.kubeconfig)},
        **members,
    }  # fmt: skip


def configuration(*authorizers):
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": [
            {"type": "Webhook", "name": f"hook-{number}", "webhook": each}
            if isinstance(each, dict)
            else {"type": each, "name": each.lower()}
            for number, each in enumerate(authorizers)
        ],
    }


async def test_a_webhook_decides_before_and_after_others(tmp_path, reviewer) -> None:
    clock = FakeClock(ticking=True)
    only_secrets = {"expression": "request.?resourceAttributes.resource == optional.of('secrets')"}
    config = configuration(
        webhook(reviewer, matchConditions=[only_secrets]), "RBAC", webhook(reviewer)
    )
    reviewer.status = lambda spec: (
        {"denied": True, "reason": "no secrets"}
        if (spec.get("resourceAttributes") or {}).get("resource") == "secrets"
        else {"allowed": spec["user"] == "ada", "reason": "as ada"}
    )
    async with served(tmp_path, authorization_config=config, clock=clock) as request:
        assert (await request("ada", "GET", f"{MAPS}?labelSelector=a%3Db,c"))[0] == 200
        assert reviewer.specs == [
            {
                "user": "ada", "uid": "2", "groups": ["dev", "system:authenticated"],
                "resourceAttributes": {
                    "namespace": "default", "verb": "list", "version": "v1",
                    "resource": "configmaps",
                    "labelSelector": {
                        "requirements": [
                            {"key": "a", "operator": "In", "values": ["b"]},
                            {"key": "c", "operator": "Exists"},
                        ]
                    },
                },
            }
        ]  # fmt: skip
        assert (await request("ada", "GET", f"{MAPS}?labelSelector=a%3Db,c"))[0] == 200
        assert len(reviewer.specs) == 1  # remembered
        clock.advance(301)
        assert (await request("ada", "GET", f"{MAPS}?labelSelector=a%3Db,c"))[0] == 200
        assert len(reviewer.specs) == 2
        for seconds, asked in ((0, 3), (29, 3), (2, 4)):
            clock.advance(seconds)
            assert (await request("one", "GET", MAPS))[0] == 403
            assert len(reviewer.specs) == asked
        code, body = await request("ada", "GET", "/api/v1/namespaces/default/secrets")
        assert (code, body["message"].rpartition(": ")[2]) == (403, "no secrets")
        assert (await request("admin", "GET", "/api/v1/secrets"))[0] == 200
        assert (await request("one", "GET", MAPS))[0] == 403
        review = {"spec": {"user": "ada", "nonResourceAttributes": {"path": "/a", "verb": "get"}}}
        code, body = await request(
            "ada", "POST", REVIEW,
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", **review},
        )  # fmt: skip
        assert (code, body["status"]) == (201, {"allowed": True, "reason": "as ada"})
        any_version = {"user": "ada", "resourceAttributes": {"verb": "get", "resource": "pods"}}
        assert (await request("ada", "POST", REVIEW, {"spec": any_version}))[0] == 201
        assert reviewer.specs[-1]["resourceAttributes"]["version"] == "*"


async def test_a_webhook_sees_requirements_of_reviews_in_their_order(tmp_path, reviewer) -> None:
    reviewer.status = lambda _: {"allowed": True}
    disordered = [
        {"key": "tier", "operator": "In", "values": ["b", "a", "b"]},
        {"key": "app", "operator": "Exists"},
    ]
    unknown = {"key": "x", "operator": "Unknown"}
    ordered = [disordered[1], {"key": "tier", "operator": "In", "values": ["a", "b"]}]
    terms = [
        {"key": "b", "operator": "NotIn", "values": ["x,\\y=z"]},
        {"key": "a", "operator": "In", "values": ["one"]},
    ]
    config = configuration(webhook(reviewer))
    async with served(tmp_path, authorization_config=config) as request:
        for fields, sent in (
            ({"requirements": [*terms, unknown]}, terms),
            ({"rawSelector": r"b!=x\,\\y\=z,a=one"}, [terms[1], terms[0]]),
        ):
            resource = {"verb": "list", "resource": "pods", "fieldSelector": fields}
            review = {"spec": {"user": "ada", "resourceAttributes": resource}}
            assert (await request("ada", "POST", REVIEW, review))[0] == 201
            got = reviewer.specs[-1]["resourceAttributes"]["fieldSelector"]
            assert got == {"requirements": sent}
        for selector, seen in (
            ({"requirements": [*disordered, unknown]}, disordered),
            ({"rawSelector": "tier in (b,a,b),app"}, ordered),
        ):
            resource = {"verb": "list", "resource": "pods", "labelSelector": selector}
            review = {"spec": {"user": "ada", "resourceAttributes": resource}}
            assert (await request("ada", "POST", REVIEW, review))[0] == 201
            got = reviewer.specs[-1]["resourceAttributes"]["labelSelector"]
            assert got == {"requirements": seen}
        query = "labelSelector=tier%20in%20(b,a,b),app"
        assert (await request("ada", "GET", f"{MAPS}?{query}"))[0] == 200
        got = reviewer.specs[-1]["resourceAttributes"]["labelSelector"]
        assert got == {"requirements": ordered}


async def test_expressions_of_policies_wait_for_a_webhook(tmp_path, reviewer) -> None:
    reviewer.status = lambda spec: {
        "allowed": spec.get("resourceAttributes", {}).get("verb") in ("create", "bless")
    }
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "authorizer.group('').resource('configmaps')"
                    ".check(object.data.verb).allowed()"
                }
            ],
        },
    }  # fmt: skip
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": ["Deny"]},
    }
    group = "/apis/admissionregistration.k8s.io/v1"
    config = configuration(webhook(reviewer))
    async with served(tmp_path, authorization_config=config) as request:
        for plural, body in (("policies", policy), ("policybindings", binding)):
            path = f"{group}/validatingadmission{plural}"
            assert (await request("admin", "POST", path, body))[0] == 201
        for verb, wanted in (("bless", 201), ("curse", 422)):
            made = {"metadata": {"name": verb}, "data": {"verb": verb}}
            code, _ = await request("ada", "POST", MAPS, {"kind": "ConfigMap", **made})
            assert code == wanted, verb


@pytest.mark.parametrize(("policy", "code"), [("NoOpinion", 500), ("Deny", 500)])
async def test_a_failing_webhook_allows_nothing(tmp_path, reviewer, policy, code) -> None:
    reviewer.code = 403
    config = configuration(webhook(reviewer, failurePolicy=policy), "AlwaysAllow")
    async with served(tmp_path, authorization_config=config) as request:
        code, body = await request("ada", "GET", MAPS)
        if policy == "NoOpinion":
            assert code == 200
        else:
            assert code == 500
            assert body.startswith('Internal Server Error: "/api/v1/namespaces/default/configmaps"')
            assert body.rstrip().endswith(": unknown")  # client-go's text for what is no text
        lines = (await request("admin", "GET", "/metrics"))[1].splitlines()
    for metric, labels, is_there in (
        ("webhook_evaluations_total", 'name="hook-0",result="error"', True),
        ("webhook_duration_seconds_count", 'name="hook-0",result="error"', True),
        (
            "webhook_evaluations_fail_open_total",
            'name="hook-0",result="error"',
            policy == "NoOpinion",
        ),
        (
            "decisions_total",
            'decision="denied",name="hook-0",type="Webhook"',
            policy == "Deny",
        ),
        (
            "decisions_total",
            'decision="allowed",name="alwaysallow",type="AlwaysAllow"',
            policy == "NoOpinion",
        ),
    ):
        line = f"apiserver_authorization_{metric}{{{labels}}} 1"
        assert (line in lines) is is_there, line


async def test_a_webhook_checks_tokens(tmp_path, reviewer) -> None:
    clock = FakeClock(ticking=True)
    known = {
        "authenticated": True,
        "user": {"username": "eve", "groups": ["ops"], "extra": {"a": ["b"]}},
    }
    reviewer.status = lambda spec: known if spec["token"] == "good" else {"error": "no such token"}
    options = {
        "authentication_token_webhook_config_file": reviewer.kubeconfig,
        "authorization_mode": "RBAC",
        "clock": clock,
    }
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with served(tmp_path, **options) as request:
        for _ in range(2):
            code, body = await request("good", "POST", who, review)
            assert (code, body["status"]["userInfo"]) == (
                201,
                {
                    "username": "eve",
                    "groups": ["ops", "system:authenticated"],
                    "extra": {"a": ["b"]},
                },
            )
        assert [spec["token"] for spec in reviewer.specs] == ["good"]
        assert (await request("bad", "POST", who, review))[0] == 401
        known["authenticated"] = False
        clock.advance(121)
        assert (await request("good", "POST", who, review))[0] == 401
        assert (await request("ada", "POST", who, review))[0] == 201
        assert len(reviewer.specs) == 3


@pytest.mark.parametrize("step", [-7200, 7200])
async def test_answers_are_remembered_as_long_when_the_clock_is_set(
    tmp_path, reviewer, step
) -> None:
    """A token that a webhook does not know any more is not accepted for hours."""
    clock, asked = SteppedClock(), []
    options = {
        "authentication_token_webhook_config_file": reviewer.kubeconfig,
        "authorization_config": configuration(webhook(reviewer), "RBAC"),
        "clock": clock,
    }

    def status(spec):
        asked.append("token" if "token" in spec else "access")
        return {"authenticated": True, "user": {"username": "eve"}, "allowed": True}

    reviewer.status = status
    async with served(tmp_path, **options) as request:
        for seconds, questions in (
            (0, ["token", "access"]),
            (0, []),
            (121, ["token"]),
            (180, ["token", "access"]),
        ):
            clock.advance(seconds)
            assert (await request("good", "GET", MAPS))[0] == 200
            assert asked == questions
            asked.clear()
            clock.step(step)


async def test_policies_of_a_file_allow_what_they_name(tmp_path) -> None:
    version = {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy"}
    lines = [
        {**version, "spec": {"user": "ada", "namespace": "default", "resource": "configmaps",
                             "apiGroup": "*", "readonly": True}},
        {**version, "spec": {"group": "dev", "nonResourcePath": "/healthz*"}},
        {"user": "one", "resource": "pods", "namespace": "other"},
    ]  # fmt: skip
    file = tmp_path / "policies"
    file.write_text("# policies\n\n" + "\n".join(map(json.dumps, lines)))
    options = {"authorization_mode": "ABAC", "authorization_policy_file": file}
    async with served(tmp_path, **options) as request:
        for method, path, code in (
            ("GET", MAPS, 200),
            ("POST", MAPS, 403),
            ("GET", PODS, 403),
            ("GET", "/healthz", 200),
            ("GET", "/version", 403),
        ):
            assert (await request("ada", method, path, {}))[0] == code, (method, path)
        assert (await request("admin", "GET", "/version"))[0] == 200
    file.write_text('{"apiVersion": "v1", "kind": "Policy"}')
    with pytest.raises(ValueError, match=r"error reading policy file .*, line 1: "):
        async with served(tmp_path, **options):
            pass


async def test_a_kubelet_reads_what_the_pods_on_its_node_need(tmp_path) -> None:
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {
            "nodeName": "one", "serviceAccountName": "bot",
            "imagePullSecrets": [{"name": "pull"}],
            "containers": [
                {
                    "name": "c", "image": "i",
                    "envFrom": [{"configMapRef": {"name": "env"}}],
                    "env": [{"name": "A", "valueFrom": {
                        "secretKeyRef": {"name": "key", "key": "k"}}}],
                }
            ],
            "volumes": [
                {"name": "s", "secret": {"secretName": "mounted"}},
                {"name": "v", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "x", "projected": {"sources": [
                    {"configMap": {"name": "projected"}}, {"secret": {"name": "both"}}]}},
            ],
        },
    }  # fmt: skip
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": "claim"},
            "csi": {
                "driver": "d", "volumeHandle": "h",
                "nodePublishSecretRef": {"namespace": "store", "name": "disk"},
            },
        },
    }  # fmt: skip
    default = "/api/v1/namespaces/default"
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    async with served(tmp_path, authorization_mode="Node,RBAC") as request:
        assert (await request("admin", "POST", PODS, pod))[0] == 201
        assert (await request("admin", "POST", "/api/v1/persistentvolumes", volume))[0] == 201
        for path, own in (
            (f"{default}/secrets/pull", 404),
            (f"{default}/secrets/key", 404),
            (f"{default}/secrets/mounted", 404),
            (f"{default}/secrets/both", 404),
            ("/api/v1/namespaces/store/secrets/disk", 404),
            (f"{default}/secrets/other", 403),
            (f"{default}/secrets", 403),
            (f"{default}/configmaps/env", 404),
            (f"{default}/configmaps/projected", 404),
            (f"{default}/configmaps/pull", 403),
            (f"{default}/persistentvolumeclaims/claim", 404),
            ("/api/v1/persistentvolumes/pv", 200),
            (f"{default}/pods/p", 200),
            (f"{default}/pods", 403),
            ("/api/v1/pods?fieldSelector=spec.nodeName%3Done", 200),
            ("/api/v1/pods?fieldSelector=spec.nodeName%3Dtwo", 403),
            ("/api/v1/nodes/one", 404),
            ("/api/v1/nodes/two", 403),
            ("/api/v1/services", 200),
            ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/one", 404),
            ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/two", 403),
        ):
            assert (await request("one", "GET", path))[0] == own, path
        slices = "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3D"
        for method, path, code in (
            ("GET", f"{slices}one", 200),
            ("GET", f"{slices}two", 403),
            ("DELETE", f"{slices}one", 200),
            ("DELETE", f"{slices}two", 403),
            # selectors of requests with the verb in the path are not authorized
            ("GET", "/api/v1/watch/pods?fieldSelector=spec.nodeName%3Done", 403),
        ):
            assert (await request("one", method, path))[0] == code, (method, path)
        for path in (f"{default}/secrets/key", "/api/v1/persistentvolumes/pv", f"{default}/pods/p"):
            code, body = await request("two", "GET", path)
            assert code == 403
            assert "no relationship found between node 'two' and this object" in body["message"]
        for name, code in (("bot", 404), ("default", 403)):
            path = f"{default}/serviceaccounts/{name}/token"
            assert (await request("one", "POST", path, token))[0] == code


def signing_request(common_name):
    """Return a CertificateSigningRequest for the certificate of a kubelet."""
    key = ec.generate_private_key(ec.SECP256R1())
    organization = x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:nodes")
    name = x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)
    subject = x509.Name([organization, name])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    request = base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": request,
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    }


async def test_a_kubelet_requests_tokens_and_certificates_for_its_own(tmp_path) -> None:
    sources = [{"serviceAccountToken": {"audience": "vault", "path": "t"}}]
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {
            "nodeName": "one", "serviceAccountName": "bot",
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "projected": {"sources": sources}}],
        },
    }  # fmt: skip
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "registry"},
        "rules": [{"verbs": ["request-serviceaccounts-token-audience"], "apiGroups": [""],
                   "resources": ["registry"], "resourceNames": ["bot"]}],
    }  # fmt: skip
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "registry"},
        "roleRef": {"kind": "ClusterRole", "name": "registry",
                    "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [{"kind": "Group", "name": "system:nodes",
                      "apiGroup": "rbac.authorization.k8s.io"}],
    }  # fmt: skip
    options = {
        "authorization_mode": "Node,RBAC",
        "enable_admission_plugins": ("NodeRestriction",),
    }
    async with served(tmp_path, **options) as request:
        await request("admin", "POST", accounts, {"metadata": {"name": "bot"}})
        _, made = await request("admin", "POST", PODS, pod)
        for plural, body in (("clusterroles", role), ("clusterrolebindings", binding)):
            path = f"/apis/rbac.authorization.k8s.io/v1/{plural}"
            assert (await request("admin", "POST", path, body))[0] == 201
        reference = {
            "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made["metadata"]["uid"],
        }  # fmt: skip
        for audiences, why in (
            (["vault"], ""),
            (["registry"], ""),
            (
                ["other"],
                'audience "other" not found in pod spec volume, system:node:one is not aut',
            ),
            ([], 'audience "" not found in pod spec volume'),
            ([""], 'audience "" not found in pod spec volume'),
            (["vault", "registry"], "node may only request 0 or 1 audiences"),
        ):
            token = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"audiences": audiences, "boundObjectRef": reference},
            }
            code, body = await request("one", "POST", f"{accounts}/bot/token", token)
            assert code == (403 if why else 201), body
            assert why in body.get("message", "")
        path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
        for name, code in (("one", 201), ("two", 403)):
            sent = signing_request(f"system:node:{name}")
            answer = await request("one", "POST", path, sent)
            assert answer[0] == code, answer
        assert "can only create a node CSR with CN=system:node:one" in answer[1]["message"]
        review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        code, body = await request("lost", "POST", review, {})
        assert code == 403
        assert body["message"] == (
            'selfsubjectreviews.authentication.k8s.io "Unknown" is forbidden: '
            'could not determine node from user "system:node:"'
        )


AZURE = {"azureFile": {"shareName": "s", "secretName": "s"}}
"""A volume that the CSI driver file.csi.azure.com mounts."""


async def test_audiences_of_tokens_are_those_of_the_csi_drivers_of_a_pod(tmp_path) -> None:
    options = {
        "authorization_mode": "Node,RBAC", "enable_admission_plugins": ("NodeRestriction",),
    }  # fmt: skip
    volumes: dict[str, list[dict[str, Any]]] = {
        "inline": [{"csi": {"driver": "a.b"}}],
        "lost": [{"persistentVolumeClaim": {"claimName": "none"}}, {"csi": {"driver": "a.b"}}],
        "claimed": [{"persistentVolumeClaim": {"claimName": "azure"}}],
        "in-tree": [AZURE],
        "empty": [{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
    }
    claim = {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}},
        "storageClassName": "",
    }  # fmt: skip
    no_driver = 'error validating audience "vault": csidriver.storage.k8s.io "{}" not found'
    wanted = {
        "inline": no_driver.format("a.b"),
        "lost": 'error validating audience "vault": [persistentvolumeclaim "none" not found, '
        'csidriver.storage.k8s.io "a.b" not found]',
        "claimed": no_driver.format("file.csi.azure.com"),
        "in-tree": no_driver.format("file.csi.azure.com"),
    }
    namespace = "/api/v1/namespaces/default"
    async with served(tmp_path, **options) as request:

        async def made(path, name, **members):
            code, body = await request(
                "admin", "POST", path, {"metadata": {"name": name}} | members
            )
            assert code == 201, body
            return body["metadata"]["uid"]

        async def token(name, audience):
            reference = {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": name,
                "uid": uids.get(name, "u"),
            }
            spec = {"audiences": [audience], "boundObjectRef": reference}
            path = f"{namespace}/serviceaccounts/bot/token"
            code, body = await request("one", "POST", path, {"spec": spec})
            return code, body.get("message", "")

        await made(f"{namespace}/serviceaccounts", "bot")
        volume = {"capacity": {"storage": "1"}, "accessModes": claim["accessModes"], **AZURE}
        await made("/api/v1/persistentvolumes", "azure", spec=volume)
        await made(
            f"{namespace}/persistentvolumeclaims", "azure", spec=claim | {"volumeName": "azure"}
        )
        uids = {
            name: await made(PODS, name, spec={
                "nodeName": "one", "serviceAccountName": "bot",
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": f"v{i}"} | each for i, each in enumerate(members)],
            })
            for name, members in volumes.items()
        }  # fmt: skip
        assert (await token("empty", ""))[0] == 201
        assert await token("gone", "") == (404, 'pod "gone" not found')
        for name, text in wanted.items():
            code, message = await token(name, "vault")
            assert (code, message.partition(" is forbidden: ")[2]) == (403, text)
        for driver in ("a.b", "file.csi.azure.com"):
            spec = {"tokenRequests": [{"audience": "vault"}]}
            await made("/apis/storage.k8s.io/v1/csidrivers", driver, spec=spec)
        for name in wanted:
            assert (await token(name, "vault"))[0] == 201
            assert 'audience "x" not found in pod' in (await token("inline", "x"))[1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"timeout": "31s"}, 'timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ({"failurePolicy": "Fail"}, 'failurePolicy: Unsupported value: "Fail": supported values'),
        ({"connectionInfo": {"type": "InClusterConfig"}}, "this server runs in no cluster"),
        ({"matchConditions": [{"expression": "request.usr == ''"}]}, "undefined field 'usr'"),
        ({"matchConditions": [{"expression": "request.user"}]}, "must evaluate to bool but got"),
        ({"subjectAccessReviewVersion": ""}, "subjectAccessReviewVersion: Required value"),
        ({"ttl": "5m"}, 'strict decoding error: unknown field "authorizers[0].webhook.ttl"'),
    ],
)
def test_an_invalid_webhook_ends_the_start(tmp_path, change, why) -> None:
    class Placed:
        kubeconfig = tmp_path / "config"

    Placed.kubeconfig.write_text("")
    config = configuration(webhook(Placed, **change))
    with pytest.raises(ValueError, match="authorizers") as error:
        authorizationconfig.read(config)
    assert why in str(error.value)


def test_terms_of_a_field_selector_reach_authorizers_in_the_order_of_their_texts() -> None:
    """apimachinery/pkg/fields, parseSelector."""
    selector = "spec.nodeName%3Dn%2Cmetadata.name!%3Db%2Cmetadata.name!%3Da"
    info = requests.parse("GET", "/api/v1/pods", f"fieldSelector={selector}")
    action = attributes.of_request(User("ada"), info)
    assert action.field_selector == "metadata.name!=a,metadata.name!=b,spec.nodeName=n"
