"""Markers that configure a test's server, its scripted world and its clock."""

from widgets import CRD

pytest_plugins = ["pytester"]


def test_definitions_come_from_files_folders_dicts_and_settings(run, pytester):
    for name in ("widget", "gadget", "gear"):
        (pytester.mkdir(name) / "crd.yaml").write_text(
            CRD.replace("widget", name).replace("Widget", name.title())
        )
    source = """
pytestmark = pytest.mark.kube_definitions("widget")

@pytest.mark.kube_definitions("gadget/crd.yaml", config_map("a"))
def test_it(kube):
    for kind in ("widgets", "gadgets", "gears"):
        assert kube.client.list(f"example.com/v1/{kind}") == []
    assert kube.client.get(CM, "a")

def test_others_have_less(kube):
    assert kube.client.list(CM) == []

@pytest.mark.kube_definitions({"kind": "Widget"})
def test_broken(kube):
    pass

@pytest.mark.kube_definitions()
def test_later(kube):
    kube.install(config_map("b"))
    assert kube.client.get(CM, "b")
"""
    result = run(source, "-o", "kube_definitions=gear")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["no server starts with kube_definitions(*): definition 3: *"])


def test_kinds_and_controllers_of_a_user_run(run):
    result = run(
        """
from inkube.controllers.checks import Invalid, check
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Controller, Watch
from inkube.schemas.models import Model, Resource

class ProbeSpec(Model):
    url: str

class Probe(Resource, group="example.com", version="v1"):
    spec: ProbeSpec

@check(Probe, field="spec.url")
async def answers(probe):
    if probe.spec.url != "good":
        yield Invalid("nobody answers there")

def labels(env):
    async def label(key):
        patch = {"metadata": {"labels": {"seen": "yes"}}}
        await env.client.patch(CM, key.name, key.namespace, patch=patch)
    return Controller("labels", label, (Watch(CM),))

@pytest.mark.kube_controllers(KindModule(Probe, checks=[answers]), labels)
def test_it(kube, kube_client):
    kube_client.create(Probe(metadata={"name": "a"}, spec=ProbeSpec(url="bad")))
    kube_client.create(config_map("a"))
    kube.settled()
    [error] = kube_client.get(Probe, "a")["status"]["fieldErrors"]
    assert error["field"] == "spec.url"
    assert kube_client.get(CM, "a")["metadata"]["labels"] == {"seen": "yes"}

@pytest.mark.kube_controllers(KindModule(Probe, checks=[answers]), builtin=False)
def test_without_controllers(kube, kube_client):
    kube_client.create(Probe(metadata={"name": "a"}, spec=ProbeSpec(url="bad")))
    kube.settled()
    assert kube_client.get(Probe, "a")["status"] == {"fieldErrors": []}
"""
    )
    result.assert_outcomes(passed=2)


def test_storage_and_options_can_be_chosen(run):
    result = run(
        """
@pytest.mark.kube_storage("sqlite")
def test_sqlite(kube, tmp_path):
    kube.client.create(config_map("a"))
    assert (tmp_path / "inkube.db").exists()

@pytest.mark.kube_options(allow_origins=["https://example.com"])
def test_options(kube):
    assert kube.server.options.allow_origins == ["https://example.com"]

@pytest.mark.kube_storage("etcd")
def test_unknown(kube):
    pass
"""
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["kube_storage('etcd'): the storages are memory and sqlite"])


def test_a_kubeconfig_is_written_and_named_in_the_environment(run, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "elsewhere")
    result = run(
        """
import os, yaml

def test_file(kubeconfig, kube):
    [cluster] = yaml.safe_load(kubeconfig.read_text())["clusters"]
    assert cluster["cluster"]["server"] == kube.url
    assert os.environ["KUBECONFIG"] == "elsewhere"

@pytest.mark.kubeconfig
def test_environment():
    assert os.path.exists(os.environ["KUBECONFIG"])

@pytest.fixture
def program():
    return os.environ["KUBECONFIG"]

@pytest.mark.kubeconfig
def test_environment_of_what_a_fixture_starts(program, kubeconfig):
    assert program == str(kubeconfig)

@pytest.mark.kubeconfig
@pytest.mark.asyncio
async def test_environment_of_a_coroutine(kube):
    import kubernetes_asyncio
    await kubernetes_asyncio.config.load_kube_config()
    async with kubernetes_asyncio.client.ApiClient() as api:
        core = kubernetes_asyncio.client.CoreV1Api(api)
        found = await core.list_namespace()
    assert "default" in {each.metadata.name for each in found.items}
    [record] = kube.log.requests
    assert record.verb == "list"
"""
    )
    result.assert_outcomes(passed=4)


