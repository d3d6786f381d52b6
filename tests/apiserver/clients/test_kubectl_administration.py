"""kubectl commands of administrators: drain, debug, approve, prune, replace and similar ones."""

import base64
import json
import re
import urllib.request
from contextlib import contextmanager

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from patience import KUBECTL, SECONDS

VERSIONS = ("1.27", "1.33")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "p"}},
    "spec": {"containers": [{"name": "c", "image": "work:1"}]},
}


@pytest.fixture(params=VERSIONS)
def kubectl(request, find_kubectl):
    return find_kubectl(request.param)


@pytest.fixture
def pod(kubectl):
    kubectl("create", "-f", "-", document=POD)
    return lambda: json.loads(kubectl("get", "pod", "p", "-o", "json"))


def named(kind, name, **members):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **members}


def test_drain_cordons_a_node_and_evicts_its_pods(kubectl, served):
    served.client.create(named("Node", "far"))
    bound = {**POD, "spec": {**POD["spec"], "nodeName": "far"}}
    kubectl("create", "-f", "-", document=bound)
    said = kubectl("drain", "far", "--force", "--grace-period=0", KUBECTL)
    assert "evicting pod default/p" in said
    assert said.endswith("node/far drained\n")
    assert kubectl("get", "pods", "-o", "name") == ""
    assert "SchedulingDisabled" in kubectl("get", "node", "far")
    assert kubectl("uncordon", "far") == "node/far uncordoned\n"


def test_debug_adds_a_container_to_a_pod(kubectl, pod):
    kubectl("debug", "p", "--image=tools:1", "--container=look", "--target=c", "--", "sh")
    (container,) = pod()["spec"]["ephemeralContainers"]
    assert (container["name"], container["targetContainerName"]) == ("look", "c")
    kubectl("debug", "p", "--image=tools:2", "--container=again", "--", "sh")
    assert [one["name"] for one in pod()["spec"]["ephemeralContainers"]] == ["look", "again"]


def test_debug_copies_a_pod(kubectl, pod):
    kubectl("debug", "p", "--copy-to=q", "--image=tools:1", "--container=look", "--", "sh")
    copied = json.loads(kubectl("get", "pod", "q", "-o", "json"))
    assert [one["name"] for one in copied["spec"]["containers"]] == ["c", "look"]


def signing_request(name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    pem = made.public_bytes(serialization.Encoding.PEM)
    return {
        **named("CertificateSigningRequest", name),
        "apiVersion": "certificates.k8s.io/v1",
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "example.com/robots",
            "usages": ["client auth"],
        },
    }


def test_certificates_are_approved_and_denied_once(kubectl):
    for name in ("jane", "joe"):
        kubectl("create", "-f", "-", document=signing_request(name))
    assert kubectl("certificate", "approve", "jane") == (
        "certificatesigningrequest.certificates.k8s.io/jane approved\n"
    )
    assert kubectl("certificate", "deny", "joe") == (
        "certificatesigningrequest.certificates.k8s.io/joe denied\n"
    )
    states = [line.split()[-1] for line in kubectl("get", "csr", "--no-headers").splitlines()]
    assert states == ["Approved", "Denied"]
    assert "Denied" in kubectl("certificate", "approve", "joe", code=1)


def test_kubectl_auth_can_i_lists_permissions(kubectl):
    listed = kubectl("auth", "can-i", "--list", "--no-headers").splitlines()
    assert listed[0].split() == ["*.*", "[]", "[]", "[*]"]
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"


@pytest.mark.parametrize("what", ["nodes", "pods"])
def test_top_fails_without_metrics(kubectl, what):
    assert kubectl("top", what, code=1) == "error: Metrics API not available\n"


def test_apply_prunes_what_is_no_longer_there(kubectl):
    def config(name):
        made = named("ConfigMap", name)
        made["metadata"]["labels"] = {"app": "pruned"}
        return made

    def apply(*names):
        document = {"apiVersion": "v1", "kind": "List", "items": [config(name) for name in names]}
        allowed = "--prune-allowlist=core/v1/ConfigMap"
        return kubectl(
            "apply", "-f", "-", "--prune", "-l", "app=pruned", allowed, document=document
        )

    apply("a", "b")
    assert apply("b", "c").splitlines() == [
        "configmap/b unchanged",
        "configmap/c created",
        "configmap/a pruned",
    ]
    left = kubectl("get", "configmaps", "-l", "app=pruned", "-o", "name").split()
    assert left == ["configmap/b", "configmap/c"]


def test_a_pod_is_replaced_where_it_may_change(kubectl, pod):
    changed = pod()
    changed["spec"]["containers"][0]["image"] = "work:2"
    assert kubectl("replace", "-f", "-", document=changed) == "pod/p replaced\n"
    assert pod()["spec"]["containers"][0]["image"] == "work:2"
    changed = pod()
    changed["spec"]["containers"][0]["name"] = "d"
    assert "pod updates may not change fields" in kubectl(
        "replace", "-f", "-", document=changed, code=1
    )
    before = changed["metadata"]["uid"]
    kubectl("replace", "--force", "--grace-period=0", "-f", "-", document=POD)
    assert pod()["metadata"]["uid"] != before


def test_resources_are_listed(kubectl):
    lines = kubectl("api-resources", "--no-headers").splitlines()
    listed = {line.split()[0]: line.split() for line in lines}
    assert listed["deployments"] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    assert {"resourceclaims", "flowschemas", "volumeattributesclasses"} <= listed.keys()
    scoped = kubectl("api-resources", "--namespaced=false", "--verbs=watch", "-o", "name").split()
    assert "nodes" in scoped
    assert "pods" not in scoped


@contextmanager
def proxied(kubectl):
    with kubectl.start("proxy", "--port=0") as process:
        try:
            yield re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())[0]
        finally:
            process.terminate()


def test_proxy_carries_requests(kubectl, pod):
    with proxied(kubectl) as address:
        url = f"http://{address}/api/v1/namespaces/default/pods/p"
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            assert json.load(answer)["metadata"]["uid"] == pod()["metadata"]["uid"]
