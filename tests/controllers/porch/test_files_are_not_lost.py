"""A push is either refused at the file or shows exactly the sent files: no file disappears."""

import random
import stat

import pytest
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo
from parcels import KPTFILE, causes, git, parcels

NAME = "blueprints.a.v1"
PARTS = [
    "a", "A", "b", "Kptfile", "kptfile", "README.md", "..", ".", "", " ", ".git", ".GIT", ".git ",
    "git~1", "a\\b", "ä", "Ä", "ß", "SS", "é", "e\u0301", "x" * 255, "x" * 256, "ä" * 128, "\x00",
    "\n", "\u200b", "\ud800", "con", "a.yaml", "-", "~", "%2e%2e",
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "field", "text"),
    [
        ({"a": "", "a/b": ""}, "a/b", "a is a file"),
        ({"a": "", "a/b/c/d": ""}, "a/b/c/d", "a is a file"),
        ({"Kptfile/x": ""}, "Kptfile/x", "Kptfile is a file"),
        ({"kptfile": ""}, "kptfile", "it differs from Kptfile only in its case"),
        ({"a/b": "", "A/B": ""}, "a/b", "it differs from A/B only in its case"),
        ({".GIT/config": ""}, ".GIT/config", "must not lie in .git"),
        ({"x/.git ": ""}, "x/.git ", "must not lie in .git"),
        ({"git~1": ""}, "git~1", "must not lie in .git"),
        ({"a\\b": ""}, "a\\b", "must not hold backslashes"),
        ({"ä" * 128: ""}, "ä" * 128, "at most 255 bytes"),
        ({"": ""}, "", "must not have empty segments"),
        ({"a/": ""}, "a/", "must not have empty segments"),
        ({"./a": ""}, "./a", "must not lead out of the package"),
    ],
)
async def test_a_name_that_would_be_lost_is_refused_at_its_key(blueprints, files, field, text):
    await blueprints.made("a")
    before = await blueprints.files(NAME)
    code, answer = await blueprints.push(NAME, files)
    assert code == 422
    [(found, message)] = causes(answer)
    assert found == f"spec.resources[{field}]"
    assert text in message
    assert await blueprints.files(NAME) == before


async def test_accepted_files_are_shown_exactly(blueprints):
    await blueprints.made("a")
    source = random.Random(7)
    accepted = 0
    for _ in range(90):
        names = {"/".join(source.choices(PARTS, k=source.randint(1, 3))) for _ in range(3)}
        sent = {"Kptfile": KPTFILE.format(name="a"), **dict.fromkeys(names, "x\n")}
        body = await blueprints.get(NAME, "packagerevisionresources")
        body["spec"]["resources"] = sent
        path = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources"
        code, answer = await blueprints.send("PUT", f"{path}/{NAME}", body)
        assert code in (200, 422), answer
        if code == 200:
            accepted += 1
            assert set(await blueprints.files(NAME)) == set(answer["spec"]["resources"])
            assert set(answer["spec"]["resources"]) == set(sent)
    assert accepted > 3


@pytest.fixture
async def local(tmp_path):
    """A Repository in which others pushed names that only git can have next to each other."""
    repo = Repo.init_bare(str(tmp_path / "packages.git"), mkdir=True)
    package, root = Tree(), Tree()
    kptfile = Blob.from_string(KPTFILE.format(name="a").encode())
    text, target = Blob.from_string(b"x\n"), Blob.from_string(b"README")
    picture = Blob.from_string(b"\x89PNG\xff")
    package.add(b"Kptfile", 0o100644, kptfile.id)
    package.add(b"README", 0o100644, text.id)
    package.add(b"readme", 0o100644, text.id)
    package.add(b"link", stat.S_IFLNK, target.id)
    package.add(b"latin-\xe9", 0o100644, text.id)
    package.add(b"picture", 0o100644, picture.id)
    root.add(b"a", stat.S_IFDIR, package.id)
    commit = Commit()
    commit.tree = root.id
    commit.author = commit.committer = b"a <a@b>"
    commit.author_time = commit.commit_time = commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"push\n"
    for each in (kptfile, text, target, picture, package, root, commit):
        repo.object_store.add_object(each)
    repo.refs[b"refs/heads/main"] = repo.refs[b"refs/tags/a/v1"] = commit.id
    async with parcels(local_path_prefixes=[str(tmp_path)]) as api:
        await api.register("local", repo=f"file://{repo.path}")
        api.place = repo.path
        yield api


async def test_names_that_git_has_already_stay(local):
    shown = {"Kptfile", "README", "readme", "picture"}
    assert set(await local.files("local.a.v1")) == shown
    task = {"type": "edit", "edit": {"sourceRef": {"name": "local.a.v1"}}}
    await local.made("a", "v2", "local", task=task)
    assert (await local.push("local.a.v2", {"new": "x"}))[0] == 200
    assert set(await local.files("local.a.v2")) == {*shown, "new"}
    names = git(local.place, "ls-tree", "-r", "--name-only", "drafts/a/v2").splitlines()
    assert {"a/link", '"a/latin-\\351"'} <= set(names)
    hashes = (
        git(local.place, "ls-tree", "a/v1:a", "picture"),
        git(local.place, "ls-tree", "drafts/a/v2:a", "picture"),
    )
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [("link", "link is a link in git"), ("link/b", "link is a link in git")],
)
async def test_a_link_is_neither_replaced_nor_lost(local, name, text):
    task = {"type": "edit", "edit": {"sourceRef": {"name": "local.a.v1"}}}
    await local.made("a", "v2", "local", task=task)
    code, answer = await local.push("local.a.v2", {name: "x"})
    assert code == 422
    assert text in causes(answer)[0][1]
    assert "120000" in git(local.place, "ls-tree", "-r", "drafts/a/v2")
