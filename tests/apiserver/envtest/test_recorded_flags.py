"""Command lines that a real kube-apiserver 1.36.2 was started with, and whether it started.

The law: a flag works, or the start ends with the words of kube-apiserver, or one line says that the
flag has no effect. Where inkube differs, the reason is here.
"""

import contextlib
import json

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.envtest import FlagError, flags, kubeflags

STARTS = """\
--feature-gates=Bogus=true
--feature-gates=WatchList=false
--runtime-config=api/all=true
--runtime-config=storage.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true
--runtime-config=batch/v1=false
--enable-admission-plugins=AlwaysPullImages
--enable-admission-plugins=NamespaceAutoProvision
--enable-admission-plugins=PodNodeSelector
--enable-admission-plugins=DenyServiceExternalIPs
--enable-admission-plugins=OwnerReferencesPermissionEnforcement
--enable-admission-plugins=ExtendedResourceToleration
--enable-admission-plugins=PodTolerationRestriction
--enable-admission-plugins=LimitPodHardAntiAffinityTopology
--enable-admission-plugins=NodeRestriction --authorization-mode=Node,RBAC
--disable-admission-plugins=ServiceAccount,ValidatingAdmissionPolicy
--disable-admission-plugins=ServiceAccount,MutatingAdmissionWebhook
--disable-admission-plugins=ServiceAccount,NamespaceLifecycle
--anonymous-auth=false
--oidc-issuer-url=https://127.0.0.1:1 --oidc-client-id=x --oidc-username-claim=email
--authorization-mode=AlwaysDeny
--authorization-mode=Node
--audit-log-path=-
--service-node-port-range=30000-30001
--emulated-version=1.35
--emulated-version=kube=1.34
--default-not-ready-toleration-seconds=10 --default-unreachable-toleration-seconds=20
--allow-privileged=false
--service-account-max-token-expiration=1h
--service-account-jwks-uri=https://x/y
--event-ttl=10m
--profiling=false
--logging-format=json
--v=6
--watch-cache=false
--request-timeout=2s
--max-requests-inflight=1 --max-mutating-requests-inflight=1 --enable-priority-and-fairness=false
--service-cluster-ip-range=10.0.0.0/24,fd00::/108
""".splitlines()
ENDS = {
    "--bogus-flag=1": "unknown flag: --bogus-flag",
    "--profiling=maybe": 'invalid argument "maybe" for "--profiling" flag: strconv.ParseBool: '
    'parsing "maybe": invalid syntax',
    "--enable-admission-plugins=Bogus": 'enable-admission-plugins plugin "Bogus" is unknown',
    "--runtime-config=bogus/v1=true": "unknown api groups bogus/v1",
    "--enable-admission-plugins=ImagePolicyWebhook": "failed to apply admission: couldn't init "
    'admission plugin "ImagePolicyWebhook": no config specified',
    "--authentication-config=/nonexistent": "failed to load authentication configuration from "
    'file "/nonexistent": open /nonexistent: no such file or directory',
    "--oidc-issuer-url=http://127.0.0.1:1 --oidc-client-id=x": "invalid authentication "
    'configuration: jwt[0].issuer.url: Invalid value: "http://127.0.0.1:1": URL scheme must be '
    "https",
    "--authorization-config=FILE --authorization-mode=RBAC": "--authorization-config can not be "
    "specified when --authorization-mode or --authorization-webhook-* flags are defined",
    "--authorization-mode=Webhook": "authorization-mode Webhook's authorization config file not "
    "passed",
    "--authorization-mode=ABAC": "authorization-mode ABAC's authorization policy file not passed",
    "--encryption-provider-config=/nonexistent": "error while parsing file: error while loading "
    'file: error reading encryption provider configuration file "/nonexistent": open /nonexistent: '
    "no such file or directory",
    "--audit-policy-file=FILE --audit-log-path=-": "loading audit policy file: rules[0].level: "
    'Unsupported value: "Bogus": supported values: "None", "Metadata", "Request", '
    '"RequestResponse": from file FILE',
    "--audit-policy-file=/nonexistent --audit-log-path=-": "loading audit policy file: failed to "
    'read file path "/nonexistent": open /nonexistent: no such file or directory',
    "--service-account-issuer=": "[service-account-issuer should not be an empty string, "
    "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be "
    "specified together]",
    "--secure-port=0": "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be "
    "turned off with 0",
    "--secure-port=99999": "--secure-port 99999 must be between 1 and 65535, inclusive. It cannot "
    "be turned off with 0",
    "--tls-min-version=VersionTLS99": 'unknown tls version "VersionTLS99"',
}
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Bogus"}],
}


def read(line):
    """Return the options of a command line, and the lines about flags without an effect."""
    parsed = flags.parse("kube-apiserver", line.split(), kubeflags.FLAGS)
    return kubeflags.options(parsed), list(kubeflags.ignored(parsed).lines())


@pytest.mark.parametrize("line", STARTS)
def test_a_command_line_is_accepted(line):
    options, told = read(line)
    for flag in line.split():
        name = flag.removeprefix("--").partition("=")[0]
        assert name in kubeflags.SUPPORTED or flag.split("=")[-2].removeprefix("--") in "".join(
            told
        )
    assert options


MAP = ("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})
PODS, SERVICES = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token"
CONTAINER = {"name": "c", "image": "x", "imagePullPolicy": "IfNotPresent"}


def pod(**spec):
    return {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], **spec}}


def service(**spec):
    return {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}], **spec}}


