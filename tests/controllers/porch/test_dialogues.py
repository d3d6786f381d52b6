"""Porch's command-line tests as sequences of API requests, and the columns of their tables."""

import pytest
from parcels import CONFIG, KPTFILE, MEDIA, PORCH, causes, parcels

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
UNREADY = (
    KPTFILE.format(name="unready")
    + "info:\n  readinessGates:\n  - conditionType: foo\n"
    + "status:\n  conditions:\n  - type: foo\n    status: 'False'\n"
)
CM = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n"
    "  image: nginx:1 # kpt-set: nginx:${{version}}\n  own: {own}\n"
)
SETTERS = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: setters\n"
    "  annotations:\n    config.kubernetes.io/local-config: 'true'\ndata:\n  version: '2'\n"
)


def namespace(name):
    return {"namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n"}


def package(path, *versions):
    return {"path": path, "revisions": [{"files": files} for files in versions]}


BP = {
    "path": "org/bp",
    "defaultBranch": "main",
    "branches": ["main"],
    "packages": [
        package("basens", *(namespace(f"v{number}") for number in range(1, 5))),
        package("empty", {}),
        package("bucket", namespace("bucket")),
        package("redis-bucket", namespace("redis")),
        package("unready", {"Kptfile": UNREADY}),
        package("update", namespace("one"), namespace("two")),
    ],
}


def clone_git(**git):
    git = {"repo": "https://git.example.com/org/bp", **git}
    return {"type": "clone", "clone": {"upstreamRef": {"type": "git", "git": git}}}


