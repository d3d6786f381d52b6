"""`inkube plan --workloads`: what the controllers would do with the planned objects."""

import json

import pytest
import yaml
from click.testing import CliRunner

from inkube import APIServer, Workloads
from inkube.apiserver.cli import main


def node(name, cpu):
    resources = {"cpu": cpu, "memory": "1Gi", "pods": "10"}
    status = {"allocatable": resources, "capacity": resources}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def deployment(name, cpu, image="a"):
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 3, "selector": selector, "template": template},
    }  # fmt: skip


def budget(least):
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}
    meta = {"name": "few", "namespace": "default"}
    return {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec,
    }  # fmt: skip


@pytest.fixture
async def planned(tmp_path):
    """`planned(*objects, output=…)`: the exit code and output of a plan for a small cluster."""
    data = tmp_path / "a.db"
    options = {"workloads": Workloads(nodes=0, manage_all_nodes=True), "data": data}
    async with APIServer(**options) as server:
        for name in ("left", "right"):
            await server.client.create(node(name, "1"))
        await server.client.create(deployment("web", "200m"))
        await server.settled()

    def run(*objects, output="json"):
        file = tmp_path / "set.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        command = ["plan", "-f", str(file), "--data", str(data), "--workloads", "-o", output]
        done = CliRunner().invoke(main, [*command, "--force-conflicts"])
        assert done.exit_code == 2, done.output
        return json.loads(done.stdout)["effects"] if output == "json" else done.stdout

    return run


def texts(effects):
    return {each["object"]: each["text"] for each in effects}


def test_rollouts_are_counted(planned):
    found = planned(deployment("web", "200m", image="b"))
    assert texts(found) == {"Deployment default/web": "3 pods created, 3 pods deleted"}
    assert not any(each["is_problem"] for each in found)


def test_pods_that_fit_on_no_node_are_named(planned):
    first, pending, *others = planned(deployment("big", "700m"))
    assert first["text"] == "3 pods created"
    assert pending["object"] == "Deployment default/big"
    assert pending["text"].startswith("2 pods pending: 0/2 nodes are available: ")
    assert "2 Insufficient cpu" in pending["text"]
    assert pending["is_problem"]
    assert any("Available is False" in each["text"] for each in others)


def test_budgets_that_block_are_named(planned):
    text = "permits no eviction: 3 pods are healthy, 3 must be"
    assert texts(planned(budget(3))) == {"PodDisruptionBudget default/few": text}
    assert planned(budget(2)) == []


def test_pods_that_a_quota_refuses_are_named(planned):
    spec = {"hard": {"pods": "4"}}
    meta = {"name": "few", "namespace": "default"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec}
    found = planned(quota, deployment("more", "10m"))
    assert any("exceeded quota: few" in each["text"] for each in found)


def test_the_text_has_a_part_for_controllers(planned):
    lines = planned(deployment("web", "200m", image="b"), output="text").splitlines()
    start = lines.index("Then, the controllers would:")
    assert lines[start + 1] == "  ~ Deployment default/web: 3 pods created, 3 pods deleted"
    assert "    do nothing" in planned(budget(2), output="text")
