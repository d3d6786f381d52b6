"""A module from a package of its own, installed as users do: two wheels in a new environment.

The environment is outside of the checkout. Only the libraries that inkube needs are those of the
environment of the tests.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS
from served import Served

ROOT = Path(__file__).parents[2]
PLANTS = "/apis/greenhouse.example/v1/namespaces/default/plants"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def plant(name: str, **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "greenhouse.example/v1",
        "kind": "Plant",
        "metadata": {"name": name},
        "spec": {"species": "Citrus limon", **spec},
    }


def run(*command: object, **options: Any) -> str:
    done = subprocess.run(
        [*map(str, command)], check=True, timeout=2 * SECONDS, capture_output=True, text=True,
        env=environment(), **options,
    )  # fmt: skip
    return done.stdout


def environment() -> dict[str, str]:
    """Nothing leads to the checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with both wheels."""
    if util.find_spec("hatchling") is None or util.find_spec("pip") is None:
        pytest.skip("hatchling or pip is not installed")
    folder = tmp_path_factory.mktemp("installed")
    example = shutil.copytree(ROOT / "examples" / "greenhouse", folder / "greenhouse")
    wheels, made = folder / "wheels", folder / "environment"
    pip = sys.executable, "-m", "pip", "-q"
    for source in (ROOT, example):
        run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, source)
    run(sys.executable, "-m", "venv", "--without-pip", made)
    found = made / ("Scripts" if sys.platform == "win32" else "bin")
    install = "install", "--no-index", "--no-deps", *wheels.glob("*.whl")
    run(*pip, "--python", found / "python", *install)
    [packages] = made.rglob("site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return found


@pytest.fixture(scope="module")
def server(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    options = "--in-memory", "--modules", "default,greenhouse", "--greenhouse-degrees", "10"
    with Served(
        folder, *options, program=[str(programs / "inkube")], environment=environment()
    ) as running:
        yield running


def test_both_packages_are_those_of_the_wheels(programs: Path) -> None:
    program = "import inkube, greenhouse; print(inkube.__file__, greenhouse.__file__)"
    for place in run(programs / "python", "-c", program, cwd=programs).split():
        assert Path(place).is_relative_to(programs.parent)


def test_discovery_lists_its_kind_for_clients_and_the_console(server: Served) -> None:
    groups = server.ask("GET", "/apis", Accept=AGGREGATED).json["items"]
    [found] = [each for each in groups if each["metadata"]["name"] == "greenhouse.example"]
    [version] = found["versions"]
    assert [each["resource"] for each in version["resources"]] == ["plants"]
    assert server.ask("GET", "/console/").code == 200
    document = server.ask("GET", "/openapi/v3/apis/greenhouse.example/v1").json
    assert PLANTS.replace("default", "{namespace}") in document["paths"]


def test_kubectl_finds_its_kind(server: Served, tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    target = f"--server=http://127.0.0.1:{server.port}", f"--cache-dir={tmp_path}"
    told = run(kubectl, *target, "api-resources", "--api-group=greenhouse.example", "-o", "name")
    assert told.split() == ["plants.greenhouse.example"]


def test_the_schema_of_the_module_refuses_a_plant_without_a_species(server: Served) -> None:
    bad = plant("bad")
    del bad["spec"]["species"]
    refused = server.ask("POST", PLANTS, bad)
    assert refused.code == 422
    assert "spec.species" in refused.json["message"]


def test_the_check_of_the_module_refuses_a_dry_run(server: Served) -> None:
    refused = server.ask("POST", f"{PLANTS}?dryRun=All", plant("dry", coldest=12))
    assert refused.code == 422
    assert "the greenhouse has only 10 degrees" in refused.json["message"]


def test_the_controller_of_the_module_writes_the_findings_of_the_check(server: Served) -> None:
    created = server.ask("POST", PLANTS, plant("lemon", coldest=12))
    assert created.code == 201
    since = created.json["metadata"]["resourceVersion"]
    watch = f"{PLANTS}?watch=1&fieldSelector=metadata.name=lemon&resourceVersion={since}"
    url = f"http://127.0.0.1:{server.port}{watch}&timeoutSeconds={int(SECONDS)}"
    assert "the greenhouse has only 10 degrees" in first_error(url)


def first_error(url: str) -> str:
    """Return the first field error that a watch shows."""
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        for line in answer:
            errors = json.loads(line)["object"].get("status", {}).get("fieldErrors")
            if errors:
                return str(errors[0])
    raise AssertionError("the watch ended without an error")


def test_help_names_it_and_its_option(programs: Path) -> None:
    text = " ".join(run(programs / "inkube", "serve", "--help").split())
    assert "Installed: greenhouse." in text
    assert "--greenhouse-degrees FLOAT" in text


def test_a_server_that_does_not_name_it_does_not_serve_it(programs: Path, tmp_path: Path) -> None:
    with Served(
        tmp_path, "--in-memory", program=[str(programs / "inkube")], environment=environment()
    ) as running:
        groups = [each["name"] for each in running.ask("GET", "/apis").json["groups"]]
    assert {"provisioning.grafana.app", "world.inkube.dev"} <= set(groups)
    assert "greenhouse.example" not in groups


def test_workloads_are_found_in_the_wheel(programs: Path, tmp_path: Path) -> None:
    with Served(
        tmp_path, "--in-memory", "--workloads",
        program=[str(programs / "inkube")], environment=environment(),
    ) as running:  # fmt: skip
        nodes = running.ask("GET", "/api/v1/nodes").json["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["kube-node-1", "kube-node-2"]