def clone(name):
    return {"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}}


def copy(name):
    return {"type": "edit", "edit": {"sourceRef": {"name": name}}}


@pytest.fixture
async def api():
    async with parcels() as found:
        await found.host(repositories=[BP, {"path": "org/git", "branches": ["main"]}])
        await found.register("bp")
        await found.register("git")
        yield found


async def test_repo_register_and_unregister():
    async with parcels() as api:
        repositories = [{"path": "org/git", "branches": ["main"]}]
        await api.host(repositories=repositories, tokens=[{"value": "good", "write": True}])
        secret = {
            "metadata": {"name": "git-auth"},
            "type": "kubernetes.io/basic-auth",
            "stringData": {"username": "nobody", "password": "good"},
        }
        await api.send("POST", "/api/v1/namespaces/default/secrets", secret)
        spec = {"type": "git", "git": {"repo": "https://git.example.com/org/git"}}
        body = {"metadata": {"name": "git"}, "spec": spec}
        code, answer = await api.send("POST", f"{CONFIG}/repositories", body, dryRun="All")
        assert (code, causes(answer)[0][0]) == (422, "spec.git.repo")
        assert "not authorized" in answer["message"]
        spec["git"]["secretRef"] = {"name": "git-auth"}
        code, answer = await api.send("POST", f"{CONFIG}/repositories", body)
        assert (code, answer["spec"]["content"]) == (201, "Package")
        await api.server.settled()
        async with api.http.get(f"{CONFIG}/repositories", headers=TABLE) as reply:
            table = await reply.json()
        names = [column["name"] for column in table["columnDefinitions"]]
        row = dict(zip(names, table["rows"][0]["cells"], strict=True))
        row.pop("Age")
        assert row == {
            "Name": "git", "Type": "git", "Content": "Package", "Sync schedule": None,
            "Deployment": None, "Ready": "True", "Branch": "main",
            "Address": "https://git.example.com/org/git",
        }  # fmt: skip
        await api.made("a", repository="git")
        await api.send("DELETE", f"{CONFIG}/repositories/git")
        await api.server.settled()
        assert (await api.send("GET", f"{CONFIG}/repositories"))[1]["items"] == []
        assert await api.names() == []


async def test_a_token_that_may_only_read_cannot_write():
    async with parcels() as api:
        await api.host(repositories=[BP], tokens=[{"value": "reader"}])
        secret = {
            "metadata": {"name": "auth"},
            "stringData": {"username": "nobody", "password": "reader"},
        }
        await api.send("POST", "/api/v1/namespaces/default/secrets", secret)
        git = {"repo": "https://git.example.com/org/bp", "secretRef": {"name": "auth"}}
        body = {"metadata": {"name": "bp"}, "spec": {"type": "git", "git": git}}
        await api.send("POST", f"{CONFIG}/repositories", body)
        await api.server.settled()
        assert len(await api.names()) == 16
        code, answer = await api.create("a", repository="bp")
        assert code == 403
        assert "do not allow to push" in answer["message"]
        assert len(await api.names()) == 16


async def test_rpkg_get(api):
    async with api.http.get(f"{PORCH}/packagerevisions", headers=TABLE) as reply:
        table = await reply.json()
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == [
        "Name", "Package", "WorkspaceName", "Revision", "Latest", "Lifecycle", "Repository",
    ]  # fmt: skip
    rows = [row["cells"] for row in table["rows"]]
    assert len(rows) == 16
    assert rows[0] == ["bp.basens.main", "basens", "main", -1, False, "Published", "bp"]
    assert [row[4] for row in rows if row[1] == "basens"] == [False, False, False, False, True]
    assert rows[-1][:4] == ["bp.update.v2", "update", "v2", 2]
    assert await api.names(fieldSelector="spec.packageName=basens,spec.revision=v4") == [
        "bp.basens.v4"
    ]
    selector = {"labelSelector": "kpt.dev/latest-revision=true"}
    assert await api.names(fieldSelector="spec.packageName=basens", **selector) == ["bp.basens.v4"]
    async with api.http.get(f"{PORCH}/packagerevisionresources", headers=TABLE) as reply:
        table = await reply.json()
    assert table["rows"][0]["cells"] == ["bp.basens.main", "basens", "main", -1, "bp", 2]
    async with api.http.get(f"{PORCH}/packages", headers=TABLE) as reply:
        table = await reply.json()
    assert table["rows"][0]["cells"] == ["bp.basens", "basens", "bp", 4]


async def test_rpkg_init_and_deploy(api):
    init = {"description": "a test", "keywords": ["test", "package"], "site": "http://x.example"}
    await api.made("init-package", "init-1", "git", task={"type": "init", "init": init})
    files = await api.files("git.init-package.init-1")
    for text in ("a test", "- test", "http://x.example", "type: Rendered"):
        assert text in files["Kptfile"]
    assert "name: example" in files["package-context.yaml"]
    code, answer = await api.create("init-package", "init-2", "git")
    assert code == 409
    assert 'package "init-package" already exists in repository "git"' in answer["message"]
    repositories = [BP, {"path": "org/deploy", "branches": ["main"]}]
    patch = {"spec": {"repositories": repositories}}
    await api.send(
        "PATCH", "/apis/world.inkube.dev/v1/githosts/git.example.com", patch, media=MEDIA
    )
    await api.register("deploy", deployment=True)
    made = await api.made("app", repository="deploy")
    assert made["status"]["deployment"] is True
    assert "name: example" in (await api.files("deploy.app.v1"))["package-context.yaml"]
    await api.made("cloned", repository="deploy", task=clone("bp.empty.v1"))
    context = (await api.files("deploy.cloned.v1"))["package-context.yaml"]
    assert "name: cloned" in context
    assert "package-path: cloned" in context


async def test_rpkg_clone_and_copy(api):
    task = clone_git(directory="/basens", ref="basens/v1")
    await api.made("basens-clone", "clone-2", "git", task=task)
    name = "git.basens-clone.clone-2"
    files = await api.files(name)
    assert "name: basens-clone" in files["Kptfile"]
    lock = (await api.get(name))["status"]["upstreamLock"]["git"]
    assert (lock["directory"], lock["ref"]) == ("basens", "basens/v1")
    assert "upstream-identifier: '|Namespace|default|v1'" in files["namespace.yaml"]
    assert "metadata: # kpt-merge: /v1" in files["namespace.yaml"]
    assert "Rendered" in files["Kptfile"]
    code, answer = await api.create("basens-clone", "clone-3", "git", task=task)
    assert code == 422
    assert "make subsequent revisions using `copy`" in answer["message"]
    [found] = await api.names(fieldSelector="spec.packageName=empty,spec.revision=1")
    await api.made("empty-clone", "clone-1", "git", task=clone(found))
    await api.publish(name)
    await api.made("basens-clone", "copy-2", "git", task=copy(name))
    copied = await api.files("git.basens-clone.copy-2")
    assert copied == files
    assert (await api.get("git.basens-clone.copy-2"))["status"]["upstreamLock"]["git"] == lock


async def test_rpkg_push_and_push_on_render_failure(api):
    await api.made("push", repository="git")
    name = "git.push.v1"
    kptfile = (await api.files(name))["Kptfile"]
    code, answer = await api.push(name, {"Kptfile": kptfile.replace("push description", "new")})
    assert code == 200
    assert "new" in answer["spec"]["resources"]["Kptfile"]
    pipeline = (
        "pipeline:\n  mutators:\n  - image: gcr.io/kpt-fn/set-namespace:v0.4.1\n"
        "    configMap:\n      namespace: x\n  - image: set-annotations:v0.1\n"
    )
    code, answer = await api.push(name, {"Kptfile": kptfile + pipeline})
    assert code == 422
    assert "config is needed" in answer["message"]
    assert "NOT pushed" in answer["message"]
    unknown = kptfile + "pipeline:\n  mutators:\n  - image: odd:v1\n"
    for number, value in enumerate(("true", "false", None)):
        note = {} if value is None else {"porch.kpt.dev/push-on-render-failure": value}
        own = f"git.fail{number}.v1"
        await api.made(f"fail{number}", repository="git", metadata={"annotations": note})
        code, answer = await api.push(own, {"Kptfile": unknown})
        assert code == 422
        stored = (await api.files(own))["Kptfile"]
        if value == "true":
            assert "Package pushed to remote despite render failure" in answer["message"]
            assert "image: odd:v1" in stored
            [condition] = (await api.get(own))["status"]["conditions"]
            assert (condition["type"], condition["status"]) == ("Rendered", "False")
        else:
            assert "Package NOT pushed to remote" in answer["message"]
            assert "odd" not in stored


async def test_functions_nobody_knows_may_be_passed_by():
    async with parcels(porch_functions="skip") as api:
        await api.host()
        await api.register()
        await api.made("a")
        kptfile = (await api.files("blueprints.a.v1"))["Kptfile"]
        pipeline = "pipeline:\n  mutators:\n  - image: odd:v1\n"
        code, answer = await api.push("blueprints.a.v1", {"Kptfile": kptfile + pipeline})
        assert code == 200
        [item] = answer["status"]["renderStatus"]["result"]["items"]
        assert item["results"] == [{"message": "not run by inkube", "severity": "info"}]


async def test_rpkg_nested_package(api):
    await api.made("nested", repository="git")
    function = "pipeline:\n  mutators:\n  - image: {image}\n    configMap:\n      {pair}\n"
    files = {
        "Kptfile": KPTFILE.format(name="nested")
        + function.format(image="set-labels:v1", pair="from: parent"),
        "s/Kptfile": KPTFILE.format(name="s")
        + function.format(image="set-labels:v1", pair="from: child\n      own: child"),
        "s/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n",
    }
    code, answer = await api.push("git.nested.v1", files)
    assert code == 200, answer
    text = (await api.files("git.nested.v1"))["s/cm.yaml"]
    assert "from: parent" in text
    assert "own: child" in text


async def test_a_condition_that_a_client_sets_fulfils_a_readiness_gate(api):
    await api.made("unready", repository="git", task=clone("bp.unready.v1"))
    name = "git.unready.v1"
    draft = await api.get(name)
    assert draft["spec"]["readinessGates"] == [{"conditionType": "foo"}]
    assert {"type": "foo", "status": "False"} in draft["status"]["conditions"]
    draft["status"]["conditions"] = [{"type": "foo", "status": "True"}]
    code, answer = await api.send("PUT", f"{PORCH}/packagerevisions/{name}", draft)
    assert code == 200
    assert {"type": "foo", "status": "True"} in answer["status"]["conditions"]
    assert "status: 'True'" in (await api.files(name))["Kptfile"]
    await api.publish(name)
    await api.made("unready", "v2", "git", task=copy(name))
    await api.publish("git.unready.v2")


async def test_rpkg_upgrade(api):
    def upgrade(old, new, local):
        names = {"oldUpstreamRef": old, "newUpstreamRef": new, "localPackageRevisionRef": local}
        block = {member: {"name": name} for member, name in names.items()}
        return {"type": "upgrade", "upgrade": block}

    await api.made("orig", repository="git", task=clone("bp.basens.v1"))
    await api.publish("git.orig.v1")
    await api.made("down", repository="git", task=clone("git.orig.v1"))
    kptfile = (await api.files("git.down.v1"))["Kptfile"]
    pipeline = "pipeline:\n  mutators:\n  - image: apply-setters:v1\n    configPath: setters.yaml\n"
    files = {
        "Kptfile": kptfile + pipeline,
        "setters.yaml": SETTERS,
        "cm1.yaml": CM.format(name="cm1", own="local"),
    }
    code, answer = await api.push("git.down.v1", files)
    assert code == 200, answer
    assert "image: nginx:2 # kpt-set" in answer["spec"]["resources"]["cm1.yaml"]
    await api.publish("git.down.v1")
    await api.made("orig", "v2", "git", task=copy("git.orig.v1"))
    await api.push("git.orig.v2", {"cm2.yaml": CM.format(name="cm2", own="up"), "README.md": "x\n"})
    await api.publish("git.orig.v2")
    made = await api.made(
        "down", "v2", "git", task=upgrade("git.orig.v1", "git.orig.v2", "git.down.v1")
    )
    assert made["spec"]["tasks"][0]["upgrade"]["strategy"] == "resource-merge"
    assert made["status"]["upstreamLock"]["git"]["ref"] == "orig/v2"
    upgraded = await api.files("git.down.v2")
    assert "own: local" in upgraded["cm1.yaml"]
    assert "image: nginx:2 # kpt-set" in upgraded["cm2.yaml"]
    assert "name: down" in upgraded["Kptfile"]
    assert upgraded["README.md"] == "x\n"


async def test_directories_of_one_repository_are_repositories_of_their_own(api):
    repo = "https://git.example.com/org/git"
    await api.send("DELETE", f"{CONFIG}/repositories/git")
    await api.server.settled()
    for number in (1, 2):
        await api.register(f"down{number}", repo, directory=f"downstream{number}")
    for number in (1, 2):
        await api.made("same", repository=f"down{number}")
        published = await api.publish(f"down{number}.same.v1")
        lock = published["status"]["selfLock"]["git"]
        assert lock["ref"] == f"downstream{number}/same/v1"
        assert lock["directory"] == f"downstream{number}/same"
    assert [n for n in await api.names() if n.startswith("down")] == [
        "down1.same.main", "down1.same.v1", "down2.same.main", "down2.same.v1",
    ]  # fmt: skip


async def test_an_approval_causes_three_events(api):
    await api.made("a", repository="git")
    await api.publish("git.a.v1")
    await api.made("a", "v2", "git", task=copy("git.a.v1"), lifecycle="Proposed")
    revision = api.server.store.revision
    gvr = "porch.kpt.dev/v1alpha1/packagerevisions"
    events = api.server.client.watch(gvr, resource_version=str(revision))
    await api.lifecycle("git.a.v2", "Published", approval=True)
    seen = [await anext(events) for _ in range(3)]
    await events.aclose()
    assert [(each.type, each.object["metadata"]["name"]) for each in seen] == [
        ("MODIFIED", "git.a.v2"), ("MODIFIED", "git.a.v1"), ("MODIFIED", "git.a.main"),
    ]  # fmt: skip


async def test_dry_runs_of_every_verb_change_nothing(api):
    await api.made("a", repository="git")
    await api.made("p", repository="git", lifecycle="Proposed")
    before = api.server.store.revision
    code, answer = await api.create("b", repository="git", dry=True)
    assert (code, answer["metadata"]["name"]) == (201, "git.b.v1")
    code, answer = await api.lifecycle("git.a.v1", "Proposed", dryRun="All")
    assert (code, answer["spec"]["lifecycle"]) == (200, "Proposed")
    code, answer = await api.lifecycle("git.p.v1", "Published", approval=True, dryRun="All")
    assert (code, answer["spec"]["revision"]) == (200, 1)
    code, answer = await api.push("git.a.v1", {"x.txt": "y"}, dryRun="All")
    assert (code, answer["spec"]["resources"]["x.txt"]) == (200, "y")
    path = f"{PORCH}/packagerevisions/git.a.v1"
    assert (await api.send("DELETE", path, dryRun="All"))[0] == 200
    assert (await api.send("DELETE", f"{CONFIG}/repositories/git", dryRun="All"))[0] == 200
    assert api.server.store.revision == before
    assert "x.txt" not in await api.files("git.a.v1")


async def test_a_namespace_that_ends_is_not_held_up_by_published_packages(api):
    place = "/api/v1/namespaces"
    await api.send("POST", place, {"metadata": {"name": "team"}})
    path = CONFIG.replace("default", "team")
    spec = {"type": "git", "git": {"repo": "https://git.example.com/org/bp", "branch": "main"}}
    spec["git"]["directory"] = ""
    await api.send("DELETE", f"{CONFIG}/repositories/bp")
    await api.server.settled()
    body = {"metadata": {"name": "bp"}, "spec": spec}
    code, answer = await api.send("POST", f"{path}/repositories", body)
    assert code == 201, answer
    await api.server.settled()
    _, found = await api.send("GET", f"{PORCH.replace('default', 'team')}/packagerevisions")
    assert len(found["items"]) == 16
    await api.send("DELETE", f"{place}/team")
    await api.server.settled()
    assert (await api.send("GET", f"{place}/team"))[0] == 404
