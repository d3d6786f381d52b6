"""OpenAPI: the index, a document per group and version, the merged version 2, and caching."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


async def test_the_index_names_every_group_version_with_a_hash(web):
    paths = (await web.ask("GET", "/openapi/v3")).json["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/example.com/v1"} <= set(paths)
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


async def test_a_document_at_its_hash_is_immutable_and_its_etag_is_honoured(web):
    paths = (await web.ask("GET", "/openapi/v3")).json["paths"]
    answer = await web.ask("GET", paths["apis/example.com/v1"]["serverRelativeURL"])
    again = await web.ask(
        "GET", "/openapi/v3/apis/example.com/v1", If_None_Match=answer.headers["ETag"]
    )
    assert "immutable" in answer.headers["Cache-Control"]
    assert (again.code, again.body) == (304, b"")


async def test_a_kind_is_described_with_its_paths_and_parameters(web):
    document = (await web.ask("GET", "/openapi/v3/apis/example.com/v1")).json
    schema = document["components"]["schemas"]["com.example.v1.Boat"]
    mark = {"group": "example.com", "version": "v1", "kind": "Boat"}
    path = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/boats/{name}"]
    parameters = {each["name"] for each in path["patch"]["parameters"]}
    assert schema["x-kubernetes-group-version-kind"] == [mark]
    assert path["patch"]["x-kubernetes-group-version-kind"] == mark
    assert "fieldValidation" in parameters


async def test_every_reference_of_a_document_leads_somewhere(web):
    paths = (await web.ask("GET", "/openapi/v3")).json["paths"]
    for path in paths:
        document = (await web.ask("GET", f"/openapi/v3/{path}")).json
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known, path


async def test_version_2_has_everything_as_json_and_as_protobuf(web):
    merged = (await web.ask("GET", "/openapi/v2")).json
    packed = await web.ask("GET", "/openapi/v2", Accept=PROTOBUF)
    known = {f"#/definitions/{name}" for name in merged["definitions"]}
    assert {"com.example.v1.Boat", "io.k8s.api.core.v1.ConfigMap"} <= set(merged["definitions"])
    assert set(references(merged)) <= known
    assert packed.headers["Content-Type"].endswith("+protobuf")
    assert packed.body.startswith(b"\x0a\x032.0")
    assert b"com.example.v1.Boat" in packed.body


async def test_groups_that_are_not_served_have_no_document(web):
    assert (await web.ask("GET", "/openapi/v3/apis/example.com/v9")).code == 404


def references(node):
    """Yield every `$ref` below a node."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


async def test_shared_parameters_are_listed_once_at_the_path(web):
    paths = (await web.ask("GET", "/openapi/v3/apis/apps/v1")).json["paths"]
    item = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert [each["name"] for each in item["parameters"]] == ["name", "namespace", "pretty"]
    assert "parameters" not in item["get"]
    assert [each["name"] for each in item["put"]["parameters"]] == [
        "dryRun", "fieldManager", "fieldValidation",
    ]  # fmt: skip
    assert set(item["put"]["responses"]) == {"200", "201", "401"}


async def test_deprecated_watches_and_subresources_have_paths(web):
    paths = (await web.ask("GET", "/openapi/v3/api/v1")).json["paths"]
    watch = paths["/api/v1/watch/namespaces/{namespace}/pods"]["get"]
    assert watch["operationId"] == "watchCoreV1NamespacedPodList"
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    assert paths[f"{pod}/exec"]["post"]["operationId"] == "connectCoreV1PostNamespacedPodExec"
    assert paths[f"{pod}/proxy/{{path}}"]["get"]["x-kubernetes-action"] == "connect"
    assert paths[f"{pod}/status"]["get"]["description"] == "read status of the specified Pod"
    deleted = paths[pod]["delete"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert deleted["$ref"].endswith(".v1.Pod")
    assert "/api/v1/bindings" not in paths


async def test_operation_ids_are_unique(web):
    paths = (await web.ask("GET", "/openapi/v2")).json["paths"]
    names = [
        operation["operationId"]
        for item in paths.values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert sorted(names) == sorted(set(names))


async def test_groups_and_what_is_in_none_have_documents(web):
    index = (await web.ask("GET", "/openapi/v3")).json["paths"]
    wanted = {"api", "apis", "apis/apps", "version", "openid/v1/jwks"}
    assert wanted <= set(index)
    assert "apis/example.com" not in index
    document = (await web.ask("GET", "/openapi/v3/apis/apps")).json
    assert document["paths"]["/apis/apps/"]["get"]["operationId"] == "getAppsAPIGroup"


async def test_enumerations_name_their_values(web):
    schemas = (await web.ask("GET", "/openapi/v3/api/v1")).json["components"]["schemas"]
    effect = schemas["io.k8s.api.core.v1.Taint"]["properties"]["effect"]
    assert effect["enum"] == ["NoExecute", "NoSchedule", "PreferNoSchedule"]
    modes = schemas["io.k8s.api.core.v1.PersistentVolumeSpec"]["properties"]["accessModes"]
    assert "ReadWriteOnce" in modes["items"]["enum"]
