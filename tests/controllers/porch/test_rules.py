"""Every row of the table of rules: its text, its documented status code and upstream's."""

import asyncio

import pytest
from parcels import CONFIG, KPTFILE, MEDIA, PORCH, parcels

INIT = {"type": "init", "init": {"description": "d"}}
INTERNAL = "Internal error occurred: "


def by_name(name):
    return {"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}}


def by_git(**git):
    git = {"repo": "https://git.example.com/org/blueprints", **git}
    return {"type": "clone", "clone": {"upstreamRef": {"git": git}}}


def edit(name):
    return {"type": "edit", "edit": {"sourceRef": {"name": name}}}


def upgrade(old, new, local, **more):
    names = {"oldUpstreamRef": old, "newUpstreamRef": new, "localPackageRevisionRef": local}
    block = {member: {"name": name} for member, name in names.items() if name}
    return {"type": "upgrade", "upgrade": {**block, **more}}


@pytest.fixture(params=["document", "upstream"])
async def api(request):
    async with parcels(porch_errors=request.param) as found:
        found.mode = request.param
        await found.host()
        await found.register()
        yield found


def refused(api, code, upstream, answer, sentence):
    """Check that a response (code and body) is the refusal in the table."""
    found, body = answer
    wanted = code if api.mode == "document" else upstream
    assert (found, sentence in body["message"]) == (wanted, True), body
    assert body["code"] == wanted
    if wanted == 500:
        assert body["reason"] == "InternalError"
        assert body["message"].startswith(INTERNAL)
    if wanted == 409:
        assert body["reason"] == "Conflict"
        assert "Operation cannot be fulfilled on packagerevision" in body["message"]
    if wanted == 422:
        assert body["reason"] == "Invalid"
        assert any(sentence in cause["message"] for cause in body["details"]["causes"])
    if wanted == 403:
        assert " is forbidden: " in body["message"]
    if wanted == 400:
        assert body["reason"] == "BadRequest"
        assert body["message"] == sentence or sentence == "is required"
        if api.mode == "document" and "elector" not in sentence:
            assert all(cause["field"] for cause in body["details"]["causes"])


async def is_clean(api, *names):
    """Check that only these objects exist."""
    assert await api.names() == sorted(names)


CREATES = [
    ({"lifecycle": "Published"}, 400, 422,
     "cannot create a package revision with lifecycle value 'Final'"),
    ({"lifecycle": "DeletionProposed"}, 400, 422,
     "cannot create a package revision with lifecycle value 'Final'"),
    ({"lifecycle": "Odd"}, 400, 422, "unsupported lifecycle value: Odd"),
    ({"tasks": [INIT, INIT]}, 400, 500, "task list must not contain more than one task"),
    ({"task": {"type": "patch"}}, 400, 500, 'task of type "patch" not supported'),
    ({"task": {"type": "init"}}, 400, 500, 'init not set for task of type "init"'),
    ({"task": {"type": "clone"}}, 400, 500, 'clone not set for task of type "clone"'),
    ({"task": {"type": "edit"}}, 400, 500, 'edit not set for task of type "edit"'),
    ({"task": {"type": "upgrade"}}, 400, 500,
     'upgrade field not set for task of type "upgrade"'),
    ({"task": {**INIT, "edit": {}}}, 400, 500, 'edit does not belong to task of type "init"'),
    ({"task": {"type": "clone", "clone": {}}}, 400, 500,
     "invalid clone source (neither of git, oci, nor upstream were specified)"),
    ({"task": by_name("")}, 400, 500, "upstreamRef.name is required"),
    ({"task": by_name("gone")}, 422, 500, "package revision gone not found"),
    ({"task": {"type": "clone", "clone": {"upstreamRef": {"oci": {"image": "x"}}}}},
     422, 500, "clone from OCI is not implemented"),
    ({"task": by_git(ref="v9", directory="x")}, 422, 500, "ref v9 not found"),
    ({"task": by_git(ref="main", directory="x")}, 422, 500, "must hold a Kptfile"),
    ({"task": by_git(repo="https://git.example.com/org/none")}, 422, 500,
     "repository not found"),
    ({"task": by_git(repo="https://far.example.com/org/none")}, 422, 500, "unreachable"),
    ({"task": {"type": "edit", "edit": {}}}, 400, 500, "sourceRef.name is required"),
    ({"task": edit("gone")}, 422, 500, "package revision gone not found"),
    ({"task": upgrade("", "b", "c")}, 400, 500, "oldUpstreamRef.name is required"),
    ({"task": upgrade("a", "", "c")}, 400, 500, "newUpstreamRef.name is required"),
    ({"task": upgrade("a", "b", "")}, 400, 500, "localPackageRevisionRef.name is required"),
    ({"task": upgrade("gone", "b", "c")}, 422, 500, "package revision gone not found"),
    ({"repository": "none"}, 404, 404,
     'repositories.config.porch.kpt.dev "none" not found'),
    ({"repository": ""}, 400, 400, "is required"),
    ({"package": "a//b"}, 422, 422, "consecutive '/' characters are not allowed"),
    ({"package": "A_b"}, 422, 422, "a lowercase RFC 1123 label must consist of"),
    ({"workspace": "W 1"}, 422, 422, "a lowercase RFC 1123 label must consist of"),
    ({"workspace": ""}, 422, 422, "a lowercase RFC 1123 label must consist of"),
    ({"package": "/".join(["a" * 60] * 5)}, 422, 422, "at most 253 are possible"),
    ({"metadata": {"name": "other"}}, 422, 422, "it must be blueprints.a.v1"),
    ({"metadata": {"generateName": "other-"}}, 422, 422, "leave generateName out"),
    ({"metadata": {"labels": {"kpt.dev/latest-revision": "true"}}}, 422, 422,
     "label is managed by porch and cannot be set by users"),
    ({"task": {"type": "init", "init": {"subpackage": "s"}}}, 422, 500,
     "package must contain Kptfile at root"),
    ({"parent": {"name": "gone"}}, 422, 500, "parent not found"),
]  # fmt: skip


@pytest.mark.parametrize("dry", [False, True])
async def test_refused_creates_store_nothing_in_a_dry_run_or_without(api, dry):
    for spec, code, upstream, sentence in CREATES:
        answer = await api.create(**{"package": "a", **spec}, dry=dry)
        refused(api, code, upstream, answer, sentence)
    await is_clean(api)
    assert (await api.create("a"))[0] == 201


async def test_a_package_revision_is_created_as_proposed_only_by_the_documents(api):
    code, answer = await api.create("a", lifecycle="Proposed")
    if api.mode == "document":
        assert (code, answer["status"]["selfLock"]["git"]["ref"]) == (201, "proposed/a/v1")
    else:
        assert code == 422
        assert "value can be only created as Draft" in answer["message"]


async def test_a_revision_without_a_task_gets_an_init_task(api):
    made = await api.made("a")
    assert made["spec"]["tasks"] == [{"type": "init", "init": {"description": "a description"}}]


async def test_creates_and_clones_of_existing_packages_and_workspaces_are_refused(api):
    await api.made("a")
    sentence = (
        "package revision workspaceNames must be unique; package revision with name a in repo "
        "blueprints with workspaceName v1 already exists"
    )
    refused(api, 409, 500, await api.create("a"), sentence)
    sentence = 'package "a" already exists in repository "blueprints"'
    refused(api, 409, 500, await api.create("a", "v2"), sentence)
    sentence = (
        '`clone` cannot create a new revision for package "a" that already exists in repo '
        '"blueprints"; make subsequent revisions using `copy`'
    )
    answer = await api.create("a", "v2", task=by_name("blueprints.a.v1"))
    refused(api, 422, 500, answer, sentence)
    await is_clean(api, "blueprints.a.v1")


@pytest.mark.parametrize("member", [0, 1, 2])
async def test_an_upgrade_from_a_revision_proposed_for_deletion_is_refused_by_the_documents(
    api, member
):
    await api.made("a")
    await api.publish("blueprints.a.v1")
    await api.made("a", "v2", task=edit("blueprints.a.v1"))
    await api.publish("blueprints.a.v2")
    await api.lifecycle("blueprints.a.v1", "DeletionProposed", approval=True)
    names = ["blueprints.a.v2"] * 3
    names[member] = "blueprints.a.v1"
    answer = await api.create("a", "v3", task=upgrade(*names))
    if api.mode == "document":
        refused(api, 422, 500, answer, 'must be published, "blueprints.a.v1" is not')
    else:
        assert answer[0] == 201


@pytest.mark.parametrize("package", ["a/b", "a/b/c/d"])
async def test_an_upgrade_creates_no_nested_package(api, package):
    """A package above or below another one cannot be made by an upgrade either."""
    name = "blueprints.a.b.c.v1"
    await api.made("a/b/c")
    await api.publish(name)
    code, _ = await api.create(package, task=upgrade(name, name, name))
    assert code in (409, 422, 500)
    await is_clean(api, "blueprints.a.b.c.main", name)


@pytest.mark.parametrize(("first", "second"), [("a/b", "a"), ("a", "a/b/c"), ("a/b", "a/b/c")])
async def test_a_package_above_or_below_another_is_refused(api, first, second):
    await api.made(first)
    sentence = (
        f'package path "{second}" conflicts with existing package "{first}": '
        "packages cannot be nested"
    )
    refused(api, 409, 500, await api.create(second), sentence)
    await api.made("a/bc" if first != "a" else "ab")


async def test_sources_are_published_revisions_of_the_same_package_and_no_placeholders(api):
    await api.made("a")
    draft = 'must be published, "blueprints.a.v1" is not'
    name = "blueprints.a.v1"
    answer = await api.create("b", task=upgrade(name, name, name))
    refused(api, 422, 500, answer, draft)
    refused(api, 422, 500, await api.create("a", "v2", task=edit(name)),
            "source revision must be published")  # fmt: skip
    await api.publish(name)
    main = "blueprints.a.main"
    sentence = f"may not be the placeholder package revision blueprints/{main}"
    for task, kind in (
        (by_name(main), "upstream"),
        (upgrade(name, main, name), "target upstream"),
        (upgrade(name, name, main), "source"),
    ):
        answer = await api.create("b", task=task)
        refused(api, 422, 500, answer, f"{kind} revision {sentence}")
    answer = await api.create("a", "v2", task=edit(main))
    refused(api, 422, 500, answer, f"source revision {sentence}")
    answer = await api.create("b", task=edit(name))
    refused(api, 422, 500, answer, "source revision must be from same package blueprints/b")
    answer = await api.create("b", task=upgrade(name, name, name))
    refused(api, 422, 500, answer, "source revision must be from same package blueprints/b")
    answer = await api.create("a", "v2", task=upgrade(name, name, name, strategy="odd"))
    sentence = (
        'invalid strategy "odd"; must be one of: [resource-merge fast-forward '
        "force-delete-replace copy-merge]"
    )
    refused(api, 400, 500, answer, sentence)


async def test_unknown_lifecycles_are_refused_in_updates_and_in_stored_revisions(api):
    await api.made("a")
    sentence = 'invalid desired lifecycle value: "Odd"'
    if api.mode == "upstream":
        sentence = "value can be only updated to Draft,Proposed,Published,DeletionProposed"
    for approval in (False, True):
        answer = await api.lifecycle("blueprints.a.v1", "Odd", approval=approval)
        refused(api, 400, 422, answer, sentence)
    records = api.server.parts.environment().records
    from inkube.controllers.records import Record

    stored = await api.get("blueprints.a.v1")
    stored["spec"]["lifecycle"] = "Odd"
    await records.commit([Record("update", stored)])
    answer = await api.lifecycle("blueprints.a.v1", "Draft")
    refused(api, 400, 422, answer, 'invalid original lifecycle value: "Odd"')


async def test_an_update_neither_publishes_nor_changes_specs_of_proposed_revisions(api):
    name = "blueprints.a.v1"
    await api.made("a")
    sentence = "value can be only updated to Draft,Proposed"
    for value in ("Published", "DeletionProposed"):
        refused(api, 422, 422, await api.lifecycle(name, value), sentence)
    await api.lifecycle(name, "Proposed")
    answer = await api.lifecycle(name, "Published")
    refused(api, 422, 422, answer, sentence)
    assert ("/approval" in answer[1]["message"]) == (api.mode == "document")
    obj = await api.get(name)
    obj["spec"]["packageMetadata"] = {"labels": {"x": "y"}}
    answer = await api.send("PUT", f"{PORCH}/packagerevisions/{name}", obj)
    if api.mode == "document":
        sentence = "only metadata and lifecycle of a Proposed package revision can be updated"
        refused(api, 422, 422, answer, sentence)
    else:
        assert answer[0] == 200
        assert (
            "packageMetadata" not in answer[1]["spec"]
            or "labels" not in answer[1]["spec"]["packageMetadata"]
        )
    await api.lifecycle(name, "Published", approval=True)
    final = "spec can only update package with lifecycle value one of Draft,Proposed"
    for value in ("Draft", "Proposed", ""):
        refused(api, 422, 422, await api.lifecycle(name, value), final)
    obj = await api.get(name)
    obj["spec"]["packageMetadata"] = {"labels": {"x": "y"}}
    answer = await api.send("PUT", f"{PORCH}/packagerevisions/{name}", obj)
    refused(api, 422, 422, answer, final)
    obj = await api.get(name)
    obj["metadata"]["annotations"] = {"note": "kept"}
    code, answer = await api.send("PUT", f"{PORCH}/packagerevisions/{name}", obj)
    assert (code, answer["metadata"]["annotations"]) == (200, {"note": "kept"})


async def test_an_update_without_a_lifecycle_keeps_a_proposal(api):
    name = "blueprints.a.v1"
    await api.made("a")
    await api.lifecycle(name, "Proposed")
    obj = await api.get(name)
    del obj["spec"]["lifecycle"]
    code, answer = await api.send("PUT", f"{PORCH}/packagerevisions/{name}", obj)
    assert code == 200
    assert answer["spec"]["lifecycle"] == ("Proposed" if api.mode == "document" else "Draft")
    await api.lifecycle(name, "Proposed")
    assert (await api.lifecycle(name, ""))[1]["spec"]["lifecycle"] == "Draft"


async def test_an_approval_accepts_only_the_next_lifecycles(api):
    name = "blueprints.a.v1"
    await api.made("a")

    async def answers(value, sentence):
        refused(api, 422, 422, await api.lifecycle(name, value, approval=True), sentence)

    sentence = (
        "cannot approve package with Draft lifecycle value; only Proposed packages can be approved"
    )
    await answers("Published", sentence)
    await api.lifecycle(name, "Proposed")
    await answers("Proposed", "value for approval can be only one of Draft,Published")
    sentence = (
        "cannot update lifecycle DeletionProposed; only Published packages require approval for "
        "deletion"
    )
    await answers("DeletionProposed", sentence)
    await api.lifecycle(name, "Published", approval=True)
    sentence = "package with Published lifecycle value can only be updated to 'ProposeDeletion'"
    for value in ("Draft", "Proposed", "Published"):
        await answers(value, sentence)
    await api.lifecycle(name, "DeletionProposed", approval=True)
    sentence = "package with DeletionProposed lifecycle value can only be updated to 'Published'"
    for value in ("Draft", "DeletionProposed"):
        await answers(value, sentence)


async def test_updates_need_the_current_resource_version(api):
    name = "blueprints.a.v1"
    await api.made("a")
    for path in (
        f"{PORCH}/packagerevisions/{name}",
        f"{PORCH}/packagerevisions/{name}/approval",
        f"{PORCH}/packagerevisionresources/{name}",
    ):
        _, obj = await api.send("GET", path)
        version = obj["metadata"].pop("resourceVersion")
        sentence = "resourceVersion must be specified for an update"
        refused(api, 400, 500, await api.send("PUT", path, obj), sentence)
        obj["metadata"]["resourceVersion"] = str(int(version) - 1)
        sentence = (
            "the object has been modified; please apply your changes to the latest version and "
            "try again"
        )
        refused(api, 409, 500, await api.send("PUT", path, obj), sentence)


async def test_a_write_beside_another_write_of_the_same_revision_conflicts(api):
    name, engine = "blueprints.a.v1", api.server.parts.environment().services["porch"]
    async with engine.locks.attempt(("revision", "default", name)):
        code, answer = await api.create("a")
        assert code == 409
        assert answer["message"] == (
            'Operation cannot be fulfilled on packagerevisions.porch.kpt.dev "(new creation)": '
            "another request is already in progress to create package revision with details "
            'namespace="default", repository="blueprints", package="a",workspace="v1"'
        )
    await api.made("a")
    async with engine.locks.attempt(("revision", "default", name)):
        code, answer = await api.lifecycle(name, "Proposed")
        assert code == 409
        assert answer["message"].endswith(
            'another request is already in progress on package revision "default/blueprints.a.v1"'
        )
        code, answer = await api.push(name, {"x": "y"}, dryRun="All")
        assert code == 409
        assert 'on package revision resources "default/blueprints.a.v1"' in answer["message"]
    assert (await api.lifecycle(name, "Proposed"))[0] == 200


async def test_users_cannot_change_the_label_of_the_latest_revision(api):
    name = "blueprints.a.v1"
    await api.made("a")
    label: dict = {"metadata": {"labels": {"kpt.dev/latest-revision": "true"}}}
    path = f"{PORCH}/packagerevisions/{name}"
    sentence = "label is managed by porch and cannot be set by users"
    refused(api, 422, 422, await api.send("PATCH", path, label, media=MEDIA), sentence)
    await api.publish(name)
    sentence = "label is managed by porch and cannot be modified by users"
    for value in (None, "false"):
        label["metadata"]["labels"]["kpt.dev/latest-revision"] = value
        answer = await api.send("PATCH", path, label, media=MEDIA)
        refused(api, 422, 422, answer, sentence)
    other = {"metadata": {"labels": {"mine": "x"}}}
    assert (await api.send("PATCH", path, other, media=MEDIA))[0] == 200


async def test_invalid_files_and_files_of_other_revisions_than_drafts_are_refused(api):
    name = "blueprints.a.v1"
    await api.made("a")
    for files, field in (
        ({"Kptfile": None}, "package must contain Kptfile at root"),
        ({"Kptfile": "kind: Other\n"}, "must be of kind: Kptfile"),
        ({"Kptfile": "{"}, ""),
        ({"a.yaml": "x: [1\n"}, ""),
        ({"/etc/x": ""}, "must not begin with /"),
        ({"a/../b": ""}, "must not lead out of the package"),
        ({"a//b": ""}, "must not have empty segments"),
        ({".git/config": ""}, "must not lie in .git"),
    ):
        refused(api, 422, 500, await api.push(name, files), field)
    pipeline = KPTFILE.format(name="a") + "pipeline:\n  mutators:\n  - image: odd/thing:v1\n"
    code, answer = await api.push(name, {"Kptfile": pipeline})
    assert code == (422 if api.mode == "document" else 500)
    assert "Package NOT pushed to remote" in answer["message"]
    assert "function odd/thing:v1 cannot be run by this server" in answer["message"]
    assert "odd/thing" not in (await api.files(name))["Kptfile"]
    await api.lifecycle(name, "Proposed")
    for value in ("Proposed", "Published", "DeletionProposed"):
        if value != "Proposed":
            await api.lifecycle(name, value, approval=True)
        sentence = (
            f'cannot update a package revision with lifecycle value "{value}"; '
            "package must be Draft"
        )
        refused(api, 422, 500, await api.push(name, {"x": "y"}), sentence)


async def test_published_revisions_and_upstreams_of_others_are_not_deleted(api):
    name, path = "blueprints.a.v1", f"{PORCH}/packagerevisions/blueprints.a.v1"
    await api.made("a")
    await api.publish(name)
    sentence = (
        "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to "
        "'DeletionProposed' prior to deletion"
    )
    for params in ({}, {"dryRun": "All"}):
        refused(api, 403, 403, await api.send("DELETE", path, **params), sentence)
    await api.made("b", task=by_name(name))
    await api.lifecycle(name, "DeletionProposed")
    sentence = "cannot delete package revision, it is referenced as upstream by: blueprints.b.v1"
    refused(api, 403, 403, await api.send("DELETE", path), sentence)
    assert (await api.send("DELETE", f"{PORCH}/packagerevisions/blueprints.b.v1"))[0] == 200
    assert (await api.send("DELETE", path))[0] == 200


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        ("spec.revision!=1", 'unsupported fieldSelector operator "!=" for field "spec.revision"'),
        ("spec.odd=a", '"spec.odd" is not a known field selector'),
        ("spec.lifecycle=X", 'unsupported fieldSelector value "X" for field "spec.lifecycle"'),
        ("spec.repository=", 'fieldSelector value of field "spec.repository" is empty'),
    ],
)  # fmt: skip
async def test_field_selectors_of_unknown_fields_operators_and_values_are_refused(
    api, selector, sentence
):
    answer = await api.send("GET", f"{PORCH}/packagerevisions", fieldSelector=selector)
    refused(api, 400, 400, answer, sentence)


