"""Updates add tasks to a Draft; executed tasks stay unchanged."""

import pytest
from parcels import CONFIG, MEDIA, PORCH, causes

NAME = "blueprints.a.v1"
PATH = f"{PORCH}/packagerevisions/{NAME}"
FIRST = {"type": "init", "init": {"description": "first"}}
SUBPACKAGE = {"type": "init", "init": {"description": "below", "subpackage": "s"}}


def edit(name):
    return {"type": "edit", "edit": {"sourceRef": {"name": name}}}


def clone(name):
    return {"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}}


def upgrade(old, new, local):
    names = {"oldUpstreamRef": old, "newUpstreamRef": new, "localPackageRevisionRef": local}
    return {"type": "upgrade", "upgrade": {member: {"name": n} for member, n in names.items()}}


@pytest.fixture
async def api(blueprints):
    await blueprints.made("a", task=FIRST)
    return blueprints


async def put(api, *tasks, name=NAME, lifecycle=None, **params):
    """PUT a revision with these tasks."""
    obj = await api.get(name)
    obj["spec"]["tasks"] = list(tasks)
    obj["spec"]["lifecycle"] = lifecycle or obj["spec"]["lifecycle"]
    return await api.send("PUT", f"{PORCH}/packagerevisions/{name}", obj, **params)


async def test_added_tasks_are_carried_out_in_order(api):
    second = {"type": "init", "init": {"description": "second", "site": "https://example.com"}}
    before = await api.get(NAME)
    code, answer = await put(api, FIRST, second, SUBPACKAGE)
    assert (code, answer["spec"]["tasks"]) == (200, [FIRST, second, SUBPACKAGE])
    files = await api.files(NAME)
    assert "description: second" in files["Kptfile"]
    assert "first" in files["README.md"], "files that are there stay"
    assert "description: below" in files["s/Kptfile"]
    assert before["metadata"]["generation"] < answer["metadata"]["generation"]
    assert answer["status"]["selfLock"] != before["status"]["selfLock"]
    assert answer["status"]["selfLock"]["git"]["ref"] == "drafts/a/v1"


async def test_a_dry_run_shows_the_tasks_and_keeps_none(api):
    code, answer = await put(api, FIRST, SUBPACKAGE, dryRun="All")
    assert (code, answer["spec"]["tasks"]) == (200, [FIRST, SUBPACKAGE])
    assert (await api.get(NAME))["spec"]["tasks"] == [FIRST]
    assert "s/Kptfile" not in await api.files(NAME)


async def test_a_patch_adds_as_well_and_what_is_proposed_with_it_has_its_files(api):
    patch = {"spec": {"tasks": [FIRST, SUBPACKAGE], "lifecycle": "Proposed"}}
    code, answer = await api.send("PATCH", PATH, patch, media=MEDIA)
    assert (code, answer["spec"]["lifecycle"]) == (200, "Proposed")
    assert answer["status"]["selfLock"]["git"]["ref"] == "proposed/a/v1"
    assert "s/Kptfile" in await api.files(NAME)


async def test_edits_and_upgrades_can_be_added(api):
    await api.publish(NAME)
    await api.made("a", "v2", task=edit(NAME))
    await api.push("blueprints.a.v2", {"new.yaml": "a: b\n"})
    await api.publish("blueprints.a.v2")
    await api.made("a", "v3", task=edit(NAME))
    name = "blueprints.a.v3"
    assert "new.yaml" not in await api.files(name)
    code, answer = await put(api, edit(NAME), edit("blueprints.a.v2"), name=name)
    assert code == 200, answer
    assert "new.yaml" in await api.files(name)
    added = upgrade(NAME, "blueprints.a.v2", NAME)
    code, answer = await put(api, edit(NAME), edit("blueprints.a.v2"), added, name=name)
    assert (code, len(answer["spec"]["tasks"])) == (200, 3)
    assert answer["spec"]["tasks"][2]["upgrade"]["strategy"] == "resource-merge"
    assert answer["status"]["upstreamLock"]["git"]["ref"] == "a/v2"
    code, answer = await put(api, edit(NAME), edit("blueprints.a.v2"), added, name=name)
    assert (code, len(answer["spec"]["tasks"])) == (200, 3), "the default of strategy is the same"


@pytest.mark.parametrize(
    ("tasks", "field", "why"),
    [
        ([{"type": "init", "init": {"description": "other"}}], "spec.tasks[0]", "cannot be chang"),
        ([SUBPACKAGE, FIRST], "spec.tasks[0]", "cannot be changed or removed"),
        ([FIRST, edit("gone")], "spec.tasks[1].edit.sourceRef.name", "gone not found"),
        ([FIRST] * 101, "spec.tasks", "must have at most 100 items"),
    ],
)
async def test_what_was_carried_out_cannot_be_changed_and_what_fails_adds_nothing(
    api, tasks, field, why
):
    code, answer = await put(api, *tasks)
    [(found, message)] = causes(answer)
    assert (code, found) == (422, field)
    assert why in message
    assert (await api.get(NAME))["spec"]["tasks"] == [FIRST]


async def test_tasks_that_were_carried_out_cannot_be_removed(api):
    await put(api, FIRST, SUBPACKAGE)
    code, answer = await put(api, FIRST)
    assert (code, causes(answer)[0][0]) == (422, "spec.tasks")
    code, answer = await put(api)
    assert (code, answer["spec"]["tasks"]) == (200, [FIRST, SUBPACKAGE])
    assert "spec.tasks cannot be removed" in api.warnings[0]


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ({"type": "patch"}, 'task of type "patch" not supported'),
        ({"type": "edit"}, 'edit not set for task of type "edit"'),
        (edit(""), "sourceRef.name is required"),
    ],
)
async def test_added_tasks_are_judged_as_those_of_a_create(api, task, sentence):
    code, answer = await put(api, FIRST, task)
    assert (code, answer["message"]) == (400, sentence)


async def test_a_clone_is_added_to_the_first_revision_of_a_package_only(api):
    await api.made("up")
    await api.push("blueprints.up.v1", {"up.yaml": "a: b\n"})
    code, answer = await put(api, FIRST, clone("blueprints.up.v1"))
    assert code == 200, answer
    assert "up.yaml" in await api.files(NAME)
    await api.publish(NAME)
    await api.made("a", "v2", task=edit(NAME))
    tasks = [edit(NAME), clone("blueprints.up.v1")]
    code, answer = await put(api, *tasks, name="blueprints.a.v2")
    assert (code, causes(answer)[0][0]) == (422, "spec.tasks[1].type")
    assert "make subsequent revisions using `copy`" in answer["message"]


@pytest.mark.parametrize("lifecycle", ["Proposed", "Published"])
async def test_only_a_draft_is_given_tasks(api, lifecycle):
    await api.lifecycle(NAME, "Proposed")
    if lifecycle == "Published":
        await api.publish_proposed(NAME)
    code, answer = await put(api, FIRST, SUBPACKAGE)
    assert (code, causes(answer)[0][0]) == (422, "spec")


async def test_all_tasks_are_known_again_when_a_repository_comes_back(api):
    await put(api, FIRST, SUBPACKAGE)
    await api.push(NAME, {"x": "y"})
    await api.send("DELETE", f"{CONFIG}/repositories/blueprints")
    await api.server.settled()
    assert await api.names() == []
    await api.register()
    assert (await api.get(NAME))["spec"]["tasks"] == [FIRST, SUBPACKAGE]
    await api.publish(NAME)
    assert (await api.get("blueprints.a.main"))["spec"]["tasks"] == [FIRST, SUBPACKAGE]
