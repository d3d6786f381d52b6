"""The emulated version of Kubernetes, and servers of several versions in one process."""

import contextlib
import sqlite3
import subprocess
import sys

import aiohttp
import boats
import pytest
from click.testing import CliRunner
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.cli import main
from inkube.apiserver.configuration import BadOption, Options
from inkube.schemas import releases
from inkube.schemas.status import StatusError

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "a", "image": "a"}], "hostnameOverride": "b"},
}


async def asked(server, path):
    async with aiohttp.ClientSession() as session, session.get(server.url + path) as answer:
        return await answer.json()


@pytest.mark.parametrize("release", releases.RECORDED, ids=str)
async def test_version_and_openapi_name_the_minor(release):
    async with APIServer(kubernetes_version=f"1.{release.minor}") as server:
        told = await asked(server, "/version")
        assert (told["major"], told["minor"]) == ("1", str(release.minor))
        assert told["gitVersion"] == f"{release}+inkube"
        document = await asked(server, "/openapi/v3/api/v1")
        assert document["info"]["version"] == f"1.{release.minor}"


async def test_servers_of_several_versions_live_in_one_process():
    async with (
        APIServer(kubernetes_version="1.31") as oldest,
        APIServer() as newest,
        APIServer(kubernetes_version="v1.33.5") as middle,
    ):
        # repeatedly in turn, because a cache of one version must not be used for another
        for _ in range(2):
            groups = {
                name: {group["name"] for group in (await asked(server, "/apis"))["groups"]}
                for name, server in (("old", oldest), ("new", newest))
            }
            assert groups["new"] - groups["old"] == {"resource.k8s.io"}
            kinds = await asked(middle, "/apis/networking.k8s.io/v1")
            assert "servicecidrs" in {kind["name"] for kind in kinds["resources"]}
            kinds = await asked(oldest, "/apis/networking.k8s.io/v1")
            assert "servicecidrs" not in {kind["name"] for kind in kinds["resources"]}
            made = await newest.client.create(POD, dry_run=True)
            assert made["spec"]["hostnameOverride"] == "b"
            for server in (oldest, middle):
                made = await server.client.create(POD, dry_run=True)
                assert "hostnameOverride" not in made["spec"]


@pytest.mark.parametrize("wrong", ["1.30", "1.37", "1", "2.33", "newest", "1.33.x", "1.33.5.1"])
def test_an_unknown_version_is_refused_with_the_list(wrong):
    with pytest.raises(BadOption, match=r"1\.31, 1\.32, 1\.33, 1\.34, 1\.35, 1\.36"):
        Options(kubernetes_version=wrong)


def test_the_command_line_refuses_it_too():
    done = CliRunner().invoke(main, ["serve", "--kubernetes-version", "1.30"])
    assert done.exit_code == 2
    assert "--kubernetes-version: '1.30' is not a supported" in done.output.replace("\n", " ")
    for command in (["validate", __file__], ["envtest-assets"]):
        done = CliRunner().invoke(main, [*command, "--kubernetes-version", "1.30"])
        assert done.exit_code == 2
        assert "1.31, 1.32" in done.output


