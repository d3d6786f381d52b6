"""Lists of container statuses are atomic, so a kubelet writes those of all containers each time."""

import random

import pytest
import workloads as w

pytestmark = pytest.mark.kube_workloads(bare_pods_run=True)
MEMBERS = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}


def container(choice, name, **more):
    made = {"name": name, "image": "i", "resources": {"requests": {"cpu": "100m"}}, **more}
    if choice.random() < 0.5 and "init" not in name:
        made["readinessProbe"] = {
            "exec": {"command": ["x"]},
            "initialDelaySeconds": choice.choice([1, 5, 20]),
        }
    if choice.random() < 0.3:
        restart = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
        made["resizePolicy"] = [restart]
    return made


def is_whole(kube):
    pod = kube.client.get(w.PODS, "p", "default")
    for member, specs in MEMBERS.items():
        names = [one["name"] for one in pod["spec"][specs]]
        assert [one["name"] for one in pod["status"].get(member, names)] == names
    return pod


@pytest.mark.parametrize("seed", range(6))
def test_all_containers_keep_their_statuses(kube, seed):
    choice = random.Random(seed)
    containers = [container(choice, f"c{at}") for at in range(3)]
    inits = [container(choice, f"init{at}", restartPolicy="Always") for at in range(2)]
    kube.client.create(w.pod(containers=containers, initContainers=inits))
    kube.settled()
    for _ in range(8):
        pod = is_whole(kube)
        act = choice.choice(("resize", "wait", "end", "forget"))
        if act == "resize":
            specs = choice.choice(["containers", "initContainers"])
            one = choice.choice(pod["spec"][specs])["name"]
            amount = {"resources": {"requests": {"cpu": f"{choice.randint(1, 9)}00m"}}}
            patch = {"spec": {specs: [{"name": one, **amount}]}}
            kube.client.patch(
                w.PODS, "p", "default", patch=patch, type="strategic", subresource="resize"
            )
        elif act != "wait":
            statuses = pod["status"]["containerStatuses"]
            one = choice.choice(statuses)
            if act == "end":
                one["state"] = {"terminated": {"exitCode": 1, "reason": "Error"}}
            else:
                one.pop("resources", None)
            patch = {"status": {"containerStatuses": statuses}}
            kube.client.patch(w.PODS, "p", "default", patch=patch, subresource="status")
        kube.settled()
        is_whole(kube)
        kube.advance(choice.choice([1, 6, 30]))
    assert is_whole(kube)["status"]["phase"] == "Running"
