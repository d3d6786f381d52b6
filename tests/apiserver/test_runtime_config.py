"""Versions and kinds that a runtime configuration switches off, with kube-apiserver's texts."""

import pytest

from inkube import APIServer
from inkube.schemas.builtin.runtimeconfig import Place, RuntimeConfig

GROUPS = {"", "apps", "batch", "apiregistration.k8s.io", "storagemigration.k8s.io"}
JOBS, CRONJOBS = Place("batch", "v1", "jobs"), Place("batch", "v1", "cronjobs")
BETA = Place("batch", "v1beta1", "cronjobs")
PODS = Place("", "v1", "pods")
REGISTRATIONS = "apiregistration.k8s.io/v1=true"


def read(text):
    return RuntimeConfig.read(text.split(","), GROUPS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("batch/v1=maybe", "invalid value of batch/v1: maybe, err: strconv.ParseBool: parsing"),
        ("batch/v1/jobs=x", "invalid value of batch/v1/jobs: x, err: strconv.ParseBool: parsing"),
        ("api/ga=1", "invalid value api/ga=1"),
        ("api/beta", "invalid value api/beta="),
        ("api/all=false", "invalid runtime-config with only api/all=false"),
        ("api/all=false,batch/v1=true", "API group/version apiregistration.k8s.io/v1 must be ena"),
        ("apiregistration.k8s.io/v1=false", "API group/version apiregistration.k8s.io/v1 must b"),
        ("batch/v1/Jobs=false", 'resource is always lowercase plural, not "Jobs"'),
        ("a/b/c/d=true", "runtime-config invalid key a/b/c/d"),
        ("batch=false", "runtime-config invalid key batch"),
        ("y/v1=true,batch/v1=true,x/v1/z=true", "unknown api groups x/v1,y/v1"),
    ],
)
def test_a_wrong_switch_ends_the_start(text, told):
    with pytest.raises(ValueError) as error:
        read(text)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("batch/v1=true", []),
        ("batch/v1=false", [JOBS, CRONJOBS]),
        ("batch/v1=0,batch/v1", []),
        ("batch/v1/jobs=false", [JOBS]),
        ("batch/v1=false,batch/v1/jobs=true", [CRONJOBS]),
        ("batch/v1/jobs=true,batch/v1=false", [CRONJOBS]),
        ("api/beta=false", [BETA]),
        (f"api/ga=false,{REGISTRATIONS}", [JOBS, CRONJOBS, PODS]),
        (f"api/all=false,api/beta=true,{REGISTRATIONS}", [JOBS, CRONJOBS, PODS]),
        (f"api/beta=true,api/all=false,{REGISTRATIONS}", [JOBS, CRONJOBS, PODS]),
        (f"api/all=false,/v1=true,{REGISTRATIONS}", [JOBS, CRONJOBS, BETA]),
        (f"api/all=false,api/v1=true,{REGISTRATIONS}", [JOBS, CRONJOBS, BETA]),
        (f"api/all=false,v1/pods=true,{REGISTRATIONS}", [JOBS, CRONJOBS, BETA]),
        ("api/legacy=false", []),
        ("storagemigration.k8s.io/v1beta1=true", []),
    ],
)
def test_the_most_exact_switch_decides(text, off):
    config = read(text)
    assert [each for each in (JOBS, CRONJOBS, BETA, PODS) if not config.is_on(each)] == off


async def served_by(web, path):
    answer = await web.ask("GET", path)
    if answer.code == 404:
        return []
    return sorted(each["name"] for each in answer.json["resources"] if "/" not in each["name"])


async def test_kinds_are_switched_off(web_of):
    given = ["apps/v1/deployments=false", "batch/v1=false", "batch/v1/cronjobs=true"]
    async with APIServer(runtime_config=given, modules="none") as server, web_of(server) as web:
        apps = ["controllerrevisions", "daemonsets", "replicasets", "statefulsets"]
        assert await served_by(web, "/apis/apps/v1") == apps
        assert await served_by(web, "/apis/batch/v1") == ["cronjobs"]
        gone = await web.ask("GET", "/apis/apps/v1/namespaces/default/deployments")
        assert (gone.code, gone.json["details"]) == (404, {})
        assert (await web.ask("GET", "/apis/batch/v1/cronjobs")).code == 200


async def test_all_but_two_groups_are_switched_off(web_of):
    given = ["api/all=false", "/v1=true", "batch/v1=true", REGISTRATIONS]
    async with APIServer(runtime_config=given, modules="none") as server, web_of(server) as web:
        groups = (await web.ask("GET", "/apis")).json["groups"]
        assert {each["name"] for each in groups} == {"apiregistration.k8s.io", "batch"}
        assert "pods" in await served_by(web, "/api/v1")
        assert await served_by(web, "/apis/batch/v1") == ["cronjobs", "jobs"]


@pytest.mark.parametrize(
    "text", ["/v1=false", "v1=false", "api/v1/pods=false", "api/ga=false", "/v1/namespaces=false"]
)
async def test_a_server_needs_namespaces(text):
    with pytest.raises(ValueError, match="must leave /v1/namespaces on"):
        async with APIServer(runtime_config=[text, REGISTRATIONS], modules="none"):
            pass


async def test_an_older_minor_knows_the_groups_of_the_newest():
    """A program knows its groups, whatever version it emulates."""
    given = ["resource.k8s.io/v1=true"]
    async with APIServer(runtime_config=given, kubernetes_version="1.33", modules="none"):
        pass
