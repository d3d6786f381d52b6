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
    ("inkube", ("default",), set(), "apiserver/client/test_errors_in_process.py"),
    (
        "inkube_provisioning", ("default",), {"Repository.provisioning.grafana.app"},
        "controllers/provisioning/test_provisioning_rules.py",
    ),
    (
        "inkube_workloads", ("default", "workloads"), {"Stage.kwok.x-k8s.io"},
        "controllers/workloads/test_taints_of_conditions.py",
    ),
    (
        "inkube_porch", ("all",), {"PackageRevision.porch.kpt.dev"},
        "controllers/porch/test_rules.py",
    ),
]  # fmt: skip
"""The wheels in the order of their installation: what then is served, a new kind of each, and tests
of its own that pass with the wheels that are installed then."""


def _run(folder: Path, packages: Path, *arguments: str) -> str:
    """Run Python with the installed wheels, and return its output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True, text=True, check=False, timeout=4 * SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _needs(parts: Path) -> dict[str, set[str]]:
    """Return what each wheel requires."""
    needs = {}
    for path in parts.glob("*.whl"):
        with zipfile.ZipFile(path) as wheel:
            [name] = [each for each in wheel.namelist() if each.endswith("/METADATA")]
            lines = wheel.read(name).decode().split("\n")
        required = (each.removeprefix("Requires-Dist: ") for each in lines if "-Dist: " in each)
        needs[path.name.partition("-")[0]] = set(required)
    return needs


@pytest.mark.skipif(os.environ.get("INKUBE_EXAMS") != "long", reason="part of make exams")
def test_each_module_is_added_by_a_wheel_of_its_own(tmp_path: Path) -> None:
    if util.find_spec("hatchling") is None or util.find_spec("pip") is None:
        pytest.skip("hatchling or pip is not installed")
    wheels.split(wheels.build(tmp_path), parts := tmp_path / "parts")
    packages = tmp_path / "packages"
    served: set[str] = set()
    for name, arguments, new, tests in STEPS:
        with zipfile.ZipFile(next(parts.glob(f"{name}-*.whl"))) as wheel:
            wheel.extractall(packages)
        kinds = set(json.loads(_run(tmp_path, packages, "-c", PROGRAM, *arguments)))
        assert new <= kinds - served
        served |= kinds
        options = (
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-c",
            str(ROOT / "pyproject.toml"),
        )
        _run(tmp_path, packages, "-m", "pytest", *options, str(ROOT / "tests" / tests))
    # the extras install the wheels, and only they require the libraries of modules
    needs = _needs(parts)
    for module in ("porch", "provisioning", "workloads"):
        [extra] = [each for each in needs["inkube"] if f"extra == '{module}'" in each]
        assert extra.startswith(f"inkube-{module}==")
    for part, library in (("provisioning", "dulwich"), ("porch", "ruamel-yaml")):
        assert not [each for each in needs["inkube"] if each.startswith(library)]
        assert [each for each in needs[f"inkube_{part}"] if each.startswith(library)]
