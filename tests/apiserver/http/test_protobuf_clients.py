"""A client that uses only protobuf: every built-in kind, from its creation to its deletion."""

import asyncio
import base64

import aiohttp
import pytest
import samples
from patience import SECONDS

from inkube.schemas.builtin import decoding as typing
from inkube.schemas.builtin import resources
from inkube.schemas.builtin.protobuf import envelopes, wire
from inkube.schemas.meta import GVK

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROTOBUF = "application/vnd.kubernetes.protobuf"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
MAPS = "/api/v1/namespaces/default/configmaps"
PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
STORED = [
    (GVK(kind.group, version, kind.kind), kind)
    for kind in resources.read()
    for version in kind.versions
    if "create" in kind.verbs and "get" in kind.verbs
]


def opened(body):
    """Return the body inside its envelope (runtime.Unknown), which the table of messages describes,
    too."""
    assert body.startswith(envelopes.PREFIX), body
    version, kind, data = envelopes.decode_envelope(body)
    group, _, short = version.rpartition("/")
    return GVK(group, short, kind), data


def read(body):
    gvk, data = opened(body)
    return envelopes.decode(data, gvk)


def items(body, kind):
    """Return the objects of a list, and the bytes of its ListMeta."""
    gvk, data = opened(body)
    assert gvk.kind == f"{kind.kind}List"
    place, metadata, found = 0, b"", []
    while place < len(data):
        key, place = wire.varint(data, place)
        start, place = wire.end_of(data, place)
        if key >> 3 == 1:
            metadata = data[start:place]
        else:
            found.append(envelopes.decode(data[start:place], kind))
    return found, metadata


async def event(stream):
    """Return the type and object of the next frame of a watch."""
    size = int.from_bytes(await stream.readexactly(4), "big")
    data = await stream.readexactly(size)
    start, end = wire.end_of(data, 1)
    word = data[start:end].decode()
    start, end = wire.end_of(data, end + 1)
    start, end = wire.end_of(data, start + 1)
    return word, read(data[start:end])


class Client:
    """A client that sends and receives protobuf."""

    def __init__(self, web):
        self._web = web

    async def ask(self, method, path, obj=None):
        body = None if obj is None else envelopes.encode_envelope(obj)
        media = {} if obj is None else {"Content_Type": PROTOBUF}
        answer = await self._web.ask(method, path, body, Accept=PROTOBUF, **media)
        assert answer.headers["Content-Type"] == PROTOBUF, answer.body
        return answer

    async def made(self, method, path, obj=None, code=200):
        answer = await self.ask(method, path, obj)
        assert answer.code == code, (method, path, answer.body)
        return read(answer.body)

    async def labelled(self, path, key, value):
        """Add a label to the object at the path; read it again if controllers wrote it
        meanwhile."""
        for _ in range(5):
            newest = await self.made("GET", path)
            newest["metadata"]["labels"] = {**newest["metadata"]["labels"], key: value}
            answer = await self.ask("PUT", path, newest)
            if answer.code != 409:
                break
        assert answer.code == 200, (path, answer.body)
        return read(answer.body)


@pytest.fixture(scope="module")
def client(web):
    return Client(web)


