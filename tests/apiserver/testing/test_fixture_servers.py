"""The fixtures in a user's tests: real test runs inside this one."""

import re
from pathlib import Path

from inkube import APIServer

pytest_plugins = ["pytester"]

EVERYDAY = """
import asyncio, threading, urllib.request, aiohttp

@pytest.mark.parametrize("turn", range(3))
def test_every_test_gets_a_server_of_its_own(kube_client, turn):
    kube_client.create(config_map("a"))
    assert [each["metadata"]["name"] for each in kube_client.list(CM)] == ["a"]

def test_the_session_server_keeps_what_is_in_it(kube_api):
    kube_api.client.create(config_map("a"))

def test_as_the_next_test_sees(kube_api, kube):
    assert kube_api.client.get(CM, "a")
    assert kube.client.list(CM) == []
    assert kube.url != kube_api.url

def test_blocking_clients_reach_it(kube):
    with urllib.request.urlopen(kube.url + "/api/v1/namespaces/default") as answer:
        assert answer.status == 200
    [record] = kube.log.requests
    assert (record.verb, record.resource, record.name, record.code) == (
        "get", "namespaces", "default", 200)

@pytest.mark.asyncio
async def test_awaiting_clients_reach_it(kube, kube_aio):
    async with aiohttp.ClientSession() as session:
        async with session.get(kube.url + "/api/v1/nodes/none") as answer:
            assert answer.status == 404
    before = (await kube_aio.get("v1/namespaces", "default"))["metadata"]["resourceVersion"]
    await kube_aio.create(config_map("a"))
    events = kube_aio.watch(CM, resource_version=before)
    assert (await anext(events)).object["metadata"]["name"] == "a"
    await events.aclose()
    await kube_aio.settled()
    assert await kube_aio.wait_for(lambda: kube.client.get(CM, "a"))

@pytest.mark.asyncio
async def test_the_fixture_works_with_a_server_in_the_loop_of_the_test(kube, aiohttp_client):
    app = aiohttp.web.Application()
    async def found(request):
        return aiohttp.web.json_response(await kube.aio.list(CM))
    app.router.add_get("/", found)
    client = await aiohttp_client(app)
    async with client.get("/") as answer:
        assert await answer.json() == []

def test_conditions_are_awaited_without_sleeping(kube, kube_client):
    later = threading.Timer(0.05, lambda: kube_client.create(config_map("late")))
    later.start()
    assert kube.wait_for(lambda: kube_client.get(CM, "late"))["kind"] == "ConfigMap"
    later.join()

def test_conditions_may_come_too_late(kube):
    def never():
        return False
    with pytest.raises(TimeoutError, match=r"never was not true within [\\d.]+ s"):
        kube.wait_for(never, within=0.1)

def test_packages_of_the_user_are_not_in_the_way(kube):
    from apiserver.mine import NAME as a
    from controllers.mine import NAME as c
    from schemas.mine import NAME as b
    from storage.mine import NAME as d
    assert (a, b, c, d) == ("apiserver", "schemas", "controllers", "storage")
    assert kube.client.list("v1/namespaces")

def test_a_watch_left_open_does_not_hold_the_end_up(request, kube):
    answer = urllib.request.urlopen(kube.url + "/api/v1/namespaces?watch=true")
    assert answer.readline()
    request.addfinalizer(answer.close)
"""

FAILING = """
import urllib.request

def test_it(kube, kube_client):
    urllib.request.urlopen(kube.url + "/version").close()
    kube_client.create(config_map("a"))
    kube_client.delete(CM, "a")
    changes = kube.log.history("ConfigMap", "a")
    assert [change.type for change in changes] == ["ADDED", "DELETED"]
    assert False
"""

IDLE = """
import sys

def test_it():
    heavy = {"aiohttp", "sqlalchemy", "pydantic", "inkube.apiserver.server"}
    assert not heavy & sys.modules.keys()
"""


