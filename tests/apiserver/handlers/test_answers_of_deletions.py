"""The answer of a DELETE in the form that the client accepts, and objects that none removes."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
SYSTEM = ("system-cluster-critical", "system-node-critical")
WHERE = "/api/v1/namespaces/default"


@pytest.mark.parametrize("plural", ["configmaps", "secrets", "serviceaccounts"])
@pytest.mark.parametrize(
    ("accept", "kind", "member"),
    [
        (TABLE, "Table", "rows"),
        (METADATA.format("List"), "PartialObjectMetadataList", "items"),
    ],
)
async def test_a_deletion_of_many_answers_in_the_form_of_a_list(web, plural, accept, kind, member):
    path = f"{WHERE}/{plural}"
    for name in ("a", "b"):
        await web.ask("POST", path, {"metadata": {"name": name, "labels": {"gone": "soon"}}})
    query = "?labelSelector=gone%3Dsoon"
    listed = (await web.ask("GET", f"{path}{query}", Accept=accept)).json
    gone = (await web.ask("DELETE", f"{path}{query}", Accept=accept)).json
    assert gone["kind"] == kind
    for row in gone[member] + listed[member]:
        row.get("cells", [0]).pop()  # the age of a row may have become a second
    assert gone[member] == listed[member]
    assert len(gone[member]) == 2


@pytest.mark.parametrize("accept", [TABLE, METADATA.format("")])
async def test_a_deletion_that_returns_the_object_returns_it_in_that_form(web, accept):
    path = f"{WHERE}/serviceaccounts"
    await web.ask("POST", path, {"metadata": {"name": "one"}})
    shown = (await web.ask("GET", f"{path}/one", Accept=accept)).json
    gone = (await web.ask("DELETE", f"{path}/one", Accept=accept)).json
    assert (gone["kind"], gone.keys()) == (shown["kind"], shown.keys())


async def test_a_status_is_never_a_table(web):
    await web.ask("POST", f"{WHERE}/configmaps", {"metadata": {"name": "one"}})
    gone = (await web.ask("DELETE", f"{WHERE}/configmaps/one", Accept=TABLE)).json
    assert (gone["kind"], gone["status"]) == ("Status", "Success")


async def test_a_system_priority_class_is_removed_only_with_its_collection(web):
    for name in (*SYSTEM, *SYSTEM):
        refused = await web.ask("DELETE", f"{CLASSES}/{name}")
        assert refused.code == 403
        assert refused.json["message"].endswith(
            f'"{name}" is forbidden: this is a system priority class and cannot be deleted'
        )
    assert (await web.ask("DELETE", f"{CLASSES}?dryRun=All")).code == 200
    await web.ask("POST", CLASSES, {"metadata": {"name": "own"}, "value": 5})
    assert (await web.ask("DELETE", f"{CLASSES}/own")).code == 200


@pytest.mark.parametrize(
    ("options", "finalizers", "code"),
    [
        ({"orphanDependents": False}, ["example.com/kept"], 202),
        ({"orphanDependents": False}, [], 200),
        ({"propagationPolicy": "Background"}, ["example.com/kept"], 200),
    ],
)
async def test_only_the_deprecated_option_returns_202_for_a_kept_object(
    web, options, finalizers, code
):
    path = f"{WHERE}/configmaps"
    meta = {"name": f"stays-{code}-{len(finalizers)}", "finalizers": finalizers}
    await web.ask("POST", path, {"metadata": meta})
    gone = await web.ask("DELETE", f"{path}/{meta['name']}", options)
    assert gone.code == code


async def test_delete_options_of_another_kind_are_of_the_meta_group_by_default(web):
    refused = await web.ask("DELETE", f"{WHERE}/configmaps/none", {"kind": "Odd"})
    text = 'no kind "Odd" is registered for version "meta.k8s.io/v1" in scheme'
    assert (refused.code, text in refused.json["message"]) == (400, True)