def seconds(made):
    return [each["tolerationSeconds"] for each in made["spec"]["tolerations"][:2]]


def policy(made):
    return made["spec"]["containers"][0]["imagePullPolicy"]


TERM = {"topologyKey": "zone", "labelSelector": {}}
ANTI = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
RESOURCES = {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "1"}}
PRIVILEGED = {**CONTAINER, "securityContext": {"privileged": True}}
RANGE = "spec.ports[0].nodePort: Invalid value: 31000: provided port is not in the valid range"
AFFINITY = (
    'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone '
    "but only key kubernetes.io/hostname is allowed"
)
DISALLOWED = (
    'Pod "p" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by '
    "cluster policy"
)
EFFECTS = {
    "--runtime-config=batch/v1=false": (("GET", "/apis/batch/v1", None), 404, None, None),
    "--enable-admission-plugins=AlwaysPullImages": (("POST", PODS, pod()), 201, policy, "Always"),
    "--enable-admission-plugins=NamespaceAutoProvision": (
        ("POST", "/api/v1/namespaces/nope/configmaps", {"metadata": {"name": "m"}}), 201, None, 0,
    ),
    "--enable-admission-plugins=DenyServiceExternalIPs": (
        ("POST", SERVICES, service(externalIPs=["1.2.3.4"])), 403, lambda made: made["message"],
        'services "x" is forbidden: Use of external IPs is denied by admission control',
    ),
    "--enable-admission-plugins=ExtendedResourceToleration": (
        ("POST", PODS, pod(containers=[{**CONTAINER, "resources": RESOURCES}])), 201,
        lambda made: made["spec"]["tolerations"][-1],
        {"key": "a.b/c", "operator": "Exists", "effect": "NoSchedule"},
    ),
    "--enable-admission-plugins=LimitPodHardAntiAffinityTopology": (
        ("POST", PODS, pod(affinity=ANTI)), 403, lambda made: made["message"],
        AFFINITY,
    ),
    "--anonymous-auth=false": (("ANONYMOUS", "/livez", None), 401, None, None),
    "--service-node-port-range=30000-30001": (
        ("POST", SERVICES, service(type="NodePort", ports=[{"port": 80, "nodePort": 31000}])), 422,
        lambda made: RANGE in made["message"], True,
    ),
    "--emulated-version=1.35": (("GET", "/version", None), 200, lambda it: it["minor"], "35"),
    "--emulated-version=kube=1.34": (
        ("GET", "/version", None), 200, lambda it: it["minor"], "34",
    ),
    "--default-not-ready-toleration-seconds=10 --default-unreachable-toleration-seconds=20": (
        ("POST", PODS, pod()), 201, seconds, [10, 20],
    ),
    "--allow-privileged=false": (
        ("POST", PODS, pod(containers=[PRIVILEGED])), 422, lambda made: made["message"],
        DISALLOWED,
    ),
    "--service-account-max-token-expiration=1h": (
        ("POST", TOKENS, {"spec": {"expirationSeconds": 86400}}), 201,
        lambda made: made["spec"]["expirationSeconds"], 3600,
    ),
    "--service-account-jwks-uri=https://x/y": (
        ("GET", "/.well-known/openid-configuration", None), 200, lambda it: it["jwks_uri"],
        "https://x/y",
    ),
    "--profiling=false": (("GET", "/debug/pprof/", None), 404, None, None),
    "--service-cluster-ip-range=10.0.0.0/24,fd00::/108": (
        ("POST", SERVICES, service(ipFamilyPolicy="RequireDualStack")), 201,
        lambda made: len(made["spec"]["clusterIPs"]), 2,
    ),
}  # fmt: skip
"""Command line → a request, and what the real server answered: the code, and a part of the body.
The other ones do not change how a ConfigMap is created."""


@pytest.mark.parametrize("line", STARTS)
async def test_a_server_answers_as_the_recorded_one(line, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text('t,u,1,"system:masters"\n')
    (method, path, body), code, part, value = EFFECTS.get(line, (MAP, 201, None, None))
    head = {} if method == "ANONYMOUS" else {"Authorization": "Bearer t"}
    method = "GET" if method == "ANONYMOUS" else method
    async with started(line, tokens) as server, aiohttp.ClientSession(headers=head) as session:
        if path == TOKENS:
            account = {"metadata": {"name": "default"}}
            await session.post(server.url + TOKENS.rpartition("/default")[0], json=account)
        async with session.request(method, server.url + path, json=body) as answer:
            assert answer.status == code, await answer.text()
            if part is not None:
                assert part(await answer.json(content_type=None)) == value


@pytest.mark.parametrize("line", ENDS)
async def test_a_start_ends_with_the_words_of_kube_apiserver(line, tmp_path):
    file, tokens = tmp_path / "FILE", tmp_path / "tokens"
    file.write_text(json.dumps(POLICY))
    tokens.write_text("t,u,1\n")
    with pytest.raises((FlagError, ValueError)) as error:
        async with started(line.replace("FILE", str(file)), tokens):
            pass
    assert str(error.value).replace(str(file), "FILE").startswith(ENDS[line])


@contextlib.asynccontextmanager
async def started(line, tokens):
    options, _ = read(line)
    options |= {"host": "127.0.0.1", "port": 0, "token_auth_file": tokens}
    plugins = options["enable_admission_plugins"]  # the recorded server had no service accounts
    options["enable_admission_plugins"] = [each for each in plugins if each != "ServiceAccount"]
    async with APIServer(**options) as server:
        yield server
