"""Command lines that a real kube-apiserver 1.36.2 was started with, and whether it started.

The law: a flag works, or the start ends with the words of kube-apiserver, or one line says that the
flag has no effect. Where inkube differs, the reason is here.
"""

import json

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


@pytest.mark.parametrize("line", ENDS)
async def test_a_start_ends_with_the_words_of_kube_apiserver(line, tmp_path):
    file, tokens = tmp_path / "FILE", tmp_path / "tokens"
    file.write_text(json.dumps(POLICY))
    tokens.write_text("t,u,1\n")
    with pytest.raises((FlagError, ValueError)) as error:
        await started(line.replace("FILE", str(file)), tokens)
    assert str(error.value).replace(str(file), "FILE").startswith(ENDS[line])


async def started(line, tokens):
    options, _ = read(line)
    options |= {"host": "127.0.0.1", "port": 0, "token_auth_file": tokens}
    async with APIServer(**options):
        pass
