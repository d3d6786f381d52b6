"""Signs approved CertificateSigningRequests of Kubernetes' own signers.

Users approve the requests. Follows pkg/controller/certificates/signer/signer.go.
"""

from inkube.client import GVR, Object
from inkube.controllers.workloads import templates, writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.formats import format_time
from inkube.kinds import Controller, Key, Watch

NAME = "certificatesigningrequest-signing-controller"
REQUESTS = str(GVR("certificates.k8s.io", "v1", "certificatesigningrequests"))
SIGNERS = frozenset(
    f"kubernetes.io/{name}"
    for name in (
        "kubelet-serving", "kube-apiserver-client-kubelet", "kube-apiserver-client",
        "legacy-unknown",
    )
)  # fmt: skip


def add(cluster: Cluster) -> None:
    """Run the controller that signs approved CertificateSigningRequests."""
    requests, client = cluster.informer(REQUESTS), cluster.client()

    async def reconcile(key: Key) -> None:
        found = requests.get(key)
        if found is None or not is_due(found):
            return
        changed = templates.copy(found)
        status = changed["status"]
        try:
            status["certificate"] = cluster.server.sign(found)
        except ValueError as error:
            now = format_time(cluster.clock.now())
            status["conditions"].append({
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": str(error),
                "lastUpdateTime": now,
            })  # fmt: skip
        await writes.update(client, changed, subresource="status")

    cluster.manager.add(Controller(NAME, reconcile, (Watch(REQUESTS),)))


def is_due(request: Object) -> bool:
    """Return whether a request is approved, has one of SIGNERS, and no certificate, denial or
    failure."""
    status = request.get("status") or {}
    told = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
    return (
        request["spec"]["signerName"] in SIGNERS
        and "Approved" in told
        and not told & {"Denied", "Failed"}
        and not status.get("certificate")
    )
