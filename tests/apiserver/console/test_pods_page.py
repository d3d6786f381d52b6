"""Pages of workloads, their pods, and the pods' logs."""

from inkube.controllers.workloads import Workloads

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}


def test_a_deployment_leads_to_its_pods_and_their_logs(start, read, expect):
    kube = start(workloads=Workloads(nodes=1))
    kube.client.create(DEPLOYMENT)
    page = read(kube).go("object/apps/v1/deployments/default/web")
    page.get_by_role("tab", name="Pods").click()
    links = page.get_by_role("link", name="Logs of web-")
    expect(links).to_have_count(2)
    links.first.click()
    expect(page.get_by_label("Container")).to_have_value("web")
    expect(page.get_by_label("Log", exact=True)).to_be_visible()
    expect(page.get_by_text("Owned by")).to_be_visible()
