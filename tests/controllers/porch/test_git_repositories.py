"""Real repositories: inkube finds packages made with git, and git reads those that inkube
published."""

import subprocess
import sys

import pytest
from parcels import CONFIG, KPTFILE, MEDIA, PORCH, gathered, git, parcels, refs
from patience import SECONDS

CM = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: '1'\n"


@pytest.fixture
def bare(tmp_path):
    """A bare repository with a main branch, and a clone of it to push from."""
    place, work = tmp_path / "packages.git", tmp_path / "work"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(place))
    git(tmp_path, "clone", "-q", str(place), str(work))
    git(work, "checkout", "-q", "-b", "main")
    (work / "README.md").write_text("# packages\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "begin")
    git(work, "push", "-q", "origin", "main")
    return place, work


def publish_by_hand(work, package, *versions):
    """Publish versions of a package with git alone."""
    for number, files in enumerate(versions, 1):
        for name, text in {"Kptfile": KPTFILE.format(name=package), **files}.items():
            path = work / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(work, "add", "-A")
        git(work, "commit", "-q", "--allow-empty", "-m", f"{package} v{number}")
        git(work, "tag", f"{package}/v{number}")
    git(work, "push", "-q", "origin", "main", "--tags")


async def test_a_published_package_is_what_git_shows(bare):
    place, _ = bare
    async with parcels() as api:
        await api.register(repo=f"file://{place}")
        await api.made("net/vpc")
        assert refs(place) == ["drafts/net/vpc/v1", "main"]
        code, answer = await api.push("blueprints.net.vpc.v1", {"cm.yaml": CM})
        assert code == 200, answer
        assert answer["status"] == {"renderStatus": {"error": ""}}
        await api.lifecycle("blueprints.net.vpc.v1", "Proposed")
        assert refs(place) == ["main", "proposed/net/vpc/v1"]
        published = await api.publish_proposed("blueprints.net.vpc.v1")
        assert refs(place) == ["main", "tags/net/vpc/v1"]
        lock = published["status"]["selfLock"]["git"]
        assert (
            lock["commit"]
            == git(place, "rev-parse", "net/vpc/v1")
            == git(place, "rev-parse", "main")
        )
        assert git(place, "show", "main:net/vpc/cm.yaml") == CM.strip()
        assert git(place, "show", "main:README.md") == "# packages"
        subject, told = git(place, "log", "-1", "--format=%B", "main").split("\n\n")
        assert subject == "Approving package revision net/vpc/1"
        line = 'kpt:{"package":"net/vpc","workspaceName":"v1","revision":"1","task":'
        assert told.startswith(line)
        git(place, "fsck", "--strict")
        await api.lifecycle("blueprints.net.vpc.v1", "DeletionProposed")
        assert "deletionProposed/net/vpc/v1" in refs(place)
        code, _ = await api.send("DELETE", f"{PORCH}/packagerevisions/blueprints.net.vpc.v1")
        assert code == 200
        assert refs(place) == ["main"]
        placeholder = "blueprints.net.vpc.main"
        await api.lifecycle(placeholder, "DeletionProposed")
        code, _ = await api.send("DELETE", f"{PORCH}/packagerevisions/{placeholder}")
        assert code == 200
        assert await api.names("packages") == []
        assert git(place, "ls-tree", "-r", "--name-only", "main") == "README.md"
        await api.made("net/vpc")


async def test_what_others_pushed_is_found(bare):
    place, work = bare
    publish_by_hand(work, "base", {"cm.yaml": CM}, {"cm.yaml": CM.replace("1", "2")})
    async with parcels() as api:
        found = await api.register(repo=f"file://{place}")
        assert found["status"]["packageCount"] == 3
        assert found["status"]["gitCommitHash"] == git(place, "rev-parse", "main")
        assert await api.names() == [f"blueprints.base.{name}" for name in ("main", "v1", "v2")]
        second = await api.get("blueprints.base.v2")
        assert second["metadata"]["labels"] == {"kpt.dev/latest-revision": "true"}
        assert second["status"]["publishedBy"] == "ann@example.com"
        assert "tasks" not in second["spec"]
        publish_by_hand(work, "other", {})
        once = {"spec": {"sync": {"runOnceAt": "2020-01-01T00:00:00Z"}}}
        path = f"{CONFIG}/repositories/blueprints"
        await api.send("PATCH", path, once, media=MEDIA)
        await api.server.settled()
        assert "blueprints.other.v1" in await api.names()
        _, repository = await api.send("GET", path)
        assert repository["status"]["observedRunOnceAt"] == "2020-01-01T00:00:00Z"
        assert "runOnceAt" not in repository["spec"]["sync"]
        git(work, "push", "-q", "origin", ":refs/tags/other/v1")
        await api.send("PATCH", path, once, media=MEDIA)
        await api.server.settled()
        assert "blueprints.other.v1" not in await api.names()


async def test_publishing_adds_to_commits_that_others_pushed(bare):
    place, work = bare
    async with parcels() as api:
        await api.register(repo=f"file://{place}")
        await api.made("mine")
        publish_by_hand(work, "base", {"cm.yaml": CM})
        await api.publish("blueprints.mine.v1")
        log = git(place, "log", "--format=%s", "main").splitlines()
        assert log == ["Approving package revision mine/1", "base v1", "begin"]
        assert "blueprints.base.v1" in await api.names()
        code, answer = await api.create("base", "mine")
        assert (code, answer["reason"]) == (409, "Conflict")


async def test_a_package_others_publish_a_number_of_is_counted_on(bare):
    place, work = bare
    async with parcels() as api:
        await api.register(repo=f"file://{place}")
        publish_by_hand(work, "base", {}, {}, {})
        await api.server.settled()
        once = {"spec": {"sync": {"runOnceAt": "2020-01-01T00:00:00Z"}}}
        await api.send("PATCH", f"{CONFIG}/repositories/blueprints", once, media=MEDIA)
        await api.server.settled()
        task = {"type": "edit", "edit": {"sourceRef": {"name": "blueprints.base.v3"}}}
        await api.made("base", "mine", task=task)
        published = await api.publish("blueprints.base.mine")
        assert published["spec"]["revision"] == 4


async def test_unregistering_leaves_git_alone_and_registering_brings_all_back(bare):
    place, _ = bare
    async with parcels() as api:
        await api.register(repo=f"file://{place}")
        await api.made("a", task={"type": "init", "init": {"description": "x"}})
        await api.publish("blueprints.a.v1")
        edit = {"type": "edit", "edit": {"sourceRef": {"name": "blueprints.a.v1"}}}
        await api.made("a", "v2", task=edit)
        before = refs(place)
        code, _ = await api.send("DELETE", f"{CONFIG}/repositories/blueprints")
        assert code == 200
        await api.server.settled()
        assert await api.names() == await api.names("packages") == []
        assert refs(place) == before
        await api.register(repo=f"file://{place}")
        assert await api.names() == [f"blueprints.a.{name}" for name in ("main", "v1", "v2")]
        draft = await api.get("blueprints.a.v2")
        assert draft["spec"]["tasks"] == [edit]
        assert draft["spec"]["lifecycle"] == "Draft"


async def test_a_server_finds_its_packages_after_a_restart(bare, tmp_path):
    place, _ = bare
    data = tmp_path / "inkube.db"
    async with parcels(data=data) as api:
        await api.register(repo=f"file://{place}")
        await api.made("a")
        before = await api.get("blueprints.a.v1")
    async with parcels(data=data) as api:
        await api.server.settled()
        assert await api.get("blueprints.a.v1") == before
        await api.publish("blueprints.a.v1")


@pytest.mark.parametrize(
    ("spec", "field", "sentence"),
    [
        ({"repo": "file:///nowhere/at/all"}, "spec.git.repo", "repository not found"),
        ({"branch": "other"}, "spec.git.branch", "branch not found"),
        ({"secretRef": {"name": "gone"}}, "spec.git.secretRef.name", "secret gone not found"),
    ],
)
async def test_live_checks_answer_dry_runs_and_fill_the_status(bare, spec, field, sentence):
    place, _ = bare
    async with parcels() as api:
        body = {
            "metadata": {"name": "x"},
            "spec": {"type": "git", "git": {"repo": f"file://{place}", **spec}},
        }
        code, answer = await api.send("POST", f"{CONFIG}/repositories", body, dryRun="All")
        assert code == 422
        [cause] = answer["details"]["causes"]
        assert (cause["field"], sentence in cause["message"]) == (field, True)
        code, answer = await api.send("POST", f"{CONFIG}/repositories", body)
        assert code == 201
        await api.server.settled()
        _, found = await api.send("GET", f"{CONFIG}/repositories/x")
        [error] = found["status"]["fieldErrors"]
        assert (error["field"], error["detail"]) == (field, sentence)
        [ready] = found["status"]["conditions"]
        assert (ready["status"], ready["reason"], ready["message"]) == ("False", "Error", sentence)
        code, answer = await api.create("a", repository="x")
        assert code == 422
        assert f"repository x is not ready: {sentence}" in answer["message"]


async def test_a_missing_branch_is_made_where_it_is_wanted(bare):
    place, _ = bare
    async with parcels() as api:
        await api.register(repo=f"file://{place}", branch="packages", createBranch=True)
        assert git(place, "show", "packages:README.md") == "# blueprints"


async def test_files_must_lie_where_the_server_may_read(bare):
    place, _ = bare
    async with parcels(allow_private_hosts=False) as api:
        git_spec = {"type": "git", "git": {"repo": f"file://{place}"}}
        body = {"metadata": {"name": "x"}, "spec": git_spec}
        code, answer = await api.send("POST", f"{CONFIG}/repositories", body)
        assert code == 422
        assert "--local-path-prefix" in answer["message"]


SERVER = """
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments): pass

app = make_wsgi_chain(DictBackend({"/packages": Repo(sys.argv[1])}))
server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def served(bare):
    """The repository over http."""
    place, work = bare
    program = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(place)], stdout=subprocess.PIPE, text=True
    )
    port = program.stdout.readline().strip()
    yield f"http://127.0.0.1:{port}/packages", place, work
    program.terminate()
    program.wait(SECONDS)
    program.stdout.close()


async def test_packages_are_pushed_over_http(served):
    url, place, work = served
    publish_by_hand(work, "base", {"cm.yaml": CM})
    async with parcels(offline=False) as api:
        await api.register(repo=url)
        task = {"type": "clone"}
        reference = {"upstreamRef": {"name": "blueprints.base.v1"}}
        await api.made("mine", task={**task, "clone": {"upstreamRef": reference}})
        assert "drafts/mine/v1" in refs(place)
        await api.publish("blueprints.mine.v1")
        assert "a: '1'" in git(place, "show", "mine/v1:mine/cm.yaml")
        assert "upstream-identifier" in git(place, "show", "main:mine/cm.yaml")
        lock = (await api.get("blueprints.mine.v1"))["status"]["upstreamLock"]["git"]
        assert (lock["repo"], lock["directory"], lock["ref"]) == (url, "base", "base/v1")
        await api.lifecycle("blueprints.mine.v1", "DeletionProposed")
        code, _ = await api.send("DELETE", f"{PORCH}/packagerevisions/blueprints.mine.v1")
        assert code == 200
        assert "tags/mine/v1" not in refs(place)


async def test_many_at_once_over_one_repository(bare):
    place, _ = bare
    async with parcels() as api:
        await api.register(repo=f"file://{place}")
        codes = await gathered(*(api.create(f"p{n}") for n in range(8)))
        assert codes == [201] * 8
        assert len([name for name in refs(place) if name.startswith("drafts/")]) == 8
        git(place, "fsck")


async def test_the_error_of_an_empty_repository_names_the_option(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "packages.git")
    body = {
        "metadata": {"name": "empty"},
        "spec": {"type": "git", "git": {"repo": f"file://{tmp_path}/packages.git"}},
    }
    sentence = (
        "branch not found: the repository is empty; spec.git.createBranch: true makes its first "
        "commit"
    )
    async with parcels() as api:
        code, answer = await api.send("POST", f"{CONFIG}/repositories", body, dryRun="All")
        assert (code, sentence in answer["message"]) == (422, True)
        found = await api.register("empty", f"file://{tmp_path}/packages.git", ready=False)
        [error] = found["status"]["fieldErrors"]
        assert (error["field"], error["detail"]) == ("spec.git.branch", sentence)
        code, answer = await api.create("a", repository="empty")
        assert (code, sentence in answer["message"]) == (422, True)
        path = f"{CONFIG}/repositories/empty"
        patch = {"spec": {"git": {"createBranch": True}}}
        assert (await api.send("PATCH", path, patch, media=MEDIA))[0] == 200
        await api.server.settled()
        await api.made("a", repository="empty")


async def test_packages_are_looked_after_without_kube_controller_manager(bare):
    place, work = bare
    publish_by_hand(work, "a", {})
    async with parcels(controllers=False, modules="porch") as api:
        await api.register(repo=f"file://{place}")
        assert await api.names() == ["blueprints.a.main", "blueprints.a.v1"]
        await api.made("b")
        path = f"{CONFIG}/repositories/blueprints"
        assert (await api.send("DELETE", path))[0] == 200
        await api.server.settled()
        assert (await api.send("GET", path))[0] == 404
        assert await api.names() == []


@pytest.mark.parametrize("moment", ["soon", "2026-01-01", "2026-01-01T00:00:00"])
async def test_a_time_of_a_sync_that_is_none_is_refused(blueprints, moment):
    patch = {"spec": {"sync": {"runOnceAt": moment}}}
    path = f"{CONFIG}/repositories/blueprints"
    code, answer = await blueprints.send("PATCH", path, patch, media=MEDIA)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.sync.runOnceAt")


async def test_a_dry_run_does_not_look_at_a_repository_that_may_not_be_read(bare, tmp_path):
    place, _ = bare
    options = {"allow_private_hosts": False, "local_path_prefixes": [str(tmp_path / "other")]}
    async with parcels(**options) as api:
        for url in (f"file://{place}", "file:///none", "ftp://git.example.com/a"):
            body = {"metadata": {"name": "r"}, "spec": {"type": "git", "git": {"repo": url}}}
            code, answer = await api.send("POST", f"{CONFIG}/repositories?dryRun=All", body)
            [cause] = answer["details"]["causes"]
            assert (code, cause["field"]) == (422, "spec.git.repo")
            assert cause["origin"] == "repo_well_formed"
