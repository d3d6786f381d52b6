"""A server starts without what most servers never need."""

import json
import subprocess
import sys

PROGRAM = """
import asyncio, json, sys
import inkube
from inkube.controllers.client import GVR

async def main():
    async with inkube.APIServer() as server:
        before = set(sys.modules)
        kinds = GVR("provisioning.grafana.app", "v0alpha1", "repositories")
        found = await server.client.list(kinds)
        print(json.dumps([sorted(before), found.items]))

asyncio.run(main())
"""
HEAVY = ("pydantic", "yaml", "cryptography", "dulwich", "prometheus_client", "sqlalchemy")


def test_kinds_declared_in_python_are_loaded_when_they_are_asked_for():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    modules, items = json.loads(done.stdout)
    assert not [name for name in HEAVY if name in modules]
    assert items == []
