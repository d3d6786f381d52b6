"""Every row about packages in docs/documents.md matches the behavior of the server."""

import pytest
import statements
from parcels import CONFIG, KPTFILE, MEDIA, PORCH, gathered

NAME = "blueprints.a.v1"
CREATE, PATH = f"{PORCH}/packagerevisions", f"{PORCH}/packagerevisions/{NAME}"
RESOURCES = f"{PORCH}/packagerevisionresources/{NAME}"
INIT = {"type": "init", "init": {"description": "d"}}
SUBPACKAGE = {"type": "init", "init": {"subpackage": "s"}}


def edit(name):
    return {"type": "edit", "edit": {"sourceRef": {"name": name}}}


def clone(name):
    return {"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}}


async def put(api, path=PATH, version=True, **spec):
    """PUT an object with another spec."""
    _, obj = await api.send("GET", path)
    obj["spec"] |= spec
    if not version:
        del obj["metadata"]["resourceVersion"]
    return await api.send("PUT", path, obj)


async def with_a(api, *steps):
    """Create a package `a` and take it through these steps."""
    await api.made("a", task=INIT)
    for value in steps:
        await api.lifecycle(NAME, value, approval=value in ("Published", "DeletionProposed"))
    return api


async def l1(api):
    yield await api.create("a", lifecycle="Proposed")
    code, answer = await api.create("b")
    assert (code, answer["spec"]["lifecycle"]) == (201, "Draft")


async def l2(api):
    yield await api.create("a", lifecycle="Published")
    yield await api.create("a", lifecycle="DeletionProposed")


async def l3(api):
    yield await api.create("a", lifecycle="Odd")


async def l4(api):
    await with_a(api)
    yield await api.lifecycle(NAME, "Odd")
    yield await api.lifecycle(NAME, "Odd", approval=True)


async def l5(api):
    await with_a(api)
    yield await api.lifecycle(NAME, "Proposed")
    yield await api.lifecycle(NAME, "Draft")


async def l6(api):
    await with_a(api)
    yield await api.lifecycle(NAME, "Published")
    await api.lifecycle(NAME, "Proposed")
    yield await api.lifecycle(NAME, "Published")


async def l7(api):
    await with_a(api, "Proposed", "Published")
    yield await put(api, packageMetadata={"labels": {"x": "y"}})
    yield await put(api, tasks=[INIT, SUBPACKAGE])
    yield await api.lifecycle(NAME, "Draft")


async def l8(api):
    await with_a(api, "Proposed", "Published")
    yield await api.lifecycle(NAME, "DeletionProposed")
    yield await api.lifecycle(NAME, "Published")


async def a1(api):
    await with_a(api)
    yield await api.lifecycle(NAME, "Published", approval=True)


async def a2(api):
    await with_a(api, "Proposed")
    yield await api.lifecycle(NAME, "DeletionProposed", approval=True)


async def a3(api):
    await with_a(api, "Proposed", "Published")
    yield await api.lifecycle(NAME, "Draft", approval=True)


async def a4(api):
    await with_a(api, "Proposed", "Published", "DeletionProposed")
    yield await api.lifecycle(NAME, "Draft", approval=True)


async def a5(api):
    await with_a(api, "Proposed")
    code, answer = await api.lifecycle(NAME, "Published", approval=True)
    yield code, answer
    assert answer["spec"]["revision"] == 1
    assert answer["metadata"]["labels"] == {"kpt.dev/latest-revision": "true"}
    assert answer["status"]["selfLock"]["git"]["ref"] == "a/v1"


async def t1(api):
    yield await api.create("a", tasks=[INIT, INIT])


async def t2(api):
    yield await api.create("a")
    assert "Kptfile" in await api.files(NAME)


async def t3(api):
    yield await api.create("a", task={"type": "patch"})


async def t4(api):
    await with_a(api)
    yield await put(api, tasks=[INIT, SUBPACKAGE])
    assert "s/Kptfile" in await api.files(NAME)
    yield await put(api, tasks=[INIT])


async def u1(api):
    await with_a(api)
    yield await api.create("a")


async def u2(api):
    await with_a(api)
    yield await api.create("b")


async def c1(api):
    await with_a(api)
    await api.made("b")
    yield await api.create("a", "v2", task=clone("blueprints.b.v1"))


async def e1(api):
    await with_a(api)
    yield await api.create("a", "v2", task=edit(NAME))


async def g1(api):
    await with_a(api)
    members = ("oldUpstreamRef", "newUpstreamRef", "localPackageRevisionRef")
    block = {member: {"name": NAME} for member in members}
    yield await api.create("a", "v2", task={"type": "upgrade", "upgrade": block})


async def p1(api):
    await with_a(api)
    yield await api.create("a", "v2", task=INIT)


async def p2(api):
    await api.made("b/c")
    yield await api.create("b")
    yield await api.create("b/c/d")


async def p3(api):
    await api.made("a/b")
    yield await api.create("a/bc")


async def r1(api):
    yield await api.create("a", repository="none")


async def r2(api):
    spec = {"packageName": "a", "repository": "blueprints"}
    yield await api.send("POST", CREATE, {"spec": spec})


async def r3(api):
    spec = {"packageName": 5, "repository": "blueprints", "workspaceName": "v1"}
    yield await api.send("POST", CREATE, {"spec": spec})


async def v1(api):
    await with_a(api)
    for part in ("packagerevisions/{}", "packagerevisions/{}/approval"):
        yield await put(api, f"{PORCH}/{part.format(NAME)}", version=False)
    yield await put(api, f"{PORCH}/packagerevisionresources/{NAME}", version=False)


async def v2(api):
    await with_a(api)
    old = await api.get(NAME)
    await api.push(NAME, {"x": "y"})
    yield await api.send("PUT", PATH, old)


async def v3(api):
    await with_a(api, "Proposed")
    obj = await api.get(NAME)
    obj["spec"]["lifecycle"] = "Published"
    for code in sorted(
        await gathered(*(api.send("PUT", f"{PATH}/approval", obj) for _ in range(5)))
    ):
        yield code, {"message": ""}


async def v4(api):
    for code in sorted(await gathered(*(api.create(path) for path in ("a", "a/b", "a/b/c")))):
        yield code, {"message": ""}


async def s1(api):
    await with_a(api, "Proposed")
    yield await api.push(NAME, {"x": "y"})


async def s2(api):
    await with_a(api)
    yield await api.push(NAME, {"Kptfile": None})


async def s3(api):
    await with_a(api)
    pipeline = "pipeline:\n  mutators:\n  - image: odd:v1\n"
    yield await api.push(NAME, {"Kptfile": KPTFILE.format(name="a") + pipeline})
    assert "odd:v1" not in (await api.files(NAME))["Kptfile"]


async def s4(api):
    await with_a(api)
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  a: "1" # why\n'
    await api.push(NAME, {"m.yaml": text})
    yield await api.push(NAME, {"m.yaml": text.replace('"1" # why', "'2'")})
    assert (await api.files(NAME))["m.yaml"] == text.replace('"1"', "'2'")
    yield await api.push(NAME, {"m.yaml": f"{text}  b: '3' #@ template\n"})
    code, answer = await api.push(NAME, {"m.yaml": text.replace(" # why", "")})
    assert (code, answer["spec"]["resources"]["m.yaml"]) == (200, text.replace(" # why", ""))


async def d1(api):
    await with_a(api, "Proposed", "Published")
    yield await api.send("DELETE", PATH)


async def d2(api):
    await with_a(api, "Proposed", "Published")
    await api.made("b", task=clone(NAME))
    await api.lifecycle(NAME, "DeletionProposed")
    yield await api.send("DELETE", PATH)


async def d3(api):
    await with_a(api, "Proposed", "Published")
    spec = {
        "upstream": {"repo": "blueprints", "package": "a", "revision": 1},
        "downstream": {"repo": "blueprints", "package": "b"},
    }
    variant = f"{CONFIG}/packagevariants"
    await api.send("POST", variant, {"metadata": {"name": "v"}, "spec": spec})
    await api.server.settled()
    await api.publish("blueprints.b.packagevariant-1")
    yield await api.send("DELETE", f"{variant}/v")
    await api.server.settled()
    left = await api.get("blueprints.b.packagevariant-1")
    assert left["spec"]["lifecycle"] == "DeletionProposed"
    assert "Kptfile" in await api.files("blueprints.b.packagevariant-1")


async def y1(api):
    yield await api.create("a", dry=True)
    assert await api.names() == []
    await with_a(api)
    yield await api.create("a", dry=True)


async def n1(api):
    yield await api.create("a-b", "c-d")
    assert await api.names() == ["blueprints.a-b.c-d"]


async def o1(api):
    for path in (f"{PATH}/test", f"{PATH}/validate"):
        yield await api.send("GET", path)


async def l9(api):
    await with_a(api, "Proposed")
    yield await put(api, packageMetadata={"labels": {"x": "y"}})


async def l10(api):
    await with_a(api)
    for member in ("packageName", "repository", "workspaceName"):
        yield await put(api, **{member: "other"})


async def a6(api):
    await with_a(api, "Proposed")
    yield await api.lifecycle(NAME, "Draft", approval=True)
    assert (await api.get(NAME))["spec"]["lifecycle"] == "Draft"


async def a7(api):
    await with_a(api, "Proposed")
    labels = {"packageMetadata": {"labels": {"x": "y"}}}
    code, answer = await put(api, f"{PATH}/approval", lifecycle="Published", **labels)
    yield code, answer
    assert "labels" not in answer["spec"].get("packageMetadata", {})


async def a8(api):
    await with_a(api, "Proposed", "Published")
    await api.made("a", "v2", task=edit(NAME))
    await api.lifecycle("blueprints.a.v2", "Proposed")
    code, answer = await api.lifecycle("blueprints.a.v2", "Published", approval=True)
    yield code, answer
    assert answer["spec"]["revision"] == 2
    older = await api.get(NAME)
    assert "kpt.dev/latest-revision" not in older["metadata"].get("labels", {})


async def a9(api):
    await with_a(api, "Proposed", "Published")
    found = await api.get("blueprints.a.main")
    yield 200, found
    assert (found["spec"]["revision"], found["spec"]["lifecycle"]) == (-1, "Published")


async def a10(api):
    await with_a(api, "Proposed")
    before = await api.get(NAME)
    yield await api.lifecycle(NAME, "Published", approval=True, dryRun="All")
    assert await api.get(NAME) == before


async def t5(api):
    for kind in ("init", "clone", "edit"):
        yield await api.create("a", task={"type": kind})


async def t6(api):
    yield await api.create("a", task={**INIT, "edit": {}})


async def t7(api):
    made = await api.made("a")
    assert made["spec"]["tasks"] == [{"type": "init", "init": {"description": "a description"}}]
    yield 201, made
    assert sorted(await api.files(NAME)) == ["Kptfile", "README.md", "package-context.yaml"]


async def u3(api):
    for workspace in ("W 1", "", "-a"):
        yield await api.create("a", workspace)


async def u4(api):
    for package in ("a//b", "/a", "a/"):
        yield await api.create(package)


async def u5(api):
    yield await api.create("a", metadata={"name": "other"})


async def c2(api):
    yield await api.create("a", task={"type": "clone", "clone": {}})


async def c3(api):
    yield await api.create("a", task=clone("gone"))


async def c4(api):
    await with_a(api, "Proposed", "Published")
    yield await api.create("b", task=clone("blueprints.a.main"))


async def c5(api):
    oci = {"type": "clone", "clone": {"upstreamRef": {"oci": {"image": "x"}}}}
    yield await api.create("a", task=oci)


async def c6(api):
    await with_a(api, "Proposed", "Published")
    yield await api.create("b", task=clone(NAME))
    kptfile = (await api.files("blueprints.b.v1"))["Kptfile"]
    assert "name: b" in kptfile
    assert "ref: a/v1" in kptfile


async def e2(api):
    await with_a(api, "Proposed", "Published")
    await api.made("b")
    yield await api.create("b", "v2", task=edit(NAME))


async def e3(api):
    yield await api.create("a", task={"type": "edit", "edit": {}})
    yield await api.create("a", task=edit(""))


async def e4(api):
    await with_a(api)
    await api.push(NAME, {"x.txt": "kept"})
    await api.publish(NAME)
    yield await api.create("a", "v2", task=edit(NAME))
    assert (await api.files("blueprints.a.v2"))["x.txt"] == "kept"


def upgrade(old, new, local, **more):
    names = {"oldUpstreamRef": old, "newUpstreamRef": new, "localPackageRevisionRef": local}
    return {
        "type": "upgrade",
        "upgrade": {**{member: {"name": name} for member, name in names.items()}, **more},
    }


async def g2(api):
    yield await api.create("a", task=upgrade("", "b", "c"))
    yield await api.create("a", task=upgrade("a", "", "c"))
    yield await api.create("a", task=upgrade("a", "b", ""))


async def g3(api):
    yield await api.create("a", task=upgrade("gone", "b", "c"))


async def g4(api):
    yield await upgraded(api, strategy="guess")


async def upgraded(api, **more):
    """Return two revisions of `a`, a clone of the first as `b`, and its upgrade to the second."""
    await with_a(api)
    await api.push(NAME, {"x.txt": "one"})
    await api.publish(NAME)
    await api.made("b", task=clone(NAME))
    if more.pop("changed", False):
        await api.push("blueprints.b.v1", {"x.txt": "local"})
    await api.publish("blueprints.b.v1")
    await api.made("a", "v2", task=edit(NAME))
    await api.push("blueprints.a.v2", {"x.txt": "two"})
    await api.publish("blueprints.a.v2")
    task = upgrade(NAME, "blueprints.a.v2", "blueprints.b.v1", **more)
    return await api.create("b", "v2", task=task)


async def g5(api):
    yield await upgraded(api)
    assert (await api.files("blueprints.b.v2"))["x.txt"] == "two"


async def g6(api):
    yield await upgraded(api, changed=True, strategy="fast-forward")


async def g7(api):
    yield await upgraded(api, changed=True, strategy="force-delete-replace")
    assert (await api.files("blueprints.b.v2"))["x.txt"] == "two"


async def p4(api):
    await with_a(api)
    await api.send("DELETE", PATH)
    yield await api.create("a", task=INIT)


async def r4(api):
    yield await api.create("a", repository="")


async def v5(api):
    await with_a(api)
    old = await api.get(NAME)
    await api.push(NAME, {"x": "y"})
    patch = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}}
    yield await api.send("PATCH", PATH, patch, media=MEDIA)
    yield await api.send("PATCH", PATH, {"metadata": {"labels": {"a": "b"}}}, media=MEDIA)


