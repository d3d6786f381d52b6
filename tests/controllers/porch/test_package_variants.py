"""PackageVariants and PackageVariantSets update downstream packages when upstream ones change."""

import json

import pytest
from parcels import CONFIG, MEDIA, PORCH

SETS = CONFIG.replace("v1alpha1", "v1alpha2")
POINT = """apiVersion: v1
kind: ConfigMap
metadata:
  name: region
  annotations:
    kpt.dev/config-injection: required
data: {}
"""


@pytest.fixture
async def api(blueprints):
    """A published upstream package, and a repository for downstream ones."""
    await blueprints.register("deployments")
    await blueprints.made("base")
    await blueprints.push("blueprints.base.v1", {"point.yaml": POINT})
    await blueprints.publish("blueprints.base.v1")
    return blueprints


async def make(api, name="a", **spec):
    """Create a variant of the package `base`, and return it with its status."""
    upstream = {"repo": "blueprints", "package": "base", "revision": 1}
    place = {"repo": "deployments", "package": "base"}
    body = {"metadata": {"name": name}, "spec": {"upstream": upstream, "downstream": place, **spec}}
    code, answer = await api.send("POST", f"{CONFIG}/packagevariants", body)
    assert code == 201, answer
    return await settled(api, name)


async def settled(api, name="a"):
    await api.server.settled()
    _, variant = await api.send("GET", f"{CONFIG}/packagevariants/{name}")
    return variant


async def change(api, spec, name="a"):
    path = f"{CONFIG}/packagevariants/{name}"
    code, answer = await api.send("PATCH", path, {"spec": spec}, media=MEDIA)
    assert code == 200, answer
    return await settled(api, name)