@pytest.mark.parametrize(
    ("selector", "labels", "names"),
    [
        ("spec.lifecycle=Draft", "", ["blueprints.b.v1"]),
        ("spec.packageMetadata.labels[app]=x", "", ["blueprints.b.v1"]),
        ("spec.revision=v1,spec.packageName=a", "", ["blueprints.a.v1"]),
        ("", "kpt.dev/latest-revision=true", ["blueprints.a.v1"]),
    ],
)
async def test_files_are_selected_by_fields_and_labels_of_their_revisions(
    api, selector, labels, names
):
    await api.made("a")
    await api.publish("blueprints.a.v1")
    await api.made("b", packageMetadata={"labels": {"app": "x"}})
    asked = {"fieldSelector": selector, "labelSelector": labels}
    for kind in ("packagerevisions", "packagerevisionresources"):
        assert await api.names(kind, **asked) == names


async def test_pages_of_selected_files_are_as_long_as_the_limit(api):
    for package in "abcde":
        await api.made(package)
    await api.publish("blueprints.b.v1")
    asked = {"fieldSelector": "spec.lifecycle=Draft", "limit": "2"}
    found, token = [], ""
    while True:
        _, page = await api.send(
            "GET", f"{PORCH}/packagerevisionresources", **asked, **{"continue": token}
        )
        found.append([item["spec"]["packageName"] for item in page["items"]])
        token = page["metadata"]["continue"]
        if not token:
            break
    assert found == [["a", "c"], ["d", "e"]]


