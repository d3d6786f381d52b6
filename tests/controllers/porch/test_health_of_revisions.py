"""Later failures appear in the status of a revision, which is written only if it changes."""

from parcels import CONFIG, MEDIA, PORCH, WORLD, parcels

ONCE = {"spec": {"sync": {"runOnceAt": "2020-01-01T00:00:00Z"}}}


async def test_revisions_of_a_failing_repository_have_a_field_error_until_it_recovers():
    async with parcels() as api:
        await api.host()
        await api.register()
        draft = await api.made("a")
        assert draft["status"]["fieldErrors"] == []
        assert draft["status"]["observedGeneration"] == draft["metadata"]["generation"]
        outage = {"spec": {"outage": {"code": 503}}}
        await api.send("PATCH", f"{WORLD}/git.example.com", outage, media=MEDIA)
        await api.send("PATCH", f"{CONFIG}/repositories/blueprints", ONCE, media=MEDIA)
        await api.server.settled()
        found = await api.get("blueprints.a.v1")
        [error] = found["status"]["fieldErrors"]
        assert error["field"] == "spec.repository"
        assert "repository blueprints is not ready: unreachable" in error["detail"]
        code, answer = await api.create("b")
        assert (code, "is not ready" in answer["message"]) == (422, True)
        assert await api.names() == ["blueprints.a.v1"]
        version = found["metadata"]["resourceVersion"]
        await api.send("PATCH", f"{CONFIG}/repositories/blueprints", ONCE, media=MEDIA)
        await api.server.settled()
        assert (await api.get("blueprints.a.v1"))["metadata"]["resourceVersion"] == version
        good = {"spec": {"outage": None}}
        await api.send("PATCH", f"{WORLD}/git.example.com", good, media=MEDIA)
        await api.send("PATCH", f"{CONFIG}/repositories/blueprints", ONCE, media=MEDIA)
        await api.server.settled()
        assert (await api.get("blueprints.a.v1"))["status"]["fieldErrors"] == []


async def test_revisions_cloned_from_a_deleted_upstream_have_a_field_error(blueprints):
    api = blueprints
    await api.made("a")
    task = {"type": "clone"}
    reference = {"upstreamRef": {"name": "blueprints.a.v1"}}
    await api.register("deployments")
    await api.made(
        "b", repository="deployments", task={**task, "clone": {"upstreamRef": reference}}
    )
    await api.send("DELETE", f"{CONFIG}/repositories/blueprints")
    await api.server.settled()
    [error] = (await api.get("deployments.b.v1"))["status"]["fieldErrors"]
    assert error["field"] == "spec.tasks[0].clone.upstreamRef.upstreamRef.name"
    assert error["detail"] == "package revision blueprints.a.v1 not found"
    await api.register("blueprints")
    assert (await api.get("deployments.b.v1"))["status"]["fieldErrors"] == []


async def test_labels_and_owners_survive_a_sync_and_do_not_touch_git(blueprints):
    api = blueprints
    await api.made("a")
    note = {"metadata": {"labels": {"team": "x"}, "finalizers": ["example.com/mine"]}}
    path = f"{PORCH}/packagerevisions/blueprints.a.v1"
    before = (await api.get("blueprints.a.v1"))["status"]["selfLock"]
    await api.send("PATCH", path, note, media=MEDIA)
    await api.send("PATCH", f"{CONFIG}/repositories/blueprints", ONCE, media=MEDIA)
    await api.server.settled()
    found = await api.get("blueprints.a.v1")
    assert found["metadata"]["labels"] == {"team": "x"}
    assert found["status"]["selfLock"] == before
    code, held = await api.send("DELETE", path)
    assert (code, "deletionTimestamp" in held["metadata"]) == (200, True)
    await api.send("PATCH", path, {"metadata": {"finalizers": None}}, media=MEDIA)
    assert await api.names() == []
    await api.made("a")
