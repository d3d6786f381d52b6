"""The modules of inkube know only its public modules and the doors of each other."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from importlib import util
from pathlib import Path

import pytest
import wheels
from patience import SECONDS

ROOT = Path(__file__).parent.parent
PLUGS = {"faults", "porch", "provisioning", "workloads", "world"}


def test_the_contract_names_every_other_room_of_controllers() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [contract] = [each for each in linter["contracts"] if "plugs" in each["name"]]
    rooms = {
        path.stem
        for path in (ROOT / "controllers").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    forbidden = {f"inkube.controllers.{room}" for room in rooms - PLUGS - {"__init__"}}
    assert forbidden | {"inkube.apiserver", "inkube.schemas", "inkube.storage"} == set(
        contract["forbidden_modules"]
    )
    assert {f"inkube.controllers.{room}" for room in PLUGS} == set(contract["source_modules"])


PROGRAM = """
import asyncio, json, sys
import inkube
import inkube.testing

async def main():
    modules = sys.argv[1]
    options = {"workloads": True} if "workloads" in sys.argv[2:] else {}
    async with inkube.APIServer(modules=modules, **options) as server:
        assert (await server.client.list("v1/namespaces")).items
        server.resources.load()
        definitions = [each.definition for each in server.resources]
        kinds = {f"{each.names.kind}.{each.group}" for each in definitions}
        if options:
            container = {"name": "a", "image": "b"}
            await server.client.create({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {"containers": [container], "restartPolicy": "Always"},
            })
            await server.settled()
            pod = await server.client.get("v1/pods", "a", "default")
            assert pod["status"]["phase"] == "Running", pod["status"]
        print(json.dumps(sorted(kinds)))

asyncio.run(main())
"""
STEPS = [
    ("inkube", ("default",), set()),
    ("inkube_provisioning", ("default",), {"Repository.provisioning.grafana.app"}),
    ("inkube_workloads", ("default", "workloads"), {"Stage.kwok.x-k8s.io"}),
    ("inkube_porch", ("all",), {"PackageRevision.porch.kpt.dev"}),
]
"""The wheels in the order of their installation, what then is served, and a new kind of each."""


def test_each_module_is_added_by_a_wheel_of_its_own(tmp_path: Path) -> None:
    if util.find_spec("hatchling") is None or util.find_spec("pip") is None:
        pytest.skip("hatchling or pip is not installed")
    wheels.split(wheels.build(tmp_path), parts := tmp_path / "parts")
    packages = tmp_path / "packages"
    served: set[str] = set()
    for name, arguments, new in STEPS:
        with zipfile.ZipFile(next(parts.glob(f"{name}-*.whl"))) as wheel:
            wheel.extractall(packages)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(packages)},
            capture_output=True, text=True, check=False, timeout=2 * SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        kinds = set(json.loads(done.stdout))
        assert new <= kinds - served
        served |= kinds