def told(obj):
    """Return conditions by type."""
    found = obj["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


async def test_a_draft_is_made_of_the_upstream_and_belongs_to_the_variant(api):
    variant = await make(api, labels={"team": "x"})
    name = "deployments.base.packagevariant-1"
    assert variant["status"]["downstreamTargets"] == [{"name": name}]
    assert told(variant) == {
        "Stalled": ("False", "Valid", "all validation checks passed"),
        "Ready": ("True", "NoErrors", "successfully ensured downstream package variant"),
    }
    draft = await api.get(name)
    assert draft["metadata"]["labels"] == {"team": "x"}
    assert draft["metadata"]["ownerReferences"][0]["uid"] == variant["metadata"]["uid"]
    assert draft["status"]["upstreamLock"]["git"]["ref"] == "base/v1"


async def test_an_upstream_that_moves_is_followed_by_an_upgrade(api):
    await make(api)
    task = {"type": "edit", "edit": {"sourceRef": {"name": "blueprints.base.v1"}}}
    await api.made("base", "v2", task=task)
    await api.push("blueprints.base.v2", {"README.md": "second\n"})
    await api.publish("blueprints.base.v2")
    variant = await change(api, {"upstream": {"revision": 2}})
    first = "deployments.base.packagevariant-1"
    assert told(variant)["Ready"] == (
        "False", "Error",
        f'cannot update upstream of downstream "{first}" when it is not published',
    )  # fmt: skip
    await api.publish(first)
    variant = await settled(api)
    second = "deployments.base.packagevariant-2"
    assert variant["status"]["downstreamTargets"] == [{"name": second}]
    draft = await api.get(second)
    assert draft["spec"]["tasks"][0]["type"] == "upgrade"
    assert draft["status"]["upstreamLock"]["git"]["ref"] == "base/v2"
    assert (await api.files(second))["README.md"] == "second\n"


async def test_context_pipeline_and_injections_are_written_once(api):
    config = {"metadata": {"name": "here"}, "data": {"region": "north"}}
    await api.send("POST", "/api/v1/namespaces/default/configmaps", config)
    function = {"name": "ns", "image": "set-namespace:v1", "configMap": {"namespace": "prod"}}
    variant = await make(
        api,
        packageContext={"data": {"site": "one"}, "removeKeys": ["gone"]},
        pipeline={"mutators": [function]},
        injectors=[{"kind": "ConfigMap", "name": "here"}],
    )
    assert told(variant)["Ready"][0] == "True", told(variant)
    name = "deployments.base.packagevariant-1"
    files = await api.files(name)
    assert "site: one" in files["package-context.yaml"]
    assert "name: PackageVariant.a.ns.0" in files["Kptfile"]
    assert "region: north" in files["point.yaml"]
    assert "namespace: prod" in files["point.yaml"]
    draft = await api.get(name)
    gate = {"conditionType": "config.injection.ConfigMap.region"}
    assert draft["spec"]["readinessGates"] == [gate]
    version = draft["metadata"]["resourceVersion"]
    await change(api, {"annotations": {"x": "y"}})
    assert (await api.get(name))["metadata"]["resourceVersion"] == version
    await api.publish(name)
    await change(api, {"packageContext": {"data": {"site": "two"}}})
    assert (
        "site: two"
        in (await api.files("deployments.base.packagevariant-2"))["package-context.yaml"]
    )


@pytest.mark.parametrize(("policy", "left"), [("delete", []), ("orphan", ["packagevariant-1"])])
async def test_a_deleted_variant_deletes_or_keeps_its_drafts(api, policy, left):
    await make(api, deletionPolicy=policy)
    await api.send("DELETE", f"{CONFIG}/packagevariants/a")
    await api.server.settled()
    assert (await api.send("GET", f"{CONFIG}/packagevariants/a"))[0] == 404
    names = [name for name in await api.names() if name.startswith("deployments.")]
    assert names == [f"deployments.base.{name}" for name in left]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_published_revisions_outlive_their_variant_until_somebody_approves(api, propagation):
    await make(api)
    name, place = "deployments.base.packagevariant-1", f"{PORCH}/packagerevisions"
    await api.publish(name)
    await settled(api)
    path = f"{CONFIG}/packagevariants/a"
    await api.send("DELETE", path, propagationPolicy=propagation)
    await api.server.settled()
    assert (await api.send("GET", path))[0] == 404
    left = await api.get(name)
    assert left["spec"]["lifecycle"] == "DeletionProposed"
    assert "ownerReferences" not in left["metadata"]
    assert left["status"]["selfLock"]["git"]["ref"] == "base/v1"
    assert "Kptfile" in await api.files(name)
    assert (await api.send("DELETE", f"{place}/{name}"))[0] == 200
    assert (await api.send("GET", f"{place}/{name}"))[0] == 404


async def test_what_was_proposed_for_deletion_before_outlives_the_variant_as_well(api):
    await make(api)
    name = "deployments.base.packagevariant-1"
    await api.publish(name)
    await change(api, {"downstream": {"package": "other"}})
    assert (await api.get(name))["spec"]["lifecycle"] == "DeletionProposed"
    await api.send("DELETE", f"{CONFIG}/packagevariants/a")
    await api.server.settled()
    names = [name for name in await api.names() if name.startswith("deployments.")]
    assert names == ["deployments.base.main", name]
    assert (await api.get(name))["spec"]["lifecycle"] == "DeletionProposed"


async def test_a_variant_with_a_draft_that_cannot_be_deleted_reports_it_and_is_deleted_later(api):
    await make(api)
    name = "deployments.base.packagevariant-1"
    task = {"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}}
    await api.made("copy", "v1", "deployments", task=task)
    await api.send("DELETE", f"{CONFIG}/packagevariants/a")
    await api.server.settled()
    left = await settled(api)
    assert "referenced as upstream by: deployments.copy.v1" in told(left)["Ready"][2]
    version = left["metadata"]["resourceVersion"]
    place = f"{PORCH}/packagerevisions/deployments.copy.v1"
    assert (await api.send("DELETE", place))[0] == 200
    watch = {"watch": "1", "resourceVersion": version}
    async with api.http.get(f"{CONFIG}/packagevariants", params=watch) as changes:
        async for line in changes.content:  # it is retried after a delay
            if json.loads(line)["type"] == "DELETED":
                break
    assert name not in await api.names()


async def test_a_deleted_set_proposes_the_deletion_of_published_revisions(api):
    upstream = {"repo": "blueprints", "package": "base", "revision": 1}
    targets = [{"repositories": [{"name": "deployments", "packageNames": ["x"]}]}]
    body = {"metadata": {"name": "s"}, "spec": {"upstream": upstream, "targets": targets}}
    await api.send("POST", f"{SETS}/packagevariantsets", body)
    await api.server.settled()
    await api.publish("deployments.x.packagevariant-1")
    await api.send("DELETE", f"{SETS}/packagevariantsets/s")
    await api.server.settled()
    _, listed = await api.send("GET", f"{CONFIG}/packagevariants")
    assert listed["items"] == []
    left = await api.get("deployments.x.packagevariant-1")
    assert left["spec"]["lifecycle"] == "DeletionProposed"


async def test_existing_revisions_are_adopted_where_that_is_wanted(api):
    task = {
        "type": "clone",
        "clone": {"upstreamRef": {"upstreamRef": {"name": "blueprints.base.v1"}}},
    }
    await api.made("base", "mine", "deployments", task=task)
    variant = await make(api, adoptionPolicy="adoptExisting", annotations={"a": "b"})
    assert variant["status"]["downstreamTargets"] == [{"name": "deployments.base.mine"}]
    assert (await api.get("deployments.base.mine"))["metadata"]["annotations"] == {"a": "b"}


async def test_errors_are_reported_by_conditions_and_by_dry_runs(api):
    variant = await make(api, adoptionPolicy="odd", upstream={"repo": "blueprints"})
    text = (
        "missing required field spec.upstream.package; "
        'spec.adoptionPolicy field can only be "adoptNone" or "adoptExisting"'
    )
    assert told(variant)["Stalled"] == ("True", "ValidationError", text)
    body = {"metadata": {"name": "b"}, "spec": {"injectors": [{"name": ""}]}}
    code, answer = await api.send("POST", f"{CONFIG}/packagevariants", body, dryRun="All")
    assert code == 422
    assert [cause["field"] for cause in answer["details"]["causes"]] == [
        "spec.upstream", "spec.downstream", "spec.injectors[0].name",
    ]  # fmt: skip
    variant = await make(api, "c", upstream={"repo": "blueprints", "package": "none"})
    assert "could not find upstream package revision" in told(variant)["Stalled"][2]


async def test_a_set_makes_a_variant_for_every_target_and_keeps_them(api):
    upstream = {"repo": "blueprints", "package": "base", "revision": 1}
    template = {
        "downstream": {"packageExpr": "packageDefault + '-' + upstream.name.substring(0, 3)"},
        "labelExprs": [{"key": "repo", "valueExpr": "repository.name"}],
        "packageContext": {"dataExprs": [{"key": "at", "valueExpr": "target.package"}]},
    }
    targets = [
        {
            "repositories": [{"name": "deployments", "packageNames": ["x", "y"]}],
            "template": template,
        }
    ]
    body = {"metadata": {"name": "s"}, "spec": {"upstream": upstream, "targets": targets}}
    code, answer = await api.send("POST", f"{SETS}/packagevariantsets", body)
    assert code == 201, answer
    await api.server.settled()
    _, found = await api.send("GET", f"{SETS}/packagevariantsets/s")
    assert told(found)["Ready"] == (
        "True", "Reconciled", "package variants successfully reconciled",
    )  # fmt: skip
    drafts = [name for name in await api.names() if name.startswith("deployments.")]
    assert drafts == [f"deployments.{p}-blu.packagevariant-1" for p in ("x", "y")]
    assert (await api.get(drafts[0]))["metadata"]["labels"] == {"repo": "deployments"}
    assert "at: x" in (await api.files(drafts[0]))["package-context.yaml"]
    targets[0]["repositories"][0]["packageNames"] = ["y"]
    path = f"{SETS}/packagevariantsets/s"
    await api.send("PATCH", path, {"spec": {"targets": targets}}, media=MEDIA)
    await api.server.settled()
    _, listed = await api.send("GET", f"{CONFIG}/packagevariants")
    assert [each["metadata"]["name"] for each in listed["items"]] == ["s-deployments-y-blu"]
    drafts = [name for name in await api.names() if name.startswith("deployments.")]
    assert drafts == ["deployments.y-blu.packagevariant-1"]
    code, answer = await api.send(
        "POST", f"{SETS}/packagevariantsets", {"metadata": {"name": "t"}, "spec": {}}, dryRun="All"
    )
    assert code == 422
    assert "spec.upstream is a required field" in answer["message"]
    assert (await api.send("GET", f"{PORCH}/packages"))[0] == 200
