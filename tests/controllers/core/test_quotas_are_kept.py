"""Resource quotas on object counts, and limit ranges, on a real server."""

import asyncio

import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError

QUOTAS = "v1/resourcequotas"


def quota(**hard):
    meta = {"name": "q", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}}


def config_map(name):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def used(server):
    return (await server.client.get(QUOTAS, "q", "default"))["status"]["used"]


async def test_what_is_there_already_is_counted():
    async with APIServer() as server:
        await server.client.create(config_map("a"))
        await server.client.create(quota(configmaps="5", secrets="1"))
        await server.settled()
        assert await used(server) == {"configmaps": "1", "secrets": "0"}


async def test_a_create_beyond_the_quota_is_refused_and_a_delete_makes_room():
    async with APIServer() as server:
        await server.client.create(quota(**{"count/configmaps": "1"}))
        await server.client.create(config_map("a"))
        assert await used(server) == {"count/configmaps": "1"}
        with pytest.raises(StatusError) as refused:
            await server.client.create(config_map("b"))
        assert refused.value.code == 403
        assert "requested: count/configmaps=1, used: count/configmaps=1" in refused.value.message
        await server.client.delete("v1/configmaps", "a", "default")
        await server.settled()
        assert await used(server) == {"count/configmaps": "0"}
        await server.client.create(config_map("b"))


async def test_creates_at_the_same_time_do_not_share_the_last_place():
    async with APIServer() as server:
        await server.client.create(quota(configmaps="3"))
        await server.settled()
        outcomes = await asyncio.gather(
            *(server.client.create(config_map(f"m{number}")) for number in range(10)),
            return_exceptions=True,
        )
        assert sum(isinstance(outcome, dict) for outcome in outcomes) == 3
        assert await used(server) == {"configmaps": "3"}


async def test_a_dry_run_uses_nothing():
    async with APIServer() as server:
        await server.client.create(quota(configmaps="1"))
        await server.settled()
        await server.client.create(config_map("a"), dry_run=True)
        assert await used(server) == {"configmaps": "0"}


async def test_a_changed_limit_counts_at_once():
    async with APIServer() as server:
        await server.client.create(quota(configmaps="1"))
        await server.client.create(config_map("a"))
        patch = {"spec": {"hard": {"configmaps": "2"}}}
        await server.client.patch(QUOTAS, "q", "default", patch=patch)
        await server.client.create(config_map("b"))
        await server.settled()
        found = await server.client.get(QUOTAS, "q", "default")
        assert found["status"] == {"hard": {"configmaps": "2"}, "used": {"configmaps": "2"}}


async def test_a_limit_without_usage_in_the_status_refuses_what_it_limits_and_nothing_else():
    async with APIServer(controllers=False) as server:
        made = await server.client.create(quota(configmaps="5", secrets="5"))
        made["status"] = {"hard": {"configmaps": "5", "count/configmaps": "5"}}
        made["status"]["used"] = {"count/configmaps": "0"}
        await server.client.update(made, subresource="status")
        with pytest.raises(StatusError) as refused:
            await server.client.create(config_map("a"))
        assert refused.value.code == 403
        assert refused.value.message.endswith(
            "is forbidden: status unknown for quota: q, resources: configmaps,count/configmaps"
        )
        await server.client.create({**config_map("a"), "kind": "Secret"})


async def accepted(server, tries):
    """Return how many of some ConfigMaps are created, if each is deleted at once."""
    for number in range(tries):
        try:
            await server.client.create(config_map(f"m{number}"))
        except StatusError as error:
            if error.code != 403:
                raise
            return number
        await server.client.delete("v1/configmaps", f"m{number}", "default")
        await server.settled()
    return tries