def test_the_world_obeys_and_time_moves(run):
    result = run(
        """
from inkube.controllers.checks import Invalid, check
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Resource

REPOSITORIES = "provisioning.grafana.app/v0alpha1/repositories"

def repository():
    git = {"url": "https://git.example/o/r", "branch": "main"}
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1", "kind": "Repository",
        "metadata": {"name": "a"},
        "spec": {"title": "A", "type": "git", "git": git},
    }

def errors(kube):
    kube.settled()
    return [(each["field"], each["detail"])
            for each in kube.client.get(REPOSITORIES, "a")["status"]["fieldErrors"]]

def test_branches_and_outages(kube, world):
    world.git_host("git.example", {"o/r": ["main", "next"]})
    kube.client.create(repository())
    assert errors(kube) == []
    world.remove_branch("git.example", "o/r", "main")
    assert errors(kube) == [("spec.git.branch", "branch not found")]
    world.add_branch("git.example", "o/r", "main")
    assert errors(kube) == []
    world.outage("git.example", 503)
    [(field, detail)] = errors(kube)
    assert "503" in detail
    world.recover("git.example")
    assert errors(kube) == []

asked = []

class Probe(Resource, group="example.com", version="v1"):
    pass

@check(Probe, field="metadata.name")
async def answers(probe):
    asked.append(probe.metadata.name)
    yield Invalid("nobody answers there")

@pytest.mark.kube_controllers(KindModule(Probe, checks=[answers]))
def test_rechecks_come_when_the_clock_moves(kube):
    kube.client.create(Probe(metadata={"name": "a"}))
    kube.settled()
    for count in range(1, 4):
        assert asked == ["a"] * count
        kube.advance(60)

async def recheck(kube_aio):
    await kube_aio.advance(60)

@pytest.mark.asyncio
async def test_a_coroutine_moves_it_too(kube_aio):
    await recheck(kube_aio)
"""
    )
    result.assert_outcomes(passed=3)


def test_a_wrong_marker_is_one_message_with_the_marker_and_the_fix(run):
    result = run(
        """
@pytest.mark.kube_definitions("nowhere.yaml")
def test_file(kube): pass

@pytest.mark.kube_options(workload=True)
def test_option(kube): pass

@pytest.mark.kube_options(port="x")
def test_value(kube): pass

@pytest.mark.kube_workloads(node=2)
def test_workloads(kube): pass

@pytest.mark.kube_seed
def test_seed(kube): pass

@pytest.mark.kube_fail("create", "configmaps", time=2)
def test_fail(kube): pass

@pytest.mark.kube_controllers(builtins=False)
def test_controllers(kube): pass

@pytest.mark.kubernetes_version("1.2")
def test_version(kube): pass
"""
    )
    result.assert_outcomes(errors=8)
    result.stdout.fnmatch_lines(
        [
            "kube_definitions('nowhere.yaml'): there is no file or folder *nowhere.yaml",
            "kube_options(workload=True): there is no option workload; did you mean workloads?",
            "kube_options(port='x'): port: 'x' is not a whole number",
            "kube_workloads(node=2): there is no argument 'node'; did you mean 'nodes'?",
            "kube_seed(): missing a required argument: 'fill'; the arguments are fill",
            "kube_fail('create', 'configmaps', time=2): * did you mean 'times'?",
            "kube_controllers(builtins=False): * did you mean 'builtin'?",
            "kubernetes_version('1.2'): * is not a supported version*",
        ]
    )
    for frame in ("*.py:*: in *", "*another exception*", "E  *"):
        result.stdout.no_fnmatch_line(frame)


def test_a_wrong_call_shows_the_line_of_the_test_and_the_fix_only(run):
    result = run(
        """
import pytest

def test_patch(kube_client):
    kube_client.patch("cm", "a", {"data": {}})

def test_type(kube_client):
    kube_client.patch("cm", "a", patch={}, type="mrge")

def test_fail(kube):
    kube.fail("create", "configmaps", time=2)

def test_factory(kube_factory):
    kube_factory(workload=True)

def test_install(kube):
    kube.install("nowhere.yaml")

def test_wait(kube):
    kube.wait_for(lambda: False, within=0.01)

def test_advance(kube):
    kube.advance("x")

def test_install_number(kube):
    kube.install(3)

def test_run(kube):
    kube.run(3)

def test_settled(kube):
    kube.settled(timeout=3)

def test_namespace(kube):
    kube.in_namespace("A")

def test_host(world):
    world.git_host("git.example", "team/one")

def test_branch(world):
    world.remove_branch("git.example", "team/one", "main")

def test_watch(kube):
    next(kube.client.watch("v1/nothing"))

@pytest.mark.asyncio
async def test_coroutine(kube):
    await kube.aio.advance("y")
"""
    )
    result.assert_outcomes(failed=15)
    result.stdout.fnmatch_lines(
        [
            "E *client.patch('cm', 'a', {'data': {}}): give 'patch' by its name: patch=*",
            "E *type is one of json, merge, strategic, apply, not 'mrge'",
            "E *kube.fail('create', 'configmaps', time=2): * did you mean 'times'?",
            "E *there is no option workload; did you mean workloads?",
            "E *nowhere.yaml: no such file or folder",
            "E *TimeoutError: * was not true within *",
            "E *kube.advance('x'): seconds must be a number",
            "E *kube.install(3): sources must be files, folders and dicts",
            "E *kube.run(3): work must be a coroutine, *",
            "E *kube.settled(timeout=3): there is no argument 'timeout'; use one of quiet, within",
            'E *Namespace "A" is invalid: *',
            "E *world.git_host('git.example', 'team/one'): repositories must be a dict",
            'E *githosts.world.inkube.dev "git.example" not found',
            "E *nothing is served as v1/nothing; *",
            "E *kube.aio.advance('y'): seconds must be a number",
        ]
    )
    result.stdout.no_fnmatch_line("*.py:*: in *")
