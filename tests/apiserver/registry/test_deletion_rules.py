"""DELETE over HTTP: preconditions, finalizers, grace periods, collections."""

import copy
import itertools
from urllib.parse import urlencode

import aiohttp
import boats
import pytest

from inkube import APIServer
from inkube.apiserver.registry import keys
from inkube.controllers.clock import FakeClock
from inkube.schemas import meta

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"Content-Type": "application/merge-patch+json"}


class Client:
    """A client that sends JSON, and returns status code and JSON."""

    def __init__(self, server, http):
        self._server = server
        self._http = http

    async def ask(self, method, path, body=None, **more):
        url = f"{self._server.url}{path}"
        async with self._http.request(method, url, json=body, **more) as answer:
            return answer.status, await answer.json(), answer.headers.getall("Warning", [])

    async def make(self, name, **metadata):
        _, body, _ = await self.ask("POST", MAPS, {"metadata": {"name": name, **metadata}})
        return body


@pytest.fixture
async def client():
    async with APIServer() as server, aiohttp.ClientSession() as http:
        yield Client(server, http)


def pod(name, **spec):
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


async def test_a_deletion_is_answered_with_the_uid_of_what_went(client):
    made = await client.make("a")
    code, body, _ = await client.ask("DELETE", f"{MAPS}/a")
    assert (code, body["status"]) == (200, "Success")
    assert body["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert (await client.ask("DELETE", f"{MAPS}/a"))[0] == 404


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"uid": "1-2"}, "the UID in the precondition (1-2) does not match the UID in record"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match"),
    ],
    ids=["uid", "version"],
)
@pytest.mark.parametrize("at", ["/a", ""], ids=["object", "collection"])
@pytest.mark.parametrize("in_body", [True, False], ids=["body", "query"])
async def test_a_precondition_that_fails_keeps_the_object(client, wrong, text, at, in_body):
    """Without a body, the query can contain preconditions, too."""
    await client.make("a")
    if in_body:
        code, body, _ = await client.ask("DELETE", f"{MAPS}{at}", {"preconditions": wrong})
    elif not at and "resourceVersion" in wrong:  # of the list, which is read before that
        code, body, _ = await client.ask("DELETE", f"{MAPS}?resourceVersion=0")
        text = text.replace("(1)", "(0)")
    else:
        code, body, _ = await client.ask("DELETE", f"{MAPS}{at}?{urlencode(wrong)}")
    assert code == 409
    assert text in body["message"]
    assert body["details"] == {"name": "a", "kind": "ConfigMap"}
    assert (await client.ask("GET", f"{MAPS}/a"))[0] == 200


async def test_a_failed_precondition_of_a_namespace_names_its_plural(client):
    await client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    wrong = {"preconditions": {"uid": "1-2"}}
    code, body, _ = await client.ask("DELETE", "/api/v1/namespaces/n", wrong)
    assert (code, body["details"]["kind"]) == (409, "namespaces")


async def test_finalizers_may_only_shrink_once_the_object_is_deleted(client):
    await client.make("a", finalizers=["x.y/one", "x.y/two"])
    _, body, _ = await client.ask("DELETE", f"{MAPS}/a")
    assert body["metadata"]["deletionGracePeriodSeconds"] == 0
    more = {"metadata": {"finalizers": ["x.y/one", "x.y/two", "x.y/three"]}}
    code, body, _ = await client.ask("PATCH", f"{MAPS}/a", more, headers=MERGE)
    assert code == 422
    assert "no new finalizers can be added if the object is being deleted" in body["message"]
    for left in (["x.y/two"], []):
        fewer = {"metadata": {"finalizers": left}}
        assert (await client.ask("PATCH", f"{MAPS}/a", fewer, headers=MERGE))[0] == 200
    assert (await client.ask("GET", f"{MAPS}/a"))[0] == 404


async def test_the_policy_of_a_second_deletion_replaces_the_first(client):
    await client.make("a", finalizers=["x.y/hold"])
    for policy, expected in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        body = {"propagationPolicy": policy, "dryRun": ["All"]}
        _, marked, _ = await client.ask("DELETE", f"{MAPS}/a", body)
        assert marked["metadata"]["finalizers"] == ["x.y/hold", expected]