@pytest.mark.parametrize("controllers", [True, False])
@pytest.mark.parametrize("observed", [None, "0", "1", "3"])
async def test_the_limit_of_the_spec_holds_from_the_start_and_only_a_controller_gives_back(
    controllers, observed
):
    """The status may be unknown, or have another limit. What is there already counts; a deletion
    counts where the controller runs."""
    async with APIServer(controllers=controllers) as server:
        await server.client.create(config_map("there"))
        made = await server.client.create(quota(configmaps="3", secrets="5"))
        if observed is not None:
            status = {"hard": {"configmaps": observed}, "used": {"configmaps": "1"}}
            await server.client.update({**made, "status": status}, subresource="status")
        assert await accepted(server, 4) == (4 if controllers else 2)
        await server.client.create({**config_map("a"), "kind": "Secret"})
        assert await used(server) == {"configmaps": "1" if controllers else "3", "secrets": "1"}
        if controllers:
            found = await server.client.get(QUOTAS, "q", "default")
            assert found["status"]["hard"] == made["spec"]["hard"]


async def test_node_ports_are_counted_by_the_service_that_has_them():
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}, {"name": "b", "port": 81}]},
    }
    service["spec"]["ports"][0]["name"] = "a"
    async with APIServer() as server:
        await server.client.create(quota(**{"services.nodeports": "1", "services": "5"}))
        with pytest.raises(StatusError, match=r"services\.nodeports=2"):
            await server.client.create(service)


async def test_containers_get_what_a_limit_range_gives_and_no_more_than_it_allows():
    limits = [{"type": "Container", "default": {"memory": "64Mi"}, "max": {"cpu": "2"}}]
    ranges = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": limits},
    }
    container = {"name": "c", "image": "i"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [container]},
    }
    async with APIServer() as server:
        await server.client.create(ranges)
        made = await server.client.create(pod)
        resources = made["spec"]["containers"][0]["resources"]
        assert resources["limits"] == {"cpu": "2", "memory": "64Mi"}
        greedy = {**container, "resources": {"limits": {"cpu": "3"}}}
        body = {
            **pod,
            "metadata": {**pod["metadata"], "name": "g"},
            "spec": {"containers": [greedy]},
        }
        with pytest.raises(
            StatusError, match="maximum cpu usage per Container is 2, but limit is 3"
        ):
            await server.client.create(body)


async def test_extended_resources_of_device_classes_count_pods_and_claims():
    implicit, named = (
        f"requests.{each}" for each in ("deviceclass.resource.kubernetes.io/gpu", "example.com/gpu")
    )
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"},
    }
    exactly = {"deviceClassName": "gpu", "count": 2}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    wanted = {"example.com/gpu": "1"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "containers": [
                {"name": "c", "image": "i", "resources": {"requests": wanted, "limits": wanted}}
            ]
        },
    }
    async with APIServer() as server:
        await server.client.create(quota(**{implicit: "3", named: "3"}))
        await server.client.create(claim)
        await server.settled()
        assert await used(server) == {implicit: "0", named: "0"}
        await server.client.create(device_class)
        await server.settled()
        assert await used(server) == {implicit: "2", named: "2"}
        await server.client.create(pod)
        assert await used(server) == {implicit: "2", named: "3"}
        with pytest.raises(StatusError) as refused:
            await server.client.create({**claim, "metadata": {**claim["metadata"], "name": "d"}})
        assert f"exceeded quota: q, requested: {implicit}=2,{named}=2" in refused.value.message
        await server.client.delete("resource.k8s.io/v1/deviceclasses", "gpu")
        await server.settled()
        assert await used(server) == {implicit: "0", named: "1"}


async def test_a_pod_that_gets_into_the_scope_of_a_quota_needs_room_there():
    def pod(name, **spec):
        meta = {"name": name, "namespace": "default"}
        spec = {"containers": [{"name": "c", "image": "i"}], **spec}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    limited = quota(pods="1")
    limited["spec"]["scopes"] = ["Terminating"]
    async with APIServer(modules="none") as server:
        await server.client.create(limited)
        for each in (pod("a"), pod("b")):
            await server.client.create(each)
        first, second = [await server.client.get("v1/pods", name, "default") for name in "ab"]
        first["spec"]["activeDeadlineSeconds"] = second["spec"]["activeDeadlineSeconds"] = 60
        await server.client.update(first)
        assert await used(server) == {"pods": "1"}
        with pytest.raises(StatusError, match="requested: pods=1, used: pods=1, limited: pods=1"):
            await server.client.update(second)
        second["metadata"]["labels"] = {"a": "b"}
        del second["spec"]["activeDeadlineSeconds"]
        await server.client.update(second)
