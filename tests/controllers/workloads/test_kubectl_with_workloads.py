"""kubectl with running workloads: a user's first commands, one conversation per test."""

import json

import pytest
from patience import KUBECTL, SECONDS

pytestmark = pytest.mark.kube_workloads()
JOB = ("create", "job", "one", "--image=work:1", "--", "run")


@pytest.fixture
def web(kube, kubectl):
    """A Deployment with two replicas, rolled out."""
    kubectl("create", "deployment", "web", "--image=nginx:1.27", "--replicas=2", "--port=80")
    kubectl("rollout", "status", "deploy/web", KUBECTL)
    return kubectl


def read(kubectl, *what):
    return json.loads(kubectl("get", *what, "-o", "json"))


def test_rollout_status_history_and_undo(web):
    web("set", "image", "deploy/web", "nginx=nginx:1.28")
    said = web("rollout", "status", "deploy/web", KUBECTL)
    assert said.endswith('deployment "web" successfully rolled out\n')
    history = web("rollout", "history", "deploy/web").splitlines()
    assert [line.split()[0] for line in history[2:4]] == ["1", "2"]
    assert "nginx:1.28" in web("rollout", "history", "deploy/web", "--revision=2")
    assert web("rollout", "undo", "deploy/web") == "deployment.apps/web rolled back\n"
    web("rollout", "status", "deploy/web", KUBECTL)
    (container,) = read(web, "deploy", "web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:1.27"


def test_rollout_pause_resume_and_restart(web):
    web("set", "image", "deploy/web", "nginx=nginx:1.28")
    web("rollout", "status", "deploy/web", KUBECTL)
    assert web("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    web("set", "env", "deploy/web", "A=1")
    web(
        "wait", "deploy/web", KUBECTL,
        '--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=DeploymentPaused',
    )  # fmt: skip
    assert "paused" in web("rollout", "undo", "deploy/web", code=1)
    assert web("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"
    web("rollout", "status", "deploy/web", KUBECTL)
    assert web("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    web("rollout", "status", "deploy/web", KUBECTL)
    template = read(web, "deploy", "web")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


def test_wait_and_scale(web):
    assert web("wait", "--for=condition=Available", "deploy/web") == (
        "deployment.apps/web condition met\n"
    )
    assert web("scale", "deploy/web", "--replicas=4") == "deployment.apps/web scaled\n"
    web("wait", "--for=jsonpath={.status.readyReplicas}=4", "deploy/web", KUBECTL)
    assert len(read(web, "pods")["items"]) == 4
    web("scale", "deploy/web", "--replicas=0")
    web("wait", "--for=delete", "pod", "-l", "app=web", KUBECTL)


def test_cordon_keeps_new_pods_away(kube, web):
    assert web("cordon", "kube-node-1") == "node/kube-node-1 cordoned\n"
    assert "SchedulingDisabled" in web("get", "node", "kube-node-1")
    web("rollout", "restart", "deploy/web")
    web("rollout", "status", "deploy/web", KUBECTL)
    kube.settled()
    nodes = {pod["spec"]["nodeName"] for pod in read(web, "pods", "-l", "app=web")["items"]}
    assert nodes == {"kube-node-2"}
    assert web("uncordon", "kube-node-1") == "node/kube-node-1 uncordoned\n"


def test_drain_moves_pods_and_respects_their_budgets(kube, web):
    web("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=1")
    kube.settled()
    said = web("drain", "kube-node-1", "--ignore-daemonsets", KUBECTL)
    assert said.endswith("node/kube-node-1 drained\n")
    kube.settled()
    nodes = {pod["spec"]["nodeName"] for pod in read(web, "pods", "-l", "app=web")["items"]}
    assert nodes == {"kube-node-2"}
    web("patch", "pdb", "web", "-p", '{"spec": {"minAvailable": 2}}')
    kube.settled()
    refused = web("drain", "kube-node-2", "--ignore-daemonsets", "--timeout=4s", code=1)
    assert "violate the pod's disruption budget" in refused


def test_expose_gives_a_service_with_endpoints(kube, web):
    assert web("expose", "deploy/web") == "service/web exposed\n"
    kube.settled()
    slices = read(web, "endpointslices", "-l", "kubernetes.io/service-name=web")["items"]
    addresses = {one for each in slices for end in each["endpoints"] for one in end["addresses"]}
    assert addresses == {pod["status"]["podIP"] for pod in read(web, "pods")["items"]}


def test_autoscale_follows_what_pods_use(kube, web):
    patch = {"spec": {"template": {
        "metadata": {"annotations": {"kwok.x-k8s.io/usage-cpu": "200m"}},
        "spec": {"containers": [{"name": "nginx", "resources": {"requests": {"cpu": "100m"}}}]},
    }}}  # fmt: skip
    web("patch", "deploy/web", "-p", json.dumps(patch))
    web("rollout", "status", "deploy/web", KUBECTL)
    said = web("autoscale", "deploy/web", "--min=2", "--max=6", "--cpu-percent=50")
    assert said == "horizontalpodautoscaler.autoscaling/web autoscaled\n"

    def grown():
        kube.advance(30)
        return kube.client.get("apps/v1/deployments", "web", "default")["spec"]["replicas"] == 6

    kube.wait_for(grown, within=SECONDS)


def test_jobs_complete_and_cron_jobs_make_more(kube, kubectl):
    kubectl(*JOB)
    kube.advance(2)
    assert kubectl("wait", "--for=condition=Complete", "job/one") == (
        "job.batch/one condition met\n"
    )
    kubectl("create", "cronjob", "tick", "--image=work:1", "--schedule=0 * * * *")
    assert kubectl("create", "job", "by-hand", "--from=cronjob/tick") == (
        "job.batch/by-hand created\n"
    )
    kube.settled()
    kube.advance(2)
    assert kubectl("wait", "--for=condition=Complete", "job/by-hand", KUBECTL)


def test_logs_of_a_deployment_are_followed(kube, web):
    kube.client.create({
        "apiVersion": "workloads.inkube.dev/v1", "kind": "Script",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "logs": [{"text": "started\n"}, {"after": "1m", "text": "served\n"}],
            "exec": [{"command": ["hostname"], "stdout": "web\n"}],
        },
    })  # fmt: skip
    following = web.start("logs", "-f", "deploy/web")
    lines = (line for line in following.stdout if not line.startswith("Found "))
    assert next(lines) == "started\n"
    kube.advance(61)
    assert next(lines) == "served\n"
    assert "web\n" in web("exec", "deploy/web", "--", "hostname")
    web("delete", "deploy/web")
    assert "web" not in following.communicate(timeout=SECONDS)[0]


def test_daemon_sets_follow_nodes(kube, kubectl):
    kubectl("apply", "-f", "-", text=json.dumps({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "image": "agent:1"}]},
            },
        },
    }))  # fmt: skip
    kubectl("rollout", "status", "ds/agent", KUBECTL)
    kubectl("apply", "-f", "-", text=json.dumps({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "more", "annotations": {"kwok.x-k8s.io/node": "fake"}},
    }))  # fmt: skip
    kubectl("wait", "--for=jsonpath={.status.numberReady}=3", "ds/agent", KUBECTL)
    kubectl("delete", "node", "more")