def collection(gvk, kind):
    root = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else "/api/v1"
    return (
        f"{root}/namespaces/default/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    )


def settled(obj):
    """Return the object without members that a server may have changed since."""
    kept = {key: value for key, value in obj.items() if key != "status"}
    kept["metadata"] = {
        key: value for key, value in obj["metadata"].items()
        if key in ("name", "namespace", "uid", "labels", "creationTimestamp")
    }  # fmt: skip
    return kept


@pytest.mark.parametrize(("gvk", "kind"), STORED, ids=lambda value: str(value)[:60])
async def test_every_built_in_kind_lives_in_protobuf(web, client, server, gvk, kind):
    def typed(obj):
        return settled(typing.decode(obj, gvk).object)

    path = collection(gvk, kind)
    sample = samples.make(gvk.api_version, gvk.kind)
    one = f"{path}/{sample['metadata']['name']}"
    made = await client.made("POST", path, sample, 201)
    as_json = (await web.ask("GET", one)).json
    assert typed(made) == settled(as_json)
    assert typed(await client.made("GET", one)) == settled(as_json)
    found, metadata = items((await client.ask("GET", path)).body, gvk)
    listed = [obj for obj in found if obj["metadata"]["name"] == sample["metadata"]["name"]]
    assert [typed({**obj}) for obj in listed] == [settled(as_json)]
    assert metadata

    url = f"{server.url}{path}?watch=1&fieldSelector=metadata.name={sample['metadata']['name']}"
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as session,
        session.get(url, headers={"Accept": f"{PROTOBUF},application/json"}) as watch,
    ):
        assert watch.headers["Content-Type"] == f"{PROTOBUF};stream=watch"
        word, told = await event(watch.content)
        assert (word, typed(told)) == ("ADDED", settled(as_json))
        changed = await client.labelled(one, "b", "c")
        assert changed["metadata"]["labels"]["b"] == "c"
        while told["metadata"]["labels"].get("b") != "c":
            word, told = await event(watch.content)
        assert (word, typed(told)) == ("MODIFIED", typed(changed))
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        if gvk.kind == "Namespace":  # deleted in the background
            assert (await client.ask("DELETE", one, {**options, "dryRun": ["All"]})).code == 200
            return
        answer = await client.ask("DELETE", one, options)
        assert answer.code in (200, 202)
        assert read(answer.body)["kind"] in ("Status", gvk.kind)
        if (await web.ask("GET", one)).code == 200:  # kept by a finalizer
            await web.patch(one, {"metadata": {"finalizers": None}})
        while word != "DELETED":
            word, told = await event(watch.content)
        assert told["metadata"]["name"] == sample["metadata"]["name"]


async def test_subresources_and_reviews_have_protobuf_forms(client, web):
    await client.made("POST", "/api/v1/namespaces/default/serviceaccounts",
                      samples.make("v1", "ServiceAccount", "sub"), 201)  # fmt: skip
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
               "spec": {"audiences": ["a"], "expirationSeconds": 600}}  # fmt: skip
    token = "/api/v1/namespaces/default/serviceaccounts/sub/token"
    made = await client.made("POST", token, request, 201)
    assert made["status"]["token"]
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    await client.made("POST", deployments, samples.make("apps/v1", "Deployment", "sub"), 201)
    scale = await client.made("GET", f"{deployments}/sub/scale")
    scaled = await client.made(
        "PUT", f"{deployments}/sub/scale", {**scale, "spec": {"replicas": 3}}
    )
    assert scaled["spec"]["replicas"] == 3
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": "u",
            "extra": {"a": ["b", "c"]},
            "resourceAttributes": {"verb": "get", "resource": "pods"},
        },
    }
    answer = await client.made("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review,
                               201)  # fmt: skip
    assert answer["spec"]["extra"] == {"a": ["b", "c"]}
    assert answer["status"]["allowed"] is True


async def test_errors_are_statuses_in_protobuf(client, web):
    for path in (f"{MAPS}/none", f"{BOATS}/none"):
        answer = await web.ask("GET", path, Accept=f"{PROTOBUF},application/json")
        assert (answer.code, answer.headers["Content-Type"]) == (404, PROTOBUF)
        assert read(answer.body)["details"]["name"] == "none"


