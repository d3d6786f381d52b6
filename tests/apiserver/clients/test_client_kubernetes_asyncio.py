"""Unmodified kubernetes_asyncio."""

import pytest

kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio")

from kubernetes_asyncio import client, config, watch  # noqa: E402


async def test_objects_are_written_listed_and_watched(kube, namespace, kubeconfig):
    await config.load_kube_config(config_file=str(kubeconfig))
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        listed = await core.list_namespaced_config_map(namespace)
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"})
        await core.create_namespaced_config_map(namespace, body)
        await core.delete_namespaced_config_map("a", namespace)
        async with watch.Watch().stream(
            core.list_namespaced_config_map,
            namespace,
            resource_version=listed.metadata.resource_version,
            timeout_seconds=1,
        ) as stream:
            seen = [(event["type"], event["object"].metadata.name) async for event in stream]
    assert seen == [("ADDED", "a"), ("DELETED", "a")]
