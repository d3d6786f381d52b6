"""Unmodified lightkube: typed and generic resources, sync and async, watches."""

import pytest

lightkube = pytest.importorskip("lightkube")

from lightkube import AsyncClient, Client, KubeConfig  # noqa: E402
from lightkube.generic_resource import create_namespaced_resource  # noqa: E402
from lightkube.models.meta_v1 import ObjectMeta  # noqa: E402
from lightkube.resources.core_v1 import ConfigMap  # noqa: E402
from lightkube.types import PatchType  # noqa: E402

GROUP = "clients.example.com"
Crab = create_namespaced_resource(GROUP, "v1", "Crab", "crabs")


@pytest.fixture
def client(kubeconfig):
    with Client(KubeConfig.from_file(str(kubeconfig)), trust_env=False) as client:
        yield client


def test_typed_and_generic_objects_are_written_and_read_back(client, namespace, crab):
    client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data={"k": "v"}))
    client.create(Crab(crab("g", size=1)))
    patched = client.patch(
        Crab, "g", {"spec": {"size": 2}}, namespace=namespace, patch_type=PatchType.MERGE
    )
    assert patched["spec"] == {"size": 2}
    assert [each.data for each in client.list(ConfigMap, namespace=namespace)] == [{"k": "v"}]
    client.delete(Crab, "g", namespace=namespace)
    with pytest.raises(lightkube.ApiError) as error:
        client.get(Crab, "g", namespace=namespace)
    assert error.value.status.reason == "NotFound"


async def test_an_async_watch_begins_at_a_version(kubeconfig, namespace, kube, crab):
    client = AsyncClient(KubeConfig.from_file(str(kubeconfig)), trust_env=False)
    first = await client.create(Crab(crab("a", size=1)))
    await client.create(Crab(crab("b", size=2)))
    seen = []
    version = first.metadata.resourceVersion
    async for kind, obj in client.watch(Crab, namespace=namespace, resource_version=version):
        seen.append((kind, obj.metadata.name))
        break
    await client.close()
    assert seen == [("ADDED", "b")]
