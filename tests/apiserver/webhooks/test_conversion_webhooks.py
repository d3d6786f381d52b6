"""Custom resources that a webhook converts: reads, writes, lists, watches, failures."""

import pytest
import pytest_asyncio
from aiohttp import web
from endpoints import BUNDLE, LEAF, serving
from patience import within

from inkube import APIServer
from inkube.apiserver.webhooks.calls import conversion
from inkube.schemas.status import StatusError

V1, V2 = "example.com/v1/boats", "example.com/v2/boats"
CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
FIELDS = {"v1": "length", "v2": "meters"}


class Converter:
    """Moves `length` to `meters` and back; `spoil` may change its response."""

    def __init__(self):
        self.url = ""
        self.heard = []
        self.spoil = lambda response: None

    async def __call__(self, request):
        review = await request.json()
        asked = review["request"]
        self.heard.append(asked)
        wanted = asked["desiredAPIVersion"]
        response = {
            "uid": asked["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [convert(obj, wanted) for obj in asked["objects"]],
        }
        self.spoil(response)
        return web.json_response({**review, "response": response})


def convert(obj, wanted):
    old, new = (FIELDS[name.rpartition("/")[2]] for name in (obj["apiVersion"], wanted))
    return {**obj, "apiVersion": wanted, "spec": {new: obj["spec"].get(old)}}


def definition(url, bundle=BUNDLE):
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"kind": "Boat", "plural": "boats"},
            "versions": [version(name) for name in FIELDS],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"url": url, "caBundle": bundle},
                },
            },
        },
    }