async def v6(api):
    await with_a(api)
    _, old = await api.send("GET", RESOURCES)
    await api.lifecycle(NAME, "Proposed")
    yield await api.send("PUT", RESOURCES, old)


async def v7(api):
    await with_a(api)
    obj = await api.get(NAME)
    obj["metadata"]["name"] = "none"
    yield await api.send("PUT", f"{PORCH}/packagerevisions/none", obj)


async def s5(api):
    await with_a(api)
    for name in ("../x", "/x", "a//x", "a/../x", ".git/x", "Kptfile/x"):
        yield await api.push(NAME, {name: "text"})


async def s6(api):
    await with_a(api)
    yield await api.push(NAME, {"x.yaml": "a: [1"})


async def s7(api):
    await with_a(api)
    yield await api.push(NAME, {"Kptfile": "apiVersion: v1\nkind: ConfigMap\n"})


async def s8(api):
    await with_a(api)
    patch = {"spec": {"resources": {"x.txt": "new"}}}
    yield await api.send("PATCH", RESOURCES, patch, media=MEDIA)
    assert {"x.txt", "Kptfile", "README.md"} <= (await api.files(NAME)).keys()


async def s9(api):
    await with_a(api)
    yield await api.push(NAME, {"README.md": None})
    assert "README.md" not in await api.files(NAME)


