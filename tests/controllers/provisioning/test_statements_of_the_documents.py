"""Every row about provisioning in docs/documents.md matches the behavior of the server."""

import json
import re

import pytest
import statements
from worldrequests import ALL, GONE, MERGE, URL, Requests, spec_of, token
from worlds import MAIN, PROVISIONING, app, connection, host, repository

from inkube.controllers.checks import Invalid, check, validator
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource

_END = (";", ": the ")


BETA = ALL.replace("v0alpha1", "v1beta1")


class BranchSpec(Model):
    branch: str


class Checkout(Resource, group="versions.example", version="v1alpha1", also_served=["v1beta1"]):
    spec: BranchSpec


PATTERNS = {"v1alpha1": r"[a-z0-9-]+", "v1beta1": r"[a-z0-9._-]+"}


@validator(Checkout, field="spec.branch")
def branch_of_the_version(checkout, old):
    version = checkout.api_version.rpartition("/")[2]
    if not re.fullmatch(PATTERNS[version], checkout.spec.branch):
        yield Invalid(f"branch name must match pattern {PATTERNS[version]} in {version}")


async def f1(ask):
    await ask.server.create(repository())
    for name in ("test", "validate", "check"):
        await ask("POST", f"{ALL}/a/{name}", repository())
        await ask("POST", f"{ALL}/{name}", repository(name))


async def f2(ask):
    await ask.server.create(repository())
    item = {"type": "FieldValueInvalid", "field": "a", "detail": "b c", "origin": "d"}
    for each in (item, {"type": "InternalError"}, {"field": "a"}):
        patch = {"status": {"fieldErrors": [each]}}
        await ask("PATCH", f"{ALL}/a/status", patch, **MERGE)


async def f3(ask):
    await ask.post(spec_of(github={"url": "https://github.com/o/r"}))


async def f4(ask):
    await ask.post(spec_of(type="svn"))


async def f5(ask):
    await ask.post(spec_of(github={"url": "github", "branch": "main"}))


async def f6(ask):
    for interval in (0, -5, 1.5, "often"):
        await ask.post(spec_of(sync={"intervalSeconds": interval}))


async def f7(ask):
    await ask.post(repository("new"))


async def f8(ask):
    await ask.post(spec_of(title="", sync={"intervalSeconds": 0}))
    listed = await ask.server.client.list(f"{PROVISIONING}/repositories")
    assert listed.items == []


async def f30(ask):
    await ask.post(spec_of(title="", github={**URL, **GONE}), "?dryRun=All")
    refused = await ask.post(spec_of(github={"url": "none", **GONE}), "?dryRun=All")
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.github.url"]


async def f9(ask):
    await ask.reported(repository(block={"url": "https://github.com/grafana/none"}))


async def f10(ask):
    await ask.server.edit("githosts", "github.com", outage={"code": 503})
    await ask.reported(repository())


async def f11(ask):
    await ask.reported(repository(block=GONE))


async def f12(ask):
    await ask.server.edit("githosts", "github.com", tokens=[{"value": "good"}])
    await ask.reported(repository(secure=token("wrong")))


async def f13(ask):
    await ask.server.create(repository())
    await ask.post(repository(), "?dryRun=All")


async def f14(ask):
    await ask.server.create(repository("first"))
    await ask.server.settled()
    await ask.reported(repository())


async def f15(ask):
    await ask.server.create(app())
    obj = connection(installation="999999999")
    del obj["spec"]["title"]
    stored = await ask.reported(obj, path=ALL.replace("repositories", "connections"))
    assert stored["status"]["state"] == "Disconnected"


async def f31(ask):
    await ask.server.create(app())
    obj = connection(installation="999999999")
    del obj["secure"]
    await ask.post(obj, path=ALL.replace("repositories", "connections"))


async def f32(ask):
    await ask.server.create(repository(block=GONE))
    await ask.server.settled()
    obj = await ask.server.get("repositories")
    assert [error["field"] for error in obj["status"]["fieldErrors"]] == ["spec.github.branch"]
    obj["spec"]["github"]["branch"] = "main"
    saved = await ask("PUT", f"{ALL}/a", obj)
    assert saved["status"]["fieldErrors"] == []
    assert saved["status"]["observedGeneration"] < saved["metadata"]["generation"]