async def test_an_unchanged_write_keeps_its_version_and_dry_runs_store_nothing(client, config_map):
    made = await client.made("POST", f"{MAPS}?dryRun=All", config_map("dry", a="1"), 201)
    assert made["data"] == {"a": "1"}
    assert made["metadata"]["resourceVersion"] == ""
    made = await client.made("POST", MAPS, config_map("dry", a="2"), 201)
    again = await client.made("PUT", f"{MAPS}/dry", made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    tried = await client.made("PUT", f"{MAPS}/dry?dryRun=All", {**made, "data": {"a": "3"}})
    assert tried["data"] == {"a": "3"}
    assert (await client.made("GET", f"{MAPS}/dry"))["data"] == {"a": "2"}


async def test_custom_resources_are_json_but_their_metadata_is_not(web, boat):
    await web.ask("POST", BOATS, boat("pack"))
    for path in (BOATS, f"{BOATS}/pack"):
        assert (await web.ask("GET", path, Accept=PROTOBUF)).code == 406
        answer = await web.ask("GET", path, Accept=f"{PROTOBUF},application/json")
        assert answer.headers["Content-Type"] == "application/json"
    answer = await web.ask("GET", f"{BOATS}/pack", Accept=f"{PROTOBUF};{PARTIAL}")
    assert answer.headers["Content-Type"] == PROTOBUF
    assert read(answer.body)["metadata"]["name"] == "pack"
    many = PARTIAL.replace("Metadata;", "MetadataList;")
    answer = await web.ask("GET", BOATS, Accept=f"{PROTOBUF};{many}")
    names = [item["metadata"]["name"] for item in read(answer.body)["items"]]
    assert "pack" in names


async def test_bookmarks_and_errors_of_watches_are_frames(server):
    head = {"Accept": PROTOBUF}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as session:
        url = f"{server.url}{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
        async with session.get(f"{url}&resourceVersionMatch=NotOlderThan", headers=head) as watch:
            word, told = "", {}
            while word != "BOOKMARK":
                word, told = await event(watch.content)
            ends = told["metadata"]["annotations"]
            assert ends == {"k8s.io/initial-events-end": "true"}
        url = f"{server.url}{MAPS}?watch=1&resourceVersion=1"
        async with session.get(url, headers=head) as watch:
            word, told = await event(watch.content)
            assert (word, told["code"], told["reason"]) == ("ERROR", 410, "Expired")
            assert await watch.content.read() == b""


async def test_watchers_of_protobuf_share_encoded_events(server, client, config_map):
    head = {"Accept": PROTOBUF}
    version = int(
        (await client.made("POST", MAPS, config_map("first"), 201))["metadata"]["resourceVersion"]
    )
    url = f"{server.url}{MAPS}?watch=1&resourceVersion={version}"
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as session:
        watches = [await session.get(url, headers=head) for _ in range(3)]
        for number in range(5):
            await client.made("POST", MAPS, config_map(f"told-{number}", a="x" * 300), 201)
        for watch in watches:
            told = [(await event(watch.content))[1]["metadata"]["name"] for _ in range(5)]
            assert told == [f"told-{number}" for number in range(5)]
            watch.close()


async def test_discovery_has_protobuf_forms(web):
    for path, kind in (("/apis", "APIGroupList"), ("/api/v1", "APIResourceList"),
                       ("/apis/apps", "APIGroup"), ("/api", "APIVersions")):  # fmt: skip
        answer = await web.ask("GET", path, Accept=PROTOBUF)
        gvk, data = opened(answer.body)
        assert gvk.kind == kind
        shown = envelopes.decode(data, GVK("", "v1", kind))
        as_json = (await web.ask("GET", path)).json
        if kind == "APIResourceList":
            verbs = [item["verbs"] for item in as_json["resources"]]
            assert [item["verbs"] for item in shown["resources"]] == verbs
        elif kind == "APIGroupList":
            names = [group["name"] for group in as_json["groups"]]
            assert [group["name"] for group in shown["groups"]] == names
        else:
            assert shown["versions"] == as_json["versions"]
    answer = await asyncio.wait_for(web.ask("GET", "/api/v1", Accept=f"{PROTOBUF}, */*"), SECONDS)
    assert base64.b64encode(answer.body[:4]) == b"azhzAA=="