async def d4(api):
    await with_a(api)
    yield await api.send("DELETE", PATH)
    assert await api.names() == []


async def d5(api):
    await with_a(api, "Proposed", "Published", "DeletionProposed")
    yield await api.send("DELETE", PATH)
    assert await api.names() == ["blueprints.a.main"]


async def m1(api):
    yield await api.create("a", metadata={"labels": {"kpt.dev/latest-revision": "true"}})


async def m2(api):
    await with_a(api, "Proposed", "Published")
    patch = {"metadata": {"labels": {"kpt.dev/latest-revision": None}}}
    yield await api.send("PATCH", PATH, patch, media=MEDIA)


async def f1(api):
    await with_a(api)
    await api.made("b", lifecycle="Proposed")
    code, answer = await api.send("GET", CREATE, fieldSelector="spec.lifecycle=Proposed")
    yield code, answer
    assert [each["spec"]["packageName"] for each in answer["items"]] == ["b"]


async def f2(api):
    yield await api.send("GET", CREATE, fieldSelector="spec.lifecycle!=Draft")


async def f3(api):
    yield await api.send("GET", CREATE, fieldSelector="spec.tasks=init")


async def f4(api):
    yield await api.send("GET", CREATE, fieldSelector="spec.lifecycle=Odd")


async def k1(api):
    await with_a(api)
    yield await api.send("POST", f"{PORCH}/packages", {"metadata": {"name": "x"}})


