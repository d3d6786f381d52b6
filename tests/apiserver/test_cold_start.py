"""A server starts without what most servers never need, or need later."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, dataclasses, json, sys
import inkube
from inkube.controllers.client import GVR

def frozen(module):
    return [
        f"{module.__name__}.{kind.__name__}"
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
        and "__dataclass_params__" in vars(kind) and kind.__dataclass_params__.frozen
    ]

async def main():
    async with inkube.APIServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
        assert b" 200 " in await reader.readline()
        writer.close()
        loaded = dict(sys.modules)
        own = [module for name, module in loaded.items() if name.startswith("inkube")]
        kinds = GVR("provisioning.grafana.app", "v0alpha1", "repositories")
        print(json.dumps({
            "modules": sorted(loaded),
            "frozen": [name for module in own for name in frozen(module)],
            "items": (await server.client.list(kinds)).items,
        }))

asyncio.run(main())
"""
OUTSIDE = (
    "cryptography", "dulwich", "jsonpatch", "prometheus_client", "pydantic", "re2", "sqlalchemy",
    "yaml", "zoneinfo",
)  # fmt: skip
LATER = (
    "inkube.apiserver.auth.rbac",
    "inkube.apiserver.webhooks.conversion",
    "inkube.apiserver.discovery.groups",
    "inkube.apiserver.discovery.openapi",
    "inkube.apiserver.policies.judging",
    "inkube.apiserver.webhooks.dispatcher",
    "inkube.schemas.cel",
    "inkube.schemas.structural.compiled",
    "inkube.schemas.crds.validation",
    "inkube.schemas.structural.formats",
    "inkube.schemas.golang.gofloats",
    "inkube.schemas.models",
    "inkube.schemas.patch",
    "inkube.schemas.policies",
    "inkube.schemas.webhooks",
)
MODULES = 155
"""Each costs at least a tenth of a millisecond; there are 144."""
FROZEN = {
    "inkube.apiserver.configuration.Options",
    "inkube.controllers.manager.Controller",
    "inkube.schemas.definitions.Definition",
    "inkube.schemas.definitions.Version",
    "inkube.schemas.quantity.Quantity",
}
"""Half a millisecond each, a named tuple a tenth of one."""


@pytest.fixture(scope="module")
def started():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_a_server_is_ready_before_it_loads_what_it_needs_later(started):
    assert not [name for name in (*OUTSIDE, *LATER) if name in started["modules"]]


def test_a_server_that_is_ready_has_loaded_few_modules(started):
    assert len([name for name in started["modules"] if name.startswith("inkube")]) <= MODULES


def test_values_that_a_start_loads_are_cheap_to_define(started):
    assert set(started["frozen"]) <= FROZEN


def test_kinds_declared_in_python_are_loaded_when_they_are_asked_for(started):
    assert "inkube.controllers.provisioning.types" not in started["modules"]
    assert started["items"] == []
