"""Bodies that are not a PackageRevision, or lack parts of its name, get status 400."""

import pytest
from parcels import CONFIG, MEDIA, PORCH, causes, parcels

WHOLE = {"packageName": "a", "repository": "blueprints", "workspaceName": "v1"}
CREATE = f"{PORCH}/packagerevisions"


@pytest.mark.parametrize(
    ("left_out", "sentence"),
    [
        (["packageName"], "spec.packageName is required"),
        (["workspaceName"], "spec.workspaceName is required"),
        (["repository"], "spec.repository is required"),
        (
            ["packageName", "repository"],
            "spec.repository is required; spec.packageName is required",
        ),
    ],
)
@pytest.mark.parametrize("options", [{}, {"dryRun": "All"}], ids=["written", "dry-run"])
async def test_missing_members_are_named(blueprints, left_out, sentence, options):
    spec = {member: value for member, value in WHOLE.items() if member not in left_out}
    code, answer = await blueprints.send("POST", CREATE, {"spec": spec}, **options)
    assert (code, answer["reason"], answer["message"]) == (400, "BadRequest", sentence)
    found = [(each["type"], each["field"], each["detail"]) for each in answer["details"]["causes"]]
    texts = sentence.split("; ")
    assert found == [("FieldValueRequired", text.split()[0], text) for text in texts]


@pytest.mark.parametrize("errors", ["document", "upstream"])
async def test_of_the_real_server_only_the_repository_is_required_by_400(errors):
    async with parcels(porch_errors=errors) as api:
        await api.host()
        await api.register()
        code, _ = await api.send("POST", CREATE, {"spec": {**WHOLE, "packageName": None}})
        assert code == (400 if errors == "document" else 422)
        code, _ = await api.send("POST", CREATE, {"spec": {"packageName": "a"}})
        assert code == 400


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"packageName": 5}, "spec.packageName"),
        ({"lifecycle": 5}, "spec.lifecycle"),
        ({"tasks": "init"}, "spec.tasks"),
        ({"tasks": [{"type": "init", "init": "x"}]}, "spec.tasks[0].init"),
        ({"packageMetadata": {"labels": {"a": 5}}}, "spec.packageMetadata.labels.a"),
        ({"readinessGates": [{}]}, "spec.readinessGates[0].conditionType"),
    ],
)
async def test_members_of_other_types_are_named(blueprints, change, field):
    code, answer = await blueprints.send("POST", CREATE, {"spec": {**WHOLE, **change}})
    assert (code, answer["reason"], causes(answer)[0][0]) == (400, "BadRequest", field)
    assert 'in version "v1alpha1" cannot be handled as a PackageRevision: ' in answer["message"]


async def test_updates_and_files_of_other_types_are_named(blueprints):
    await blueprints.made("a")
    for path, patch, field in (
        ("packagerevisions", {"spec": 5}, "spec"),
        ("packagerevisions", {"spec": {"packageMetadata": 5}}, "spec.packageMetadata"),
        ("packagerevisionresources", {"spec": {"resources": 5}}, "spec.resources"),
        ("packagerevisionresources", {"spec": {"resources": {"a": 5}}}, "spec.resources.a"),
    ):
        code, answer = await blueprints.send(
            "PATCH", f"{PORCH}/{path}/blueprints.a.v1", patch, media=MEDIA
        )
        assert (code, causes(answer)[0][0]) == (400, field), answer


async def test_what_is_no_object_is_refused_before_anything_is_prepared(blueprints):
    code, answer = await blueprints.send("POST", CREATE, {"spec": 5})
    assert (code, causes(answer)[0][0]) == (400, "spec")
    code, answer = await blueprints.send(
        "POST", f"{CONFIG}/repositories", {"metadata": {"name": "x"}, "spec": 5}
    )
    assert (code, causes(answer)[0][0]) == (422, "spec"), "a custom resource is invalid"


@pytest.mark.parametrize("body", [{"kind": "Foo"}, {"kind": "Foo", "spec": WHOLE}])
async def test_another_kind_is_a_bad_request(blueprints, body):
    code, answer = await blueprints.send("POST", CREATE, body)
    assert (code, answer["reason"], causes(answer)[0][0]) == (400, "BadRequest", "kind")
    assert 'cannot be handled as a PackageRevision: kind: Invalid value: "Foo"' in answer["message"]
