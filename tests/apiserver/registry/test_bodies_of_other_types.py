"""Bodies of another kind or version than their URL, and other unusual requests."""

from collections.abc import Sequence

import aiohttp
import pytest

from inkube import APIServer

CRD = {
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "boats", "kind": "Boat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.masts",
                        "statusReplicasPath": ".status.masts",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "masts": {"type": "integer", "maximum": 5},
                                    "sail": {"type": "string", "default": "square"},
                                },
                                "x-kubernetes-validations": [
                                    {"rule": "self.masts != 4", "message": "not four"},
                                    {"rule": "self.masts < 9 || self.sail != ''"},
                                ],
                            },
                            "status": {"type": "object", "properties": {"at": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}
BOATS = "/apis/example.com/v1/namespaces/default/boats"
MAPS = "/api/v1/namespaces/default/configmaps"


class Answer(dict):
    """A body with its status code and warnings."""

    status = 0
    warnings: Sequence[str] = ()

    @property
    def fields(self):
        return sorted(cause["field"] for cause in self["details"]["causes"])


@pytest.fixture
async def ask():
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:

        async def send(method, path, body=None, **headers):
            async with session.request(method, path, json=body, headers=headers) as answer:
                found = Answer(await answer.json())
                found.status = answer.status
                found.warnings = answer.headers.getall("Warning", ())
                return found

        made = await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
        assert made.status == 201
        await server.settled()
        yield send


def boat(**members):
    body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "a"}}
    return {**body, "spec": {"masts": 3}, **members}


async def test_another_kind_is_refused_beside_errors_of_rules(ask):
    answer = await ask("POST", BOATS, boat(kind="Ship", spec={"masts": 4}))
    assert (answer.status, answer.fields) == (422, ["kind", "spec"])
    assert answer["details"]["kind"] == "Ship"
    told = await ask("POST", BOATS, boat(kind="Ship", spec={"masts": 8}))
    assert told.fields == ["kind"], "the schema is not asked"


async def test_an_object_of_another_kind_gets_no_defaults(ask):
    answer = await ask("POST", BOATS, boat(kind="Ship", spec={"masts": 9}))
    assert (answer.status, answer.fields) == (422, ["kind", "spec"])
    assert "no such key: sail evaluating rule" in answer["message"]


async def test_a_status_keeps_the_kind_that_is_stored(ask):
    meta = (await ask("POST", BOATS, boat()))["metadata"]
    told = boat(kind="Ship", metadata=meta, status={"at": "sea"})
    answer = await ask("PUT", f"{BOATS}/a/status", told)
    assert (answer.status, answer["kind"], answer["status"]) == (200, "Boat", {"at": "sea"})


@pytest.mark.parametrize(
    ("patch", "owners"),
    [
        ({}, 2),
        ({"kind": "Ship"}, 0),
        ({"apiVersion": "x/v1"}, 0),
        ({"apiVersion": "example.com/v9"}, 0),
    ],
)
async def test_the_patch_of_a_status_with_another_type_drops_the_owners(ask, patch, owners):
    await ask("POST", BOATS, boat())
    media = {"Content-Type": "application/merge-patch+json"}
    answer = await ask("PATCH", f"{BOATS}/a/status", {**patch, "status": {"at": "sea"}}, **media)
    assert (answer.status, answer["kind"], answer["apiVersion"]) == (200, "Boat", "example.com/v1")
    assert len(answer["metadata"].get("managedFields", ())) == owners


@pytest.mark.parametrize("type", [{"kind": "Ship"}, {"apiVersion": "example.com/v9"}])
async def test_an_update_with_another_type_has_the_errors_of_its_metadata_first(ask, type):
    stored = await ask("POST", BOATS, boat())
    wrong = {"labels": {"$a": "b"}, "creationTimestamp": "2020-01-01T00:00:00Z"}
    [member] = type
    media = {"Content-Type": "application/merge-patch+json"}
    answer = await ask("PATCH", f"{BOATS}/a", {"metadata": wrong, **type}, **media)
    assert (answer.status, answer.fields) == (422, sorted([*2 * ["metadata.labels"], member]))
    if member == "kind":
        answer = await ask(
            "PUT", f"{BOATS}/a", boat(metadata={**stored["metadata"], **wrong}, **type)
        )
        assert (answer.status, answer.fields) == (422, ["kind", *2 * ["metadata.labels"]])


@pytest.mark.parametrize("kind", ["Boat", "Ship"])
async def test_a_dropped_part_of_another_type_drops_the_owners(ask, kind):
    stored = await ask("POST", BOATS, boat())
    wrong = boat(metadata=stored["metadata"], status={"at": True}, spec={"masts": 3, "sail": "x"})
    wrong = wrong if kind == "Boat" else boat(kind=kind, metadata=stored["metadata"], status={})
    path = f"{BOATS}/a" if kind == "Boat" else f"{BOATS}/a/status"
    answer = await ask("PUT", path, wrong)
    assert (answer.status, answer["kind"]) == (200, "Boat")
    assert "managedFields" not in answer["metadata"]


