"""Tests of the operator. Deployments roll out on simulated nodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kopf.testing import KopfRunner

from inkube.testing import BlockingClient, Kube

WEBSITES, DEPLOYMENTS = "example.com/v1/websites", "apps/v1/deployments"
SITE = {
    "apiVersion": "example.com/v1",
    "kind": "Website",
    "metadata": {"name": "docs"},
    "spec": {"image": "docs:1", "replicas": 3},
}
pytestmark = [
    pytest.mark.kubeconfig,  # KUBECONFIG names the server of the test
    pytest.mark.kube_definitions("definition.yaml"),
    pytest.mark.kube_workloads(),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def operator(kube: Kube) -> Iterator[KopfRunner]:
    program = str(Path(__file__).with_name("websites.py"))
    with KopfRunner(["run", "-n", "default", "--standalone", program]) as runner:
        yield runner
    assert runner.exit_code == 0, runner.output


def test_a_website_is_rolled_out(
    kube: Kube, kube_client: BlockingClient, operator: KopfRunner
) -> None:
    kube_client.create(SITE)
    kube.wait_for(lambda: kube_client.get(DEPLOYMENTS, "docs")["status"]["availableReplicas"] == 3)
    kube.wait_for(lambda: kube_client.get(WEBSITES, "docs")["status"]["phase"] == "Created")


def test_a_new_image_is_rolled_out(
    kube: Kube, kube_client: BlockingClient, operator: KopfRunner
) -> None:
    kube_client.create(SITE)
    kube.wait_for(lambda: kube_client.get(WEBSITES, "docs")["status"]["phase"] == "Created")
    kube_client.patch(WEBSITES, "docs", patch={"spec": {"image": "docs:2"}})
    kube.wait_for(lambda: kube_client.get(WEBSITES, "docs")["status"]["phase"] == "Updated")
    [container] = kube_client.get(DEPLOYMENTS, "docs")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "docs:2"


def test_a_deleted_website_takes_its_deployment_along(
    kube: Kube, kube_client: BlockingClient, operator: KopfRunner
) -> None:
    kube_client.create(SITE)
    kube.wait_for(lambda: kube_client.get(WEBSITES, "docs")["status"]["phase"] == "Created")
    kube_client.delete(WEBSITES, "docs")
    kube.wait_for(lambda: kube_client.list(DEPLOYMENTS) == [])


def test_the_operator_survives_errors(
    kube: Kube, kube_client: BlockingClient, operator: KopfRunner
) -> None:
    with kube.fail("patch", "deployments", times=2, code=500) as fault:
        kube_client.create(SITE)
        kube.wait_for(lambda: kube_client.get(WEBSITES, "docs")["status"]["phase"] == "Created")
    assert fault.injected == 2