async def f33(ask):
    created = await ask.server.create(repository())
    version = created["metadata"]["resourceVersion"]
    await ask.server.delete("repositories", "a")
    await ask.server.settled()
    await ask("GET", f"{ALL}/a")
    watch = ask.server.client.watch(f"{PROVISIONING}/repositories", resource_version=version)
    async for event in watch:
        if event.type == "DELETED":
            ask.text += event.type
            break
    await watch.aclose()


async def f34(ask):
    await ask.server.create(repository())
    await ask.post(repository(), "?dryRun=All")
    await ask.post(repository(block=GONE), "?dryRun=All")


async def f35(ask):
    await ask.server.create(app())
    await ask.server.edit("githosts", "github.com", outage={"code": 401})
    await ask.reported(connection(), path=ALL.replace("repositories", "connections"))


async def f36(ask):
    await ask.server.edit("githosts", "github.com", outage={"delayMilliseconds": 11_000})
    await ask.post(repository())
    await ask.server.recheck(11)
    ask.text += json.dumps(await ask.server.errors("repositories"))


async def f16(ask):
    obj = repository(block=GONE)
    del obj["spec"]["title"]
    await ask.reported(obj)


async def f17(ask):
    await ask.server.edit("githosts", "github.com", tokens=[{"value": "good"}])
    block = {"url": "https://github.com/grafana/none"}
    stored = await ask.reported(repository(secure=token("wrong"), block=block))
    fields = [error["field"] for error in stored["status"]["fieldErrors"]]
    assert fields == ["spec.github.url", "secure.token"]


async def f18(ask):
    await ask.server.create(repository())
    await ask.server.settled()
    checked = (await ask.server.get("repositories"))["status"]["health"]["checked"]
    assert abs(checked / 1000 - ask.server.clock.now().timestamp()) < 60


async def f19(ask):
    await ask.server.create(repository())
    patch = [{"op": "replace", "path": "/status/fieldErrors", "value": [{"type": "InternalError"}]}]
    media = {"Content-Type": "application/json-patch+json"}
    found = await ask("PATCH", f"{ALL}/a/status", patch, **media)
    assert found["status"]["fieldErrors"] == [{"type": "InternalError"}]


async def f20(ask):
    await ask.server.create(repository())
    watch = ask.server.client.watch(f"{PROVISIONING}/repositories")
    async for event in watch:
        status, metadata = event.object.get("status", {}), event.object["metadata"]
        if "generation" in metadata and status.get("observedGeneration") == metadata["generation"]:
            break
    await watch.aclose()
    found = await ask("GET", f"{ALL}/a")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]


async def f21(ask):
    await ask.server.create(repository(block=GONE))
    await ask.server.settled()
    await ask("GET", ALL)


async def f22(ask):
    await ask.server.create(repository(block={"branch": "dev"}))
    assert await ask.server.errors("repositories") == []
    await ask.server.edit("githosts", "github.com", repositories=[{**MAIN, "branches": ["main"]}])
    ask.text += json.dumps(await ask.server.errors("repositories"))
    await ask.server.edit("githosts", "github.com", repositories=[MAIN])
    assert await ask.server.errors("repositories") == []


async def f23(ask):
    await ask.post(repository(), "?dryRun=true")
    assert "other API servers refuse it" in ask.text
    assert (await ask.server.client.list(f"{PROVISIONING}/repositories")).items == []


async def f24(ask):
    found = await ask.post(repository(), "?dryRun=All")
    assert found["status"]["health"] == {"healthy": False}
    assert "observedGeneration" not in found["status"]
    assert found["status"]["fieldErrors"] == []


async def f25(ask):
    refused = await ask.post(repository(block=GONE), "?dryRun=true")
    [cause] = refused["details"]["causes"]
    assert (cause["type"], cause["field"]) == ("FieldValueInvalid", "spec.github.branch")
    assert (cause["reason"], cause["detail"]) == (cause["type"], "branch not found")
    assert cause["message"] == 'Invalid value: "gone": branch not found'


async def f26(ask):
    await ask.post(repository(block=GONE), "?dryRun=true")