async def k2(api):
    await with_a(api)
    yield await api.send("DELETE", RESOURCES)


REPOSITORIES = f"{CONFIG}/repositories"


def registered(name, **git):
    spec = {"type": "git", "git": {"repo": "https://git.example.com/org/blueprints", **git}}
    return {"metadata": {"name": name}, "spec": spec}


async def o2(api):
    yield await api.send("POST", REPOSITORIES, registered("second"))


async def o3(api):
    patch = {"spec": {"git": {"branch": "other"}}}
    yield await api.send("PATCH", f"{REPOSITORIES}/blueprints", patch, media=MEDIA)


async def o4(api):
    await api.send("DELETE", f"{REPOSITORIES}/blueprints")
    await api.server.settled()
    yield await api.send("POST", REPOSITORIES, registered("second", branch="gone"))
    await api.server.settled()
    _, found = await api.send("GET", f"{REPOSITORIES}/second")
    [error] = found["status"]["fieldErrors"]
    assert (error["field"], error["detail"]) == ("spec.git.branch", "branch not found")


async def y2(api):
    await with_a(api)
    before = await api.files(NAME)
    yield await api.push(NAME, {"x": "y"}, dryRun="All")
    assert await api.files(NAME) == before


async def y3(api):
    await with_a(api)
    yield await api.send("DELETE", PATH, dryRun="All")
    assert await api.names() == [NAME]


ROWS = statements.rows("Packages: validation and business rules", "A-Z")
STATEMENTS = statements.functions(globals())


def test_every_statement_has_a_row_and_every_row_is_tested():
    assert sorted(ROWS) == sorted(STATEMENTS)


@pytest.mark.parametrize("name", sorted(STATEMENTS))
async def test_the_server_answers_as_the_row_requires(blueprints, name):
    codes, texts = ROWS[name]
    found = set()
    async for code, answer in STATEMENTS[name](blueprints):
        found.add(code)
        if code >= 400 and name not in ("O1", "T4") and codes[0] >= 400:
            assert any(text in answer["message"] for text in texts), answer["message"]
        assert code in codes, answer
    assert found == set(codes)
