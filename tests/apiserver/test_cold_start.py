"""At its start, a server does not load what most servers never need, or need only later."""

import json
import subprocess
import sys

import pytest
from patience import SECONDS

PROGRAM = """
import asyncio, json, sys
import inkube
from inkube.controllers.client import GVR

async def main():
    async with inkube.APIServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
        assert b" 200 " in await reader.readline()
        writer.close()
        kinds = GVR("provisioning.grafana.app", "v0alpha1", "repositories")
        print(json.dumps({
            "modules": sorted(sys.modules),
            "items": (await server.client.list(kinds)).items,
            "porch": sorted(n for n in sys.modules if n.startswith("inkube.controllers.porch.")),
            "groups": sorted({each.group for each in server.resources}),
        }))

asyncio.run(main())
"""
OUTSIDE = (
    "cryptography", "dulwich", "importlib.metadata", "isal", "jsonpatch", "jwt",
    "prometheus_client", "pydantic", "re2", "sqlalchemy", "yaml", "zoneinfo",
)  # fmt: skip
MODULES = 320
"""The most modules of inkube that a start loads."""
LOOKUP = "encodings.idna"  # of a name's address, and with it threads; 127.0.0.1 needs none
LATER = (
    "inkube.controllers.workloads",
    "inkube.apiserver.admission.certificates",
    "inkube.apiserver.admission.defaultclasses",
    "inkube.apiserver.admission.limits",
    "inkube.apiserver.admission.pods",
    "inkube.apiserver.admission.services",
    "inkube.apiserver.aggregation.aggregator",
    "inkube.apiserver.auth.frontproxy",
    "inkube.apiserver.auth.rbac",
    "inkube.apiserver.auth.tokenfiles",
    "inkube.apiserver.console.pages",
    "inkube.apiserver.control.document",
    "inkube.apiserver.control.endpoints",
    "inkube.apiserver.actions.server",
    "inkube.apiserver.console.requestlog",
    "inkube.apiserver.defaults.apiservices",
    "inkube.apiserver.process.trimming",
    "inkube.apiserver.declared.hosts",
    "inkube.apiserver.declared.serveraccess",
    "inkube.apiserver.declared.startmodules",
    "inkube.apiserver.streaming.commands",
    "inkube.apiserver.subresources.containers",
    "inkube.apiserver.subresources.table",
    "inkube.controllers.core.apiservices",
    "inkube.controllers.environment",
    "inkube.controllers.core.clusterroles",
    "inkube.controllers.core.expiry",
    "inkube.controllers.modules",
    "inkube.controllers.core.flowcontrol",
    "inkube.controllers.core.namespaces",
    "inkube.controllers.core.policies",
    "inkube.controllers.core.quotas",
    "inkube.apiserver.webhooks.calls.conversion",
    "inkube.apiserver.discovery.groups",
    "inkube.apiserver.discovery.openapi",
    "inkube.apiserver.policies.evaluation.judging",
    "inkube.apiserver.webhooks.calls.dispatcher",
    "inkube.schemas.builtin.rules.kinds",
    "inkube.schemas.builtin.protobuf.encoding",
    "inkube.schemas.builtin.protobuf.decoding",
    "inkube.schemas.cel.declarations",
    "inkube.schemas.cel.running",
    "inkube.schemas.structural.compiled",
    "inkube.schemas.crds.validation",
    "inkube.schemas.structural.formats",
    "inkube.schemas.golang.gofloats",
    "inkube.schemas.gotypes.gocmp",
    "inkube.schemas.gotypes.gosource",
    "inkube.schemas.models.models",
    "inkube.schemas.patch.json",
    "inkube.schemas.policies.expressions",
    "inkube.schemas.policies.typecheck",
    "inkube.schemas.webhooks.review",
)


@pytest.fixture(scope="module")
def started():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    return json.loads(done.stdout)


def test_a_server_is_ready_before_it_loads_what_it_needs_later(started):
    assert not [name for name in (*OUTSIDE, *LATER) if name in started["modules"]]


def test_a_start_loads_no_more_modules_than_it_needs(started):
    assert sum(name.partition(".")[0] == "inkube" for name in started["modules"]) <= MODULES


def test_the_command_on_a_file_loads_only_what_it_needs(tmp_path):
    command = [sys.executable, "-X", "importtime", "-m", "inkube", "serve", "--port", "0"]
    with (tmp_path / "imports").open("w+") as imports:
        process = subprocess.Popen(
            [*command, "--data", "it.db"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=imports, text=True,
        )  # fmt: skip
        try:
            assert any("http://" in line for line in process.stdout)
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)
        imports.seek(0)
        loaded = {line.rpartition("|")[2].strip() for line in imports}
    assert "aiosqlite" in loaded
    assert not [name for name in (*OUTSIDE, LOOKUP) if name in loaded]


def test_kinds_declared_in_python_are_served_but_not_loaded_at_the_start(started):
    assert "inkube.controllers.provisioning.types" not in started["modules"]
    assert started["items"] == []


def test_a_server_without_porch_loads_nothing_of_it(started):
    assert started["porch"] == []
    assert not [group for group in started["groups"] if "porch" in group]
    assert "ruamel" not in started["modules"]


def test_a_check_of_files_loads_no_server(tmp_path):
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    command = [sys.executable, "-X", "importtime", "-m", "inkube", "validate", "a.yaml"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=SECONDS
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "inkube.apiserver.validate.checking" in loaded
    assert not [name for name in ("aiohttp", "inkube.apiserver.registry") if name in loaded]