def version(name):
    spec = {"type": "object", "properties": {FIELDS[name]: {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "name": name, "served": True, "storage": name == "v1", "schema": schema,
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": f".spec.{FIELDS[name]}"}
        ],
    }  # fmt: skip


def boat(name, served="v1", size=7):
    return {
        "apiVersion": f"example.com/{served}",
        "kind": "Boat",
        "metadata": {"name": name, "labels": {"a": "b"}},
        "spec": {FIELDS[served]: size},
    }


@pytest_asyncio.fixture
async def converter():
    made = Converter()
    async with serving(made) as made.url:
        yield made


@pytest_asyncio.fixture
async def client(converter):
    async with APIServer() as server:
        await server.client.create(definition(converter.url))
        await server.settled()
        yield server.client


async def test_an_object_is_read_in_the_other_version(client):
    await client.create(boat("argo"))
    found = await client.get(V2, "argo")
    assert (found["apiVersion"], found["spec"]) == ("example.com/v2", {"meters": 7})


async def test_the_serving_certificate_itself_is_an_authority(converter):
    async with APIServer() as server:
        await server.client.create(definition(converter.url, LEAF))
        await server.settled()
        await server.client.create(boat("argo"))
        assert (await server.client.get(V2, "argo"))["spec"] == {"meters": 7}


async def test_each_form_of_a_table_shows_converted_values(converter, web_of):
    """Its columns are those of the version that the client reads."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    async with APIServer() as server, web_of(server) as web:
        await server.client.create(definition(converter.url))
        await server.settled()
        await server.client.create(boat("argo"))
        for served, field in FIELDS.items():
            path = f"/apis/example.com/{served}/boats"
            forms = [path, f"{path}/argo"]
            if served == "v2":
                forms.append(f"{path}?watch=1&timeoutSeconds=1&resourceVersion=0")
            for where in forms:
                query = f"{'&' if '?' in where else '?'}includeObject=Object"
                found = (await web.ask("GET", where + query, Accept=accept)).json
                [row] = found.get("object", found)["rows"]
                assert row["cells"] == ["argo", 7], where
                assert row["object"]["spec"] == {field: 7}, where


async def test_an_object_is_stored_in_the_storage_version(client):
    made = await client.create(boat("argo", "v2"))
    assert made["spec"] == {"meters": 7}
    assert (await client.get(V1, "argo"))["spec"] == {"length": 7}


async def test_a_list_is_one_request(client, converter):
    for name in "abc":
        await client.create(boat(name))
    converter.heard.clear()
    found = await client.list(V2)
    assert [obj["spec"] for obj in found.items] == [{"meters": 7}] * 3
    assert [len(asked["objects"]) for asked in converter.heard] == [3]


async def test_conversions_are_cached_for_a_second_while_the_object_does_not_change(
    client, converter, monkeypatch
):
    assert conversion.CACHE_SECONDS == 1
    monkeypatch.setattr(conversion, "CACHE_SECONDS", 60)
    await client.create(boat("argo"))
    converter.heard.clear()
    for expected in (1, 1):
        assert (await client.list(V2)).items[0]["spec"] == {"meters": 7}
        assert len(converter.heard) == expected
    await client.patch(V1, "argo", patch={"spec": {"length": 8}})
    converter.heard.clear()
    assert (await client.get(V2, "argo"))["spec"] == {"meters": 8}
    assert len(converter.heard) == 1
    monkeypatch.setattr(conversion, "CACHE_SECONDS", -1)
    await client.get(V2, "argo")
    assert len(converter.heard) == 2


async def test_reads_in_the_storage_version_call_no_webhook(client, converter):
    await client.create(boat("argo"))
    await client.list(V1)
    assert converter.heard == []


async def test_reads_in_the_version_in_which_an_object_is_stored_call_no_webhook(converter):
    """Also after another version became the stored one."""
    crd = definition(converter.url)
    async with APIServer() as server:
        client = server.client
        await client.create(crd)
        await server.settled()
        await client.create(boat("argo"))
        for version in crd["spec"]["versions"]:
            version["storage"] = version["name"] == "v2"
        await client.patch(CRDS, "boats.example.com", patch={"spec": crd["spec"]})
        await server.settled()
        for found in (await client.get(V1, "argo"), (await client.list(V1)).items[0]):
            assert found["spec"] == {"length": 7}
        assert converter.heard == []
        converter.spoil = refuse
        with pytest.raises(StatusError) as caught:  # the object cannot be stored any more
            await client.patch(V1, "argo", patch={"spec": {"length": "x"}})
        assert caught.value.code == 500
        with pytest.raises(StatusError) as caught:
            await client.delete(V1, "argo")
        assert caught.value.code == 500
        converter.spoil = lambda response: None
        converter.heard.clear()
        assert (await client.get(V2, "argo"))["spec"] == {"meters": 7}
        assert [asked["desiredAPIVersion"] for asked in converter.heard] == ["example.com/v2"]


async def test_every_kind_of_write_works_in_the_other_version(client):
    await client.create(boat("argo"))
    await client.patch(V2, "argo", patch={"spec": {"meters": 8}})
    assert (await client.get(V1, "argo"))["spec"] == {"length": 8}
    await client.patch(V2, "argo", patch=boat("argo", "v2", 9), type="apply", force=True)
    found = await client.get(V2, "argo")
    found["spec"]["meters"] += 1
    await client.update(found)
    assert (await client.get(V1, "argo"))["spec"] == {"length": 10}
    await client.delete(V2, "argo")
    assert not (await client.list(V1)).items


async def test_a_watch_in_the_other_version_sends_converted_objects(client):
    await client.create(boat("a"))
    seen = []
    async with within():
        async for event in client.watch(V2):
            if event.type == "BOOKMARK":
                await client.create(boat("b", size=8))
                await client.delete(V1, "b")
                continue
            seen.append((event.type, event.object["spec"]))
            if len(seen) == 3:
                break
    assert seen == [
        ("ADDED", {"meters": 7}),
        ("ADDED", {"meters": 8}),
        ("DELETED", {"meters": 8}),
    ]


async def test_of_the_answered_metadata_only_labels_and_annotations_are_taken(client, converter):
    made = await client.create(boat("argo"))

    def spoil(response):
        for obj in response["convertedObjects"]:
            labels = {"labels": {"new": "yes"}, "finalizers": ["a/b"], "generation": 99}
            obj["metadata"] = {**obj["metadata"], **labels}

    converter.spoil = spoil
    found = (await client.get(V2, "argo"))["metadata"]
    assert found == {**made["metadata"], "labels": {"new": "yes"}}


async def _refused(client, converter, spoil):
    await client.create(boat("argo"))
    converter.spoil = spoil
    with pytest.raises(StatusError) as caught:
        await client.get(V2, "argo")
    assert (caught.value.code, caught.value.reason) == (500, "")
    assert (await client.get(V1, "argo"))["spec"] == {"length": 7}
    return caught.value.message.removeprefix("conversion webhook for example.com/v1, Kind=Boat ")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"result": {"status": "Failure", "message": "I cannot"}}, "failed: I cannot"),
        ({"result": None}, "failed: response.result.status was '', not 'Success'"),
        ({"convertedObjects": []}, "returned 0 objects, expected 1"),
        (
            {"convertedObjects": [boat("argo")]},
            (
                "returned invalid object at index 0: invalid groupVersion "
                "(expected example.com/v2, received example.com/v1)"
            ),
        ),
        (
            {"convertedObjects": [boat("else", "v2")]},
            "returned invalid object: must have the same name: argo != else",
        ),
    ],
)
async def test_a_bad_answer_is_a_500_without_a_reason(client, converter, answer, text):
    found = await _refused(client, converter, lambda response: response.update(answer))
    assert found == text


def refuse(response):
    response["result"] = {"status": "Failure", "message": "no"}


LISTS = [("GET", ""), ("GET", "?labelSelector=a"), ("GET", "?limit=1&labelSelector=a=b")]
LISTS += [("GET", "?watch=1"), ("GET", "?resourceVersion=0"), ("DELETE", "?labelSelector=a=b")]
PAGES = [("GET", "?limit=1"), ("GET", "?limit=1&resourceVersion=0"), ("DELETE", ""), ("GET", "/a")]


async def test_lists_wait_for_objects_that_are_older_than_the_definition(converter, web_of):
    """kube-apiserver reads them from a cache that begins once these objects can be converted."""
    path, crd = "/apis/example.com/v2/boats", definition(converter.url)
    async with APIServer() as server, web_of(server) as web:
        await server.client.create(crd)
        await server.settled()
        await server.client.create(boat("a"))
        converter.spoil = refuse
        for method, query in LISTS + PAGES:
            assert (await web.ask(method, path + query)).code == 500, query
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "changed"
        await server.client.patch(CRDS, "boats.example.com", patch={"spec": crd["spec"]})
        await server.settled()
        for method, query in LISTS:
            found = await web.ask(method, path + query)
            assert (found.code, found.headers["Retry-After"]) == (429, "1"), query
            assert found.json["message"] == (
                "storage is (re)initializing: failed to list example.com/v2, Kind=Boat: "
                "conversion webhook for example.com/v1, Kind=Boat failed: no"
            )
        for method, query in PAGES:
            assert (await web.ask(method, path + query)).code == 500, query
        assert (await web.ask("GET", path + "?fieldSelector=metadata.name=b")).json["items"] == []
        converter.spoil = lambda response: None
        for method, query in LISTS[:3]:
            assert (await web.ask(method, path + query)).code == 200, query