def test_everyday_tests_pass_in_every_worker_of_xdist(run, pytester):
    for name in ("storage", "schemas", "controllers", "apiserver"):
        package = pytester.mkpydir(name)
        (package / "mine.py").write_text(f"NAME = {name!r}\n")
    result = run(EVERYDAY, "-n2", "--dist=loadfile")
    result.assert_outcomes(passed=12)


def test_a_failed_test_shows_requests_and_history(run):
    result = run(FAILING)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*inkube requests*",
            "200 GET /version *",
            "*inkube objects*",
            "*ADDED*ConfigMap default/a*",
            "*DELETED*ConfigMap default/a*",
        ]
    )


BROKEN = """
import json, urllib.request, urllib.error

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}
STATUS = {"conditions": [{"type": "Available", "status": "False", "reason": "NoPods"}]}


def ask(kube, path):
    try:
        urllib.request.urlopen(kube.url + path).close()
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.mark.kube_controllers(builtin=False)
def test_it(kube, kube_client):
    deployment = kube_client.create(DEPLOYMENT)
    kube_client.update({**deployment, "status": STATUS}, subresource="status")
    kube_client.create({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1"},
        "involvedObject": {"kind": "Deployment", "name": "web", "namespace": "default"},
        "type": "Warning",
        "reason": "Sad",
        "message": "it has no pods",
    })
    assert ask(kube, "/apis/example.com/v1/namespaces/default/boats") == 404
    with kube.fail("list", "configmaps", times=1):
        assert ask(kube, "/api/v1/configmaps") == 500
    assert False


def test_in_a_namespace(kube_namespace):
    kube_namespace.client.create(config_map("ours"))
    assert False


def test_that_passes(kube):
    kube.client.create(config_map("a"))
"""


def test_a_failed_test_names_likely_reasons_conditions_and_events(run):
    result = run(BROKEN)
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines([
        "*inkube: likely reasons*",
        "This server runs no workloads: nothing happens to a Deployment.*kube_workloads*",
        "Controllers are off: *",
        "The Fault * was active: it met 1 request of clients.",
        "/apis/example.com/v1/namespaces/default/boats is not served: *kube_definitions*",
        "*inkube requests*",
        "*inkube conditions*",
        "Deployment default/web",
        "    Available=False (NoPods)",
        "*inkube events*",
        "Warning  Sad              Deployment default/web: it has no pods",
        "*ConfigMap test-*/ours*",
    ])  # fmt: skip


async def test_the_state_of_a_failed_test_is_kept(run):
    result = run(BROKEN, "-k", "test_it")
    [path] = re.findall(r"inkube serve --snapshot (\S+)", result.stdout.str())
    async with APIServer(snapshot=path) as server:
        assert await server.client.get("apps/v1/deployments", "web", "default")


def test_kube_html_writes_the_state_of_a_failed_test_as_a_page(run):
    result = run(BROKEN, "-k", "test_it", "--kube-html")
    [page] = re.findall(r"or open (\S+\.html) in a browser", result.stdout.str())
    assert '"name":"web"' in Path(page).read_text("utf-8")


def test_kube_keep_keeps_and_lists_the_state_of_every_test(run):
    result = run(BROKEN, "--kube-keep", "-n1")
    result.assert_outcomes(failed=2, passed=1)
    _, _, text = result.stdout.str().rpartition("inkube states: inkube serve --snapshot FILE")
    found = dict(line.split()[::-1] for line in text.splitlines() if ".db " in line)
    tests = {test.rpartition("::")[2] for test in found}
    assert tests == {"test_it", "test_in_a_namespace", "test_that_passes"}
    assert all(Path(path).exists() for path in found.values())


def test_nothing_heavy_is_imported_before_a_fixture_is_used(run):
    result = run(IDLE, "-p", "no:aiohttp")
    result.assert_outcomes(passed=1)