def test_files_are_checked_as_a_version(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(
        "{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: a}, "
        "spec: {cidrs: [10.0.0.0/16]}}"
    )
    done = CliRunner().invoke(main, ["validate", str(file), "--kubernetes-version", "1.33"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["validate", str(file), "--kubernetes-version", "1.32"])
    assert done.exit_code == 1
    assert "ServiceCIDR" in done.output


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_assets_are_of_a_version(tmp_path):
    done = CliRunner().invoke(
        main, ["envtest-assets", str(tmp_path), "--kubernetes-version", "1.33"]
    )
    assert done.exit_code == 0, done.output
    told = subprocess.run(
        [str(tmp_path / "kube-apiserver"), "--version"],
        capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    assert told.stdout == "Kubernetes v1.33.13\n"


@pytest.mark.kubernetes_version("1.32")
def test_a_marker_chooses_the_version(kube):
    with pytest.raises(StatusError) as refused:
        kube.client.list("networking.k8s.io/v1/servicecidrs")
    assert refused.value.code == 404


@pytest.mark.parametrize(("version", "left"), [("1.34", []), ("1.35", ["models"])])
async def test_volumes_of_images_are_dropped_with_their_mounts_while_the_gate_is_off(version, left):
    pod = {**POD, "spec": {"containers": [{**POD["spec"]["containers"][0]}]}}
    pod["spec"]["volumes"] = [{"name": "models", "image": {"reference": "a"}}]
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "models", "mountPath": "/m"}]
    async with APIServer(kubernetes_version=version) as server:
        spec = (await server.client.create(pod, dry_run=True))["spec"]
    assert [volume["name"] for volume in spec.get("volumes", ())] == left
    mounts = spec["containers"][0].get("volumeMounts", ())
    assert [mount["name"] for mount in mounts] == left


def newest_revision(data):
    with contextlib.closing(sqlite3.connect(data)) as log:
        return log.execute("SELECT max(revision) FROM log").fetchone()


async def test_a_newer_version_opens_what_an_older_one_wrote(tmp_path):
    data = tmp_path / "a.db"
    async with APIServer(kubernetes_version="1.31", data=data) as server:
        await server.client.create(POD)
    async with APIServer(data=data) as server:
        pod = await server.client.get("v1/pods", "a", "default")
        assert pod["spec"]["containers"][0]["name"] == "a"


async def test_an_older_version_refuses_fields_that_it_does_not_know(tmp_path):
    data = tmp_path / "a.db"
    async with APIServer(data=data) as server:
        await server.client.create(POD)
    written = newest_revision(data)
    with pytest.raises(ValueError, match=r"1\.33 .* pods/default/a: .*hostnameOverride.* 1\.34"):
        async with APIServer(kubernetes_version="1.33", data=data):
            pass
    assert newest_revision(data) == written
    async with APIServer(kubernetes_version="1.34", data=data) as server:
        assert (await server.client.get("v1/pods", "a", "default"))["spec"]["hostnameOverride"]


async def test_an_older_version_refuses_kinds_that_it_does_not_know(tmp_path):
    data = tmp_path / "a.db"
    async with APIServer(data=data) as server:
        await server.client.create(
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "ServiceCIDR",
                "metadata": {"name": "more"},
                "spec": {"cidrs": ["10.7.0.0/16"]},
            }
        )
    with pytest.raises(
        ValueError, match=r"servicecidrs\.networking\.k8s\.io; serve 1\.33 or newer"
    ):
        async with APIServer(kubernetes_version="1.32", data=data):
            pass


def test_a_release_reads_as_its_tag():
    assert str(releases.parse("1.33")) == "v1.33.13"
    assert releases.parse("v1.33.5") == releases.Release(33, 5)
    assert releases.parse("") is releases.NEWEST


@pytest.mark.parametrize(
    ("span", "minor", "holds"),
    [("1.33..", 33, True), ("1.33..", 32, False), ("..1.34", 34, True), ("..1.34", 35, False),
     ("1.32..1.33", 33, True), ("1.32..1.33", 31, False)],
)  # fmt: skip
def test_ranges_include_both_ends(span, minor, holds):
    assert releases.holds(span, minor) is holds


@pytest.mark.parametrize(("version", "code"), [("1.34", 500), ("1.35", 400)])
async def test_headers_that_impersonate_nobody(version, code):
    headers = {"Impersonate-Group": "devs"}
    async with APIServer(kubernetes_version=version) as server:
        url = f"{server.url}/api/v1/nodes?limit=1&watch=0"
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
            assert answer.status == code
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            text = await answer.text()
        if code == 500:
            assert answer.content_type == "text/plain"
            assert text == (
                'Internal Server Error: "/api/v1/nodes?limit=1&amp;watch=0": '
                "requested [{Group  devs    }] without impersonating a user\n"
            )
        else:
            assert "without impersonating a user" in text


@pytest.mark.parametrize(
    ("version", "columns"),
    [("1.32", ["Name", "Age", "Request", "Limit"]), ("1.33", ["Name", "Request", "Limit", "Age"])],
)
async def test_cells_stand_in_the_order_of_a_minors_columns(version, columns):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"hard": {"pods": "1"}},
    }
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    async with APIServer(kubernetes_version=version) as server:
        await server.client.create(quota)
        url = f"{server.url}/api/v1/namespaces/default/resourcequotas"
        async with aiohttp.ClientSession() as session, session.get(url, headers=accept) as answer:
            table = await answer.json()
    assert [column["name"] for column in table["columnDefinitions"]] == columns
    (row,) = table["rows"]
    cells = dict(zip(columns, row["cells"], strict=True))
    assert cells["Name"] == "a"
    assert cells["Age"].endswith("s")


@pytest.mark.parametrize(("version", "words"), [("1.31", False), ("1.32", True)])
async def test_rules_name_fields_like_reserved_words_since_a_minor(version, words):
    spec = {
        "type": "object",
        "properties": {"namespace": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.namespace > 0"}],
    }
    definition = boats.definition({"type": "object", "properties": {"spec": spec}}, "Cat")
    async with APIServer(kubernetes_version=version) as server:
        if words:
            await server.client.create(definition)
        else:
            with pytest.raises(StatusError, match="undefined field 'namespace'"):
                await server.client.create(definition)
            spec["x-kubernetes-validations"] = [{"rule": "self.__namespace__ > 0"}]
            await server.client.create(definition)