async def f27(ask):
    await ask.server.create(repository())
    patch = {"spec": {"github": GONE}}
    await ask("PATCH", f"{ALL}/a?dryRun=All", patch, **MERGE)
    await ask("PUT", f"{ALL}/a?dryRun=All", repository(block=GONE))


async def f28(ask):
    await ask.server.client.create(
        {**repository(), "metadata": {"name": "a", "namespace": "default"}}
    )
    await ask("GET", f"/apis/{PROVISIONING}/repositories/a")
    assert "the path names no namespace" in ask.text


async def f29(ask):
    with pytest.raises(ValueError, match="does not help users"):

        @check(Checkout, field="spec.branch")
        async def vague(checkout):
            yield Invalid("validation failed")


async def g1(ask):
    for version in ("v1alpha1", "v1beta1"):
        path = f"/apis/versions.example/{version}/namespaces/ns/checkouts"
        obj = {"metadata": {"name": version}, "spec": {"branch": "user.login"}}
        await ask("POST", path, obj)


async def g2(ask):
    refused = await ask.post(spec_of(github={"url": "https://github.com/o/r", "branch": "a b"}))
    [cause] = refused["details"]["causes"]
    assert cause["field"] == "spec.github.branch"


async def g3(ask):
    github = {"url": "https://github.com/o/r", "branch": "feature/user.login"}
    for version in ("v0alpha1", "v1beta1"):
        obj = {**spec_of(github=github), "metadata": {"name": version}}
        await ask.post(obj, path=ALL.replace("v0alpha1", version))


async def g4(ask):
    await ask.post(
        {"metadata": {"name": "a"}, "spec": {"github": {"branch": "feature/user.login"}}}
    )


async def g5(ask):
    await ask("POST", ALL.replace("v0alpha1", "v2"), repository())


async def g6(ask):
    await ask.post(spec_of(github={**URL, "branch": "main"}))
    found = await ask("GET", f"{BETA}/a")
    assert found["apiVersion"] == "provisioning.grafana.app/v1beta1"


async def g7(ask):
    await ask.post(spec_of(github={**URL, "branch": "main"}), path=BETA)
    found = await ask("GET", ALL)
    assert found["items"][0]["apiVersion"] == PROVISIONING


async def g8(ask):
    await ask.post(repository(), path=BETA)


async def g9(ask):
    for version in ("v0alpha1", "v1beta1"):
        await ask("GET", f"/openapi/v3/apis/provisioning.grafana.app/{version}")


async def f37(ask):
    wrong = spec_of(title="", github={**URL, "branch": "a b"})
    written = await ask.post(wrong)
    dry = await ask.post(wrong, "?dryRun=All")
    assert written == dry


async def f38(ask):
    await ask.server.create(repository(block=GONE))
    await ask.server.settled()
    await ask("PATCH", f"{ALL}/a", {"spec": {"github": {"branch": "main"}}}, **MERGE)
    await ask.server.settled()
    found = await ask("GET", f"{ALL}/a")
    assert (found["status"]["fieldErrors"], found["status"]["health"]["healthy"]) == ([], True)


async def f39(ask):
    await ask.post(repository(block=GONE))
    watch = ask.server.client.watch(f"{PROVISIONING}/repositories")
    async for event in watch:
        if event.object.get("status", {}).get("fieldErrors"):
            ask.text += json.dumps(event.object["status"])
            break
    await watch.aclose()


ROWS = {
    **statements.rows("Provisioning: errors in the status", "F", _END),
    **statements.rows("Provisioning: versions with", "G", _END),
}
STATEMENTS = statements.functions(globals())


def test_every_statement_has_a_row_and_every_row_is_tested():
    assert sorted(ROWS) == sorted(STATEMENTS)


@pytest.mark.parametrize("name", STATEMENTS)
async def test_the_server_answers_as_the_row_requires(provisioned, name):
    codes, texts = ROWS[name]
    kinds = (KindModule(Checkout, validators=[branch_of_the_version]),)
    async with provisioned(kinds=kinds) as server:
        await server.create(host())
        ask = Requests(server)
        await STATEMENTS[name](ask)
    assert set(ask.codes) == set(codes), ask.text
    for text in texts:
        assert name == "F18" or text in ask.text, ask.text
