"""A patch without effect is cached as such, until something it depends on changes."""

import boats
import engines
import pytest
import pytest_asyncio

from inkube import APIServer
from inkube.apiserver.registry.engine import repeats

pytestmark = engines.only_fast

BOATS = "/apis/example.com/v1/namespaces/default/boats"
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}}}

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
BOAT = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "a"}}
SIZED = {**BOAT, "spec": {"size": 7}}


@pytest_asyncio.fixture(params=[True, False], ids=["cached", "uncached"])
async def web(web_of, request):
    """With and without the cache; all responses must be the same."""
    definition = boats.definition({"type": "object", "properties": {"spec": SPEC}})
    async with APIServer(patch_cache=request.param) as server, web_of(server) as web:
        assert (await web.ask("POST", DEFINITIONS, definition)).code == 201
        await server.settled()
        assert (await web.ask("POST", BOATS, SIZED)).code == 201
        yield web


def is_known(web):
    """Return whether the only repeated patch of boats is in the cache, or there is no cache."""
    [resource] = web.server.resources.group("example.com")
    return count(web, resource) == int(web.server.options.patch_cache)


def count(web, resource):
    """Return the number of cached patches of a kind."""
    cache = web.server.parts.core.registry.engine.repeats
    return 0 if cache is None else cache.count(resource)


async def merged(web, body=None, **headers):
    patch = {"spec": {"size": 7}} if body is None else body
    return await web.ask("PATCH", f"{BOATS}/a", patch, Content_Type=MERGE, **headers)


async def applied(web, manager="m"):
    path = f"{BOATS}/a?fieldManager={manager}"
    return await web.ask("PATCH", path, SIZED, Content_Type=APPLY)


@pytest.mark.asyncio
@pytest.mark.parametrize("patch", [merged, applied])
async def test_a_repeated_patch_has_the_same_response(web, patch):
    await patch(web)  # an apply comes to own its fields
    first = await patch(web)
    assert is_known(web)
    again = await patch(web)
    assert (first.code, first.json) == (again.code, again.json) == (200, first.json)
    assert is_known(web)


@pytest.mark.asyncio
async def test_a_repeated_patch_is_applied_after_a_write_of_another_client(web):
    first = await merged(web)
    assert (await merged(web, {"spec": {"size": 8}})).json["spec"]["size"] == 8
    assert (await merged(web)).json["spec"]["size"] == 7
    other = await merged(web, {"metadata": {"labels": {"a": "b"}}})
    again = await merged(web)
    assert first.json["metadata"]["resourceVersion"] != again.json["metadata"]["resourceVersion"]
    assert again.json == other.json


@pytest.mark.asyncio
async def test_a_repeated_patch_of_a_deleted_object_is_not_found(web):
    await merged(web)
    await merged(web)
    assert (await web.ask("DELETE", f"{BOATS}/a")).code == 200
    assert (await merged(web)).code == 404


@pytest.mark.asyncio
async def test_a_repeated_patch_repeats_its_warnings(web):
    body = {"spec": {"size": 7, "sails": 2}}
    first, again = await merged(web, body), await merged(web, body)
    assert is_known(web)
    assert first.warnings == again.warnings
    assert "unknown field" in first.warnings[0]


@pytest.mark.asyncio
async def test_another_manager_comes_to_own_what_it_applies(web):
    await applied(web)
    await applied(web)
    entries = (await applied(web, "other")).json["metadata"]["managedFields"]
    assert {entry["manager"] for entry in entries} >= {"m", "other"}


@pytest.mark.asyncio
async def test_a_repeated_patch_is_checked_by_a_changed_schema(web):
    await merged(web)
    await merged(web)
    found = (await web.ask("GET", f"{DEFINITIONS}/boats.example.com")).json
    spec = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rule = {"rule": "self != oldSelf", "message": "it has to change"}
    spec["x-kubernetes-validations"] = [rule]
    assert (await web.ask("PUT", f"{DEFINITIONS}/boats.example.com", found)).code == 200
    refused = await merged(web)
    assert refused.code == 422
    assert "it has to change" in refused.json["message"]


@pytest.mark.asyncio
async def test_a_repeated_patch_is_checked_by_a_new_policy(web):
    await merged(web)
    await merged(web)
    rules = [
        {
            "apiGroups": ["example.com"],
            "apiVersions": ["*"],
            "operations": ["UPDATE"],
            "resources": ["boats"],
        }
    ]
    policy = {
        "metadata": {"name": "never"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": "false", "message": "never"}],
        },
    }
    binding = {
        "metadata": {"name": "never"},
        "spec": {"policyName": "never", "validationActions": ["Deny"]},
    }
    for plural, body in (
        ("validatingadmissionpolicies", policy),
        ("validatingadmissionpolicybindings", binding),
    ):
        kind = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy" + ("Binding" if "bindings" in plural else ""),
        }
        assert (await web.ask("POST", f"{POLICIES}/{plural}", {**kind, **body})).code == 201
    await web.server.settled()
    assert (await merged(web)).code == 422


@pytest.mark.asyncio
async def test_a_dry_run_is_answered_as_the_first_one(web):
    path = f"{BOATS}/a?dryRun=All"
    first, again = [
        await web.ask("PATCH", path, {"spec": {"size": 7}}, Content_Type=MERGE) for _ in range(2)
    ]
    assert first.json == again.json
    changed = await web.ask("PATCH", path, {"spec": {"size": 9}}, Content_Type=MERGE)
    assert changed.json["spec"]["size"] == 9
    assert (await merged(web)).json == first.json


@pytest.mark.asyncio
async def test_the_cache_contains_few_patches_of_each_object(web):
    patches = [{"spec": {"size": 7}, "metadata": {"labels": {f"a{n}": None}}} for n in range(9)]
    first = [(await merged(web, patch)).json for patch in patches]
    assert first == [(await merged(web, patch)).json for patch in patches]
    [resource] = web.server.resources.group("example.com")
    most = repeats.EACH if web.server.options.patch_cache else 0
    assert count(web, resource) == most