async def test_an_unknown_version_knows_no_fields(ask):
    answer = await ask("POST", BOATS, boat(apiVersion="example.com/v9"))
    assert answer.status == 400
    assert "does not match the expected API version" in answer["message"]
    assert answer.warnings == ['299 - "unknown field \\"spec\\""']


async def test_metadata_is_read_before_the_version_is_compared(ask):
    answer = await ask("POST", BOATS, boat(apiVersion="v1", metadata={"name": 7}))
    assert answer["message"].startswith('Boat in version "v1" cannot be handled as a Boat: json:')
    answer = await ask("POST", BOATS, boat(apiVersion=None))
    assert ".apiVersion accessor error" in answer["message"]


async def test_a_built_in_type_nobody_registered_is_named(ask):
    answer = await ask("POST", MAPS, {"apiVersion": "v9", "kind": "ConfigMap"})
    assert 'no kind "ConfigMap" is registered for version "v9" in scheme' in answer["message"]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"generation": "x"}}
    answer = await ask("POST", MAPS, secret)
    assert "ObjectMeta.metadata.generation of type int64" in answer["message"]


async def test_what_a_scale_does_not_have_is_warned_of(ask):
    await ask("POST", BOATS, boat())
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
    scale["metadata"]["namespace"] = "default"
    answer = await ask("PUT", f"{BOATS}/a/scale", {**scale, "spec": {"replicas": 2, "sails": 1}})
    assert answer.warnings == ['299 - "unknown field \\"spec.sails\\""']
    strict = await ask(
        "PUT", f"{BOATS}/a/scale?fieldValidation=Strict", {**scale, "spec": {"sails": 1}}
    )
    assert strict.status == 400
    answer = await ask("PUT", f"{BOATS}/a/scale", {**scale, "spec": True})
    assert "no kind is registered for the type v1.Scale" in answer["message"]


async def test_what_is_not_stored_shows_what_was_sent(ask):
    maps = {"metadata": {"name": "m", "generation": 7}}
    assert (await ask("POST", MAPS, maps))["metadata"]["generation"] == 7
    below = {"metadata": {"name": "n", "generation": -1}}
    assert (await ask("POST", MAPS, below)).fields == ["metadata.generation"]
    await ask("POST", BOATS, boat())
    link = {"metadata": {"selfLink": "/x"}}
    merge = {"Content-Type": "application/merge-patch+json"}
    dry = await ask("PATCH", f"{BOATS}/a?dryRun=All", link, **merge)
    wet = await ask("PATCH", f"{BOATS}/a", link, **merge)
    assert ("selfLink" in dry["metadata"], "selfLink" in wet["metadata"]) == (True, False)


async def test_a_limit_range_without_a_name_is_called_by_a_uid(ask):
    made = await ask("POST", "/api/v1/namespaces/default/limitranges", {"spec": {"limits": []}})
    assert made.status == 201
    assert len(made["metadata"]["name"]) == 36


async def test_routes_of_built_in_kinds_know_whole_media_types_only(ask):
    page = await ask("GET", MAPS, Accept="text/html")
    assert (page.status, page["details"]) == (406, {})
    assert page["message"].startswith("406: Not Acceptable\n\nAvailable representations: ")
    assert page["message"].endswith("application/vnd.kubernetes.protobuf;stream=watch")
    page = await ask("GET", BOATS, Accept="text/html")
    assert page["message"].startswith("only the following media types are accepted")


async def test_an_empty_segment_is_a_path_nobody_serves(ask):
    answer = await ask("GET", "/api/v1//namespaces/default")
    assert answer["message"] == "the server could not find the requested resource"


async def test_a_watch_that_continues_is_refused_where_it_would_begin_anew(ask):
    answer = await ask("GET", f"{MAPS}?watch=1&continue=abc")
    assert (answer.status, answer.fields) == (422, ["resourceVersionMatch"])
    answer = await ask("GET", f"{MAPS}?watch=1&resourceVersion=1&resourceVersionMatch=Exact")
    assert answer.fields == ["resourceVersionMatch", "resourceVersionMatch"]
    assert (await ask("GET", f"{MAPS}?watch=1&continue=abc&resourceVersion=x")).status == 500


async def test_a_deletion_returns_only_metadata_on_request(ask):
    held = boat(metadata={"name": "a", "finalizers": ["example.com/hold"]})
    await ask("POST", BOATS, held)
    form = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    answer = await ask("DELETE", f"{BOATS}/a", Accept=form)
    assert (answer["kind"], "spec" in answer) == ("PartialObjectMetadata", False)


async def test_two_versions_of_one_name_are_two_storage_versions(ask):
    twice = {**CRD["spec"], "versions": CRD["spec"]["versions"] * 2}
    answer = await ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {"metadata": {"name": "ships.example.com"}, "spec": twice},
    )
    assert "status.storedVersions" in answer.fields