_KEPT = {"finalizers": ["example.com/f"]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (MAPS, {"data": {"a": "b"}, "metadata": {"name": "a", **_KEPT}}),
        (MAPS, {"metadata": {"name": "a"}}),
        (PODS, {**pod("a"), "metadata": {"name": "a", "labels": {"a": "b"}, **_KEPT}}),
        (PODS, pod("a", nodeName="n")),
        ("/api/v1/namespaces", {"metadata": {"name": "a"}}),
        (DEFINITIONS, boats.definition({"type": "object"})),
    ],
    ids=["finalizer", "none", "pod with a finalizer", "pod on a node", "namespace", "definition"],
)
async def test_a_deletion_does_not_change_the_states_before_it(path, body):
    """Watchers, caches and plugins share the stored states, so no write may change one."""
    async with APIServer(controllers=False) as server, aiohttp.ClientSession() as http:
        client, changes = Client(server, http), []
        server.store.subscribe(keys.ROOT, deliver=changes.extend)
        code, made, _ = await client.ask("POST", path, body)
        assert code == 201, made
        entry = changes[-1].entry
        state, before = entry.value, copy.deepcopy(entry.value)
        code, _, _ = await client.ask("DELETE", f"{path}/{made['metadata']['name']}")
        assert code in (200, 202)
        assert changes[-1].previous.revision == entry.revision
        assert state == before
        assert changes[-1].entry.value != before


async def test_a_pod_without_a_node_is_deleted_at_once_and_returned(client):
    await client.ask("POST", PODS, pod("p"))
    code, body, _ = await client.ask("DELETE", f"{PODS}/p")
    assert (code, body["kind"]) == (200, "Pod")
    assert body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (await client.ask("GET", f"{PODS}/p"))[0] == 404


async def test_the_grace_of_a_pod_on_a_node_can_only_be_shortened(client):
    await client.ask("POST", PODS, pod("p", nodeName="n", terminationGracePeriodSeconds=40))
    path = f"{PODS}/p"
    periods = []
    for options in (None, {"gracePeriodSeconds": 60}, {"gracePeriodSeconds": 20}):
        _, body, _ = await client.ask("DELETE", path, options)
        periods.append(body["metadata"]["deletionGracePeriodSeconds"])
    assert periods == [40, 40, 20]
    assert (await client.ask("DELETE", path, {"gracePeriodSeconds": 0}))[0] == 200
    assert (await client.ask("GET", path))[0] == 404


async def test_a_grace_beyond_all_time_is_taken_as_it_is(client):
    endless = 2**63 - 1
    await client.ask("POST", PODS, pod("p", nodeName="n", terminationGracePeriodSeconds=endless))
    for grace in (None, 10**12):
        _, body, _ = await client.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": grace})
        assert body["metadata"]["deletionGracePeriodSeconds"] == (grace or endless)
    assert (await client.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0}))[0] == 200
    assert (await client.ask("GET", f"{PODS}/p"))[0] == 404


async def test_a_collection_takes_what_the_selectors_match(client):
    for name, room in (("a", "hall"), ("b", "hall"), ("c", "attic")):
        await client.make(name, labels={"room": room})
    _, body, _ = await client.ask("DELETE", f"{MAPS}?labelSelector=room%3Dhall")
    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "b"]
    _, body, _ = await client.ask("DELETE", f"{MAPS}?fieldSelector=metadata.name%3Dnone")
    assert body["items"] == []
    _, body, _ = await client.ask("GET", MAPS)
    assert [item["metadata"]["name"] for item in body["items"]] == ["c"]


async def test_a_collection_as_a_dry_run_takes_nothing(client):
    await client.make("a")
    await client.ask("DELETE", f"{MAPS}?dryRun=All")
    assert (await client.ask("GET", f"{MAPS}/a"))[0] == 200


