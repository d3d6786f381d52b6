"""The lifecycle of a package revision: draft, proposed, rejected, published, deleted."""

from parcels import PORCH, causes


async def test_a_package_is_drafted_proposed_published_and_deleted(blueprints):
    api = blueprints
    draft = await api.made("network/vpc", task={"type": "init", "init": {"description": "d"}})
    name = draft["metadata"]["name"]
    assert name == "blueprints.network.vpc.v1"
    assert draft["spec"]["lifecycle"] == "Draft"
    assert "revision" not in draft["spec"]
    assert draft["status"]["selfLock"]["git"]["ref"] == "drafts/network/vpc/v1"
    assert draft["status"]["conditions"] == [
        {"type": "Rendered", "status": "True", "reason": "RenderSuccess"}
    ]
    files = await api.files(name)
    assert sorted(files) == ["Kptfile", "README.md", "package-context.yaml"]
    assert "name: network/vpc" in files["Kptfile"]
    assert (await api.get(name))["metadata"]["resourceVersion"] == draft["metadata"][
        "resourceVersion"
    ]

    code, proposed = await api.lifecycle(name, "Proposed")
    assert (code, proposed["status"]["selfLock"]["git"]["ref"]) == (200, "proposed/network/vpc/v1")
    code, rejected = await api.lifecycle(name, "Draft", approval=True)
    assert (code, rejected["spec"]["lifecycle"]) == (200, "Draft")
    published = await api.publish(name)
    assert published["spec"]["revision"] == 1
    assert published["metadata"]["labels"] == {"kpt.dev/latest-revision": "true"}
    assert published["status"]["selfLock"]["git"]["ref"] == "network/vpc/v1"
    assert published["status"]["publishedBy"]
    assert await api.names() == ["blueprints.network.vpc.main", name]
    assert await api.names("packages") == ["blueprints.network.vpc"]
    summary = await api.get("blueprints.network.vpc", "packages")
    assert summary["status"]["latestRevision"] == 1

    code, answer = await api.send("DELETE", f"{PORCH}/packagerevisions/{name}")
    assert code == 403
    code, answer = await api.lifecycle(name, "DeletionProposed")
    assert code == 200, answer
    code, answer = await api.lifecycle(name, "Published", approval=True)
    assert code == 200, answer
    await api.lifecycle(name, "DeletionProposed")
    code, answer = await api.send("DELETE", f"{PORCH}/packagerevisions/{name}")
    assert (code, answer["kind"]) == (200, "PackageRevision")
    assert await api.names() == ["blueprints.network.vpc.main"]


async def test_approval_of_a_draft_is_refused(blueprints):
    await blueprints.made("a")
    code, answer = await blueprints.lifecycle("blueprints.a.v1", "Published", approval=True)
    assert code == 422
    assert causes(answer)[0][0] == "spec.lifecycle"
    assert "only Proposed packages can be approved" in answer["message"]