async def test_packages_and_sets_of_files_are_neither_created_nor_deleted(api):
    await api.made("a")
    summary = await api.get("blueprints.a", "packages")
    code, answer = await api.send("POST", f"{PORCH}/packages", summary)
    assert code == 405
    assert answer["message"].endswith("create, clone, update or delete a PackageRevision instead")
    for method in ("PUT", "DELETE"):
        code, _ = await api.send(method, f"{PORCH}/packages/blueprints.a", summary)
        assert code == 405
    files = await api.get("blueprints.a.v1", "packagerevisionresources")
    assert (await api.send("POST", f"{PORCH}/packagerevisionresources", files))[0] == 405
    path = f"{PORCH}/packagerevisionresources/blueprints.a.v1"
    assert (await api.send("DELETE", path))[0] == 405


@pytest.mark.parametrize(
    ("mine", "theirs", "conflicts"),
    [
        ("", "", True), ("/", "x", True), ("x", "x/y", True), ("x/y", "x", True),
        ("x", "y", False), ("xy", "x", False),
    ],
)  # fmt: skip
async def test_repositories_with_overlapping_folders_conflict(api, mine, theirs, conflicts):
    repo = "https://git.example.com/org/deployments"
    await api.register("one", repo, directory=mine)
    git = {"repo": f"{repo}.git", "directory": theirs}
    body = {"metadata": {"name": "two"}, "spec": {"type": "git", "git": git}}
    code, answer = await api.send("POST", f"{CONFIG}/repositories", body)
    if not conflicts:
        assert code == 201
        return
    assert code == (409 if api.mode == "document" else 400)
    assert "Repository conflict with existing repository: default/one" in answer["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"branch": "other"}, "spec.git.branch"),
        ({"repo": "https://git.example.com/org/blueprints"}, "spec.git.repo"),
        ({"directory": "y"}, "spec.git.directory"),
    ],
)
async def test_the_address_branch_and_folder_of_a_repository_are_immutable(api, change, field):
    repo = "https://git.example.com/org/deployments"
    await api.register("one", repo, directory="x")
    body = {"spec": {"git": change}}
    path = f"{CONFIG}/repositories/one"
    code, answer = await api.send("PATCH", path, body, media=MEDIA)
    assert code == 422
    assert answer["details"]["causes"][0]["field"] == field
    assert f"{field} is immutable" in answer["message"]


