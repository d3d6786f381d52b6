"""The unmodified official Python client: typed, custom and dynamic objects, watches, election."""

import pytest
import yaml

kubernetes = pytest.importorskip("kubernetes")

from kubernetes import client, config, dynamic, watch  # noqa: E402

GROUP = "clients.example.com"


@pytest.fixture
def api(config_dict):
    """A configured ApiClient."""
    made = config.new_client_from_config_dict(config_dict)
    yield made
    made.close()


@pytest.fixture
def config_dict(kube):
    return yaml.safe_load(kube.kubeconfig())


def test_typed_objects_are_written_read_and_listed(api, namespace):
    core = client.CoreV1Api(api)
    made = core.create_namespaced_config_map(
        namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"})
    )
    core.patch_namespaced_config_map("a", namespace, {"data": {"k": "w"}})
    read = core.read_namespaced_config_map("a", namespace)
    listed = core.list_namespaced_config_map(namespace, limit=1)
    assert made.metadata.uid == read.metadata.uid
    assert read.data == {"k": "w"}
    assert [item.metadata.name for item in listed.items] == ["a"]


def test_a_missing_object_is_an_api_exception_with_its_reason(api, namespace):
    with pytest.raises(client.ApiException) as error:
        client.CoreV1Api(api).read_namespaced_config_map("none", namespace)
    assert error.value.status == 404
    assert '"reason":"NotFound"' in error.value.body


def test_a_watch_resumes_where_the_list_ended(api, namespace, kube, crab):
    objects = client.CustomObjectsApi(api)
    where = (GROUP, "v1", namespace, "crabs")
    listed = objects.list_namespaced_custom_object(*where)
    for size in (1, 2):
        kube.client.create(crab(f"c{size}", size=size))
    kube.client.delete(f"{GROUP}/v1/crabs", "c1", namespace)
    stream = watch.Watch().stream(
        objects.list_namespaced_custom_object,
        *where,
        resource_version=listed["metadata"]["resourceVersion"],
        timeout_seconds=1,
    )
    seen = [(event["type"], event["object"]["metadata"]["name"]) for event in stream]
    assert seen == [("ADDED", "c1"), ("ADDED", "c2"), ("DELETED", "c1")]


def test_the_dynamic_client_finds_kinds_by_discovery(api, namespace, crab, tmp_path):
    found = dynamic.DynamicClient(api, cache_file=str(tmp_path / "cache"))
    crabs = found.resources.get(api_version=f"{GROUP}/v1", kind="Crab")
    crabs.create(body=crab("d", size=4), namespace=namespace)
    applied = crabs.server_side_apply(
        body={**crab("d"), "spec": {"size": 5}},
        namespace=namespace,
        name="d",
        field_manager="tester",
        force_conflicts=True,
    )
    assert crabs.get(name="d", namespace=namespace).spec.size == applied.spec.size == 5
