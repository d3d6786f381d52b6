"""A change while the scheduler reserves volumes brings the pod back, as every later change does.

kube-scheduler keeps the events of the time in which it places a pod (active_queue.go,
inFlightEvents).
"""

import asyncio
import random
from typing import Any

import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock
from inkube.controllers.workloads import Workloads, writes

CLAIMS, SELECTED_NODE = "v1/persistentvolumeclaims", "volume.kubernetes.io/selected-node"
CLASSES = {
    "immediate": ("Immediate", "kubernetes.io/no-provisioner"),
    "late": ("WaitForFirstConsumer", "kubernetes.io/no-provisioner"),
    "provisioned": ("WaitForFirstConsumer", "example.com/provisioner"),
}


def storage_class(name: str) -> dict[str, Any]:
    mode, provisioner = CLASSES[name]
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": provisioner, "volumeBindingMode": mode}


def claim(name: str, of_class: str, volume: str = "") -> dict[str, Any]:
    spec = {
        "storageClassName": of_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        **({"volumeName": volume} if volume else {}),
    }
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec,
    }  # fmt: skip


def volume(name: str, of_class: str, reference: dict[str, str] | None = None) -> dict[str, Any]:
    spec = {
        "storageClassName": of_class,
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
        **({"claimRef": {"namespace": "default", **reference}} if reference else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


def pod(name: str, claims: list[str]) -> dict[str, Any]:
    own = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    spec = {"volumes": own, "containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def server(seed: int = 0) -> APIServer:
    """Return a server whose clock stands still: nothing is tried again later."""
    return APIServer(workloads=Workloads(seed=seed), clock=FakeClock())


async def test_a_claim_that_changes_during_its_reservation_is_reserved_again(monkeypatch):
    update, changed = writes.update, []

    async with server() as kube:

        async def delayed(client: Any, obj: Any, **options: Any) -> Any:
            """Let somebody else change the object first, and everybody read that."""
            if not changed and SELECTED_NODE in obj["metadata"].get("annotations", {}):
                changed.append(obj)
                patch = {"metadata": {"labels": {"changed": "yes"}}}
                await kube.client.patch(CLAIMS, "data", "default", patch=patch)
                for _ in range(100):
                    await asyncio.sleep(0)
            return await update(client, obj, **options)

        await kube.client.create(storage_class("provisioned"))
        await kube.client.create(claim("data", "provisioned"))
        await kube.settled()
        monkeypatch.setattr(writes, "update", delayed)
        await kube.client.create(pod("p", ["data"]))
        await kube.settled()
        found = await kube.client.get(CLAIMS, "data", "default")
        assert changed
        assert found["metadata"]["labels"] == {"changed": "yes"}
        assert SELECTED_NODE in found["metadata"]["annotations"]


def everything(numbers: random.Random) -> list[dict[str, Any]]:
    """Return classes, claims, volumes and pods in any order. Each claim finds a volume, or a
    provisioner creates it."""
    found = [storage_class(name) for name in CLASSES]
    for number in range(numbers.choice([1, 3, 6])):
        claims = [f"c{number}-{each}" for each in range(numbers.choice([1, 2, 3]))]
        found.append(pod(f"p{number}", claims))
        for name in claims:
            of_class = numbers.choice(list(CLASSES))
            is_meant = of_class == "immediate" and numbers.choice([True, False])
            found.append(claim(name, of_class, name if is_meant else ""))
            if of_class != "provisioned":
                found.append(volume(name, of_class, {"name": name} if is_meant else None))
    numbers.shuffle(found)
    return found


async def provision(kube: APIServer) -> None:
    """Create the volumes for which the scheduler chose a node, as a provisioner does, until there
    are none."""
    known: set[str] = set()
    while True:
        await kube.settled()
        page = await kube.client.list(CLAIMS)
        wanted = [
            each["metadata"]
            for each in page.items
            if SELECTED_NODE in each["metadata"].get("annotations", {})
            and each["metadata"]["name"] not in known
        ]
        if not wanted:
            return
        for meta in wanted:
            known.add(meta["name"])
            reference = {"name": meta["name"], "uid": meta["uid"]}
            await kube.client.create(volume(f"of-{meta['name']}", "provisioned", reference))


@pytest.mark.parametrize("seed", range(6))
async def test_pods_are_placed_in_any_order_of_creation_without_a_later_attempt(seed):
    numbers = random.Random(seed)
    async with server(seed) as kube:
        waiting = iter(everything(numbers))

        async def create() -> None:
            for each in waiting:
                await kube.client.create(each)
                for _ in range(numbers.choice([0, 1, 10])):
                    await asyncio.sleep(0)

        await asyncio.gather(*(create() for _ in range(numbers.choice([1, 4, 16]))))
        await provision(kube)
        claims, pods = (await kube.client.list(CLAIMS)), (await kube.client.list("v1/pods"))
        assert {each["status"]["phase"] for each in claims.items} == {"Bound"}
        assert [each for each in pods.items if not each["spec"].get("nodeName")] == []