async def test_the_workspace_name_and_the_tasks_of_a_draft_do_not_change(api):
    await api.made("a")
    obj = await api.get("blueprints.a.v1")
    obj["spec"]["workspaceName"] = "v2"
    obj["spec"]["revision"] = 7
    code, answer = await api.send("PUT", f"{PORCH}/packagerevisions/blueprints.a.v1", obj)
    assert code == 422
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["spec.workspaceName"]
    obj["spec"] |= {"workspaceName": "v1", "tasks": []}
    code, answer = await api.send("PUT", f"{PORCH}/packagerevisions/blueprints.a.v1", obj)
    assert (code, "revision" in answer["spec"]) == (200, False)
    assert "spec.tasks cannot be removed; they stay as they are" in api.warnings[0]


async def test_readiness_gates_stop_a_publication_only_if_they_are_enforced():
    for enforced in (False, True):
        async with parcels(porch_enforce_readiness=enforced) as api:
            await api.host()
            await api.register()
            await api.made("a", readinessGates=[{"conditionType": "Tested"}])
            await api.lifecycle("blueprints.a.v1", "Proposed")
            code, answer = await api.lifecycle("blueprints.a.v1", "Published", approval=True)
            if not enforced:
                assert code == 200
                continue
            assert code == 422
            assert answer["details"]["causes"][0]["field"] == "spec.readinessGates"
            assert "Tested" in answer["message"]


async def test_locks_are_free_after_every_refusal(api):
    await api.made("a")
    for _ in range(2):
        await asyncio.gather(*(api.create("a") for _ in range(5)))
        await api.lifecycle("blueprints.a.v1", "Published", approval=True)
    engine = api.server.parts.environment().services["porch"]
    assert len(engine.locks) == 0