@pytest.mark.parametrize("finalizers", [[], ["example.com/hold"]])
async def test_a_dry_run_answers_the_last_state_of_a_pod_without_a_node(client, finalizers):
    body = pod("a")
    body["metadata"]["finalizers"] = finalizers
    _, made, _ = await client.ask("POST", PODS, body)
    code, gone, _ = await client.ask("DELETE", f"{PODS}/a?dryRun=All")
    state = gone["metadata"]
    assert (code, state["deletionGracePeriodSeconds"], state["generation"]) == (200, 0, 2)
    assert state["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert (await client.ask("GET", f"{PODS}/a"))[1] == made


async def test_a_grace_period_that_has_ended_is_shortened_to_now():
    clock = FakeClock()
    async with APIServer(clock=clock) as server, aiohttp.ClientSession() as http:
        client = Client(server, http)
        await client.ask("POST", PODS, pod("a", nodeName="n"))
        await client.ask("DELETE", f"{PODS}/a?gracePeriodSeconds=30")
        clock.advance(60)
        _, body, _ = await client.ask("DELETE", f"{PODS}/a?gracePeriodSeconds=10")
    assert body["metadata"]["deletionGracePeriodSeconds"] == 1
    assert body["metadata"]["deletionTimestamp"] == meta.format_time(clock.now())


async def test_an_owner_named_twice_is_kept_once_with_a_warning(client):
    made = await client.make("owner")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": made["metadata"]["uid"],
    }
    body = {"metadata": {"name": "child", "ownerReferences": [reference, reference]}}
    code, child, warnings = await client.ask("POST", MAPS, body)
    assert code == 201
    assert child["metadata"]["ownerReferences"] == [reference]
    [warning] = warnings
    assert "duplicate UID(s) observed" in warning
    assert "entries; API server" in warning


@pytest.mark.parametrize("kind", ["merge", "json", "strategic-merge"])
async def test_an_owner_that_a_patch_names_twice_is_dropped_after_admission(client, kind):
    """handlers/patch.go removes them in a transformer after admission."""
    await client.make("child")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "some-uid"}
    twice = {"metadata": {"ownerReferences": [reference, reference]}}
    operations = [{"op": "add", "path": "/metadata/ownerReferences", "value": [reference] * 2}]
    code, child, warnings = await client.ask(
        "PATCH",
        f"{MAPS}/child",
        operations if kind == "json" else twice,
        headers={"Content-Type": f"application/{kind}-patch+json"},
    )
    assert (code, child["metadata"]["ownerReferences"]) == (200, [reference])
    [warning] = warnings
    assert "entries after mutating admission happens; API server" in warning


@pytest.mark.parametrize(
    ("change", "owners", "warns"),
    [
        (["new", "new"], ["new", "old"], False),
        (["old", "old"], ["old"], False),
        (["$patch", "new", "new"], ["new"], True),
    ],
    ids=["another owner twice", "the same owner twice", "replaced by one owner twice"],
)
async def test_a_strategic_patch_warns_of_owners_that_merging_left_twice(
    client, change, owners, warns
):
    """The patch merges owners by uid (strategicpatch/patch.go, mergeSliceWithoutSpecialElements),
    so most repeated owners are gone before handlers/patch.go looks for them."""
    named = {"$patch": {"$patch": "replace"}}
    for name in ("old", "new"):
        uid = (await client.make(name))["metadata"]["uid"]
        named[name] = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
    await client.make("child", ownerReferences=[named["old"]])
    code, child, warnings = await client.ask(
        "PATCH",
        f"{MAPS}/child",
        {"metadata": {"ownerReferences": [named[each] for each in change]}},
        headers={"Content-Type": "application/strategic-merge-patch+json"},
    )
    assert code == 200
    assert [each["name"] for each in child["metadata"]["ownerReferences"]] == owners
    assert len(warnings) == warns


async def test_the_events_of_both_groups_are_the_same_objects(client):
    about = {"kind": "ConfigMap", "name": "a", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "message": "hello"}
    await client.ask("POST", "/api/v1/namespaces/default/events", event)
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    _, body, _ = await client.ask("GET", f"{path}/e")
    assert (body["apiVersion"], body["note"]) == ("events.k8s.io/v1", "hello")
    _, body, _ = await client.ask("GET", f"{path}?fieldSelector=regarding.name%3Da")
    assert [item["metadata"]["name"] for item in body["items"]] == ["e"]


async def test_the_name_of_an_object_in_deletion_is_taken_also_besides_a_generated_one(client):
    await client.make("a", finalizers=["example.com/f"])
    await client.ask("DELETE", f"{MAPS}/a")
    for prefix in ({}, {"generateName": "a-"}):
        code, body, _ = await client.ask("POST", MAPS, {"metadata": {"name": "a", **prefix}})
        taken = 'object is being deleted: configmaps "a" already exists'
        assert (code, body["message"].partition(",")[0]) == (409, taken)


@pytest.mark.parametrize("order", [*itertools.permutations(("dryRun", "gracePeriodSeconds"))])
async def test_the_first_option_of_a_wrong_type_is_reported(client, order):
    code, body, _ = await client.ask("DELETE", f"{MAPS}/none", dict.fromkeys(order, "x"))
    assert code == 400
    assert f" DeleteOptions.{order[0]} " in body["message"]
