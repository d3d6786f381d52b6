"""Objects say in Events what this server does not run."""

from typing import Any

import pytest

import inkube
from inkube import APIServer
from inkube.controllers.core import hints

POD = {"spec": {"containers": [{"name": "a", "image": "a"}]}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, **POD}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
ONCE = {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SPECS: dict[str, dict[str, Any]] = {
    "v1/Pod": POD["spec"],
    "v1/PersistentVolumeClaim": CLAIM,
    "v1/Service": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    "v1/ReplicationController": {"selector": {"a": "b"}, "template": TEMPLATE},
    "apps/v1/Deployment": SELECTED,
    "apps/v1/ReplicaSet": SELECTED,
    "apps/v1/StatefulSet": {**SELECTED, "serviceName": "a"},
    "apps/v1/DaemonSet": SELECTED,
    "batch/v1/Job": ONCE,
    "batch/v1/CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": ONCE}},
    "autoscaling/v2/HorizontalPodAutoscaler": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "maxReplicas": 2,
    },
}


def _object(kind: str, name: str = "a") -> dict[str, Any]:
    api_version, _, kind_name = kind.rpartition("/")
    return {
        "apiVersion": api_version, "kind": kind_name,
        "metadata": {"name": name, "namespace": "default"}, "spec": SPECS[kind],
    }  # fmt: skip


async def _hinted(server: APIServer) -> dict[str, str]:
    await server.settled()
    return {
        f"{each['involvedObject']['apiVersion']}/{each['involvedObject']['kind']}": each["message"]
        for each in (await server.client.list("v1/events")).items
        if each["reason"] == hints.REASON
    }


async def test_each_object_without_a_controller_has_a_hint():
    async with APIServer(hints=True) as server:
        for kind in SPECS:
            await server.client.create(_object(kind))
        found = await _hinted(server)
    assert found.keys() == SPECS.keys()
    assert "no scheduler" in found["v1/Pod"]
    assert all("--workloads" in text for kind, text in found.items() if kind != "v1/Service")


async def test_every_kind_with_a_hint_is_in_this_test():
    kinds = [each.resource for each in (*hints.OF_WORKLOADS, *hints.ALWAYS)]
    assert len(kinds) == len(SPECS)


@pytest.mark.parametrize("options", [{}, {"hints": True, "controllers": False}])
async def test_without_the_option_or_controllers_there_are_none(options: dict[str, Any]):
    async with APIServer(**options) as server:
        for kind in SPECS:
            await server.client.create(_object(kind))
        assert await _hinted(server) == {}


async def test_simulated_workloads_leave_the_hint_about_load_balancers():
    async with APIServer(hints=True, workloads=inkube.Workloads()) as server:
        await server.client.create(_object("apps/v1/Deployment"))
        await server.client.create(_object("v1/Service"))
        assert (await _hinted(server)).keys() == {"v1/Service"}


async def test_what_has_a_node_a_volume_or_an_address_has_no_hint():
    async with APIServer(hints=True) as server:
        pod = _object("v1/Pod")
        pod["spec"] = {**pod["spec"], "nodeName": "n"}
        claim = _object("v1/PersistentVolumeClaim")
        claim["spec"] = {**claim["spec"], "volumeName": "v"}
        service = _object("v1/Service")
        service["spec"] = {"ports": [{"port": 80}]}
        for each in (pod, claim, service):
            await server.client.create(each)
        assert await _hinted(server) == {}


async def test_a_server_writes_a_bounded_number_and_none_about_older_objects(tmp_path: Any):
    async with APIServer(data=tmp_path / "it.db", hints=True) as server:
        for number in range(hints.MOST + 5):
            await server.client.create(_object("apps/v1/Deployment", f"d{number}"))
        await server.settled()
        before = len((await server.client.list("v1/events")).items)
        assert before == hints.MOST
        assert "hints-deployments" not in server.parts.core.manager.names
    async with APIServer(data=tmp_path / "it.db", hints=True) as server:
        await server.settled()
        assert len((await server.client.list("v1/events")).items) == before


def _webhook(kind: str, **client_config: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "hook"},
        "webhooks": [{
            "name": "hook.example.com", "clientConfig": client_config, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
        }],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_the_hint_of_a_webhook_without_an_address_names_its_service(kind: str):
    service = {"namespace": "default", "name": "hook"}
    async with APIServer(hints=True) as server:
        await server.client.create(_webhook(f"{kind}WebhookConfiguration", service=service))
        (text,) = (await _hinted(server)).values()
    assert 'cannot call webhook hook.example.com: service "hook" not found' in text
    assert "--service-address default/hook=HOST:PORT" in text


async def test_a_webhook_with_an_address_has_no_hint():
    service = {"namespace": "default", "name": "hook"}
    async with APIServer(hints=True, service_addresses=["default/hook=127.0.0.1:9"]) as server:
        await server.client.create(_webhook("ValidatingWebhookConfiguration", service=service))
        url = _webhook("MutatingWebhookConfiguration", url="https://127.0.0.1:9/")
        await server.client.create(url)
        assert await _hinted(server) == {}
