"""A module in its own package: installed next to inkube, it is served like inkube's own modules."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path

import pytest
from patience import SECONDS

import inkube

EXAMPLE = Path(__file__).parents[2] / "examples" / "greenhouse"
HOME = Path(inkube.__path__[0]).absolute().parent
SERVE = [sys.executable, "-m", "inkube", "serve"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages that contains only the example, installed by pip."""
    if util.find_spec("hatchling") is None or util.find_spec("pip") is None:
        pytest.skip("hatchling or pip is not installed")
    source = tmp_path_factory.mktemp("source") / "greenhouse"
    shutil.copytree(EXAMPLE, source)
    target = tmp_path_factory.mktemp("site")
    arguments = ["install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--target", target, source],
        check=True, timeout=2 * SECONDS,
    )  # fmt: skip
    return target


def environment(*folders: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HOME, *folders)))}


@contextmanager
def served(site: Path, folder: Path, *arguments: str) -> Iterator[str]:
    """The address of a server with the module."""
    command = [*SERVE, "--port", "0", "--in-memory", "--modules", "default,greenhouse", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(site), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("inkube serves on "), line
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_help_names_the_module_and_its_options(site: Path) -> None:
    done = subprocess.run(
        [*SERVE, "--help"],
        env=environment(site), capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    text = " ".join(done.stdout.split())
    assert "Installed: greenhouse." in text
    assert "--greenhouse-degrees FLOAT Degrees that the thermometer shows. [default: 18.0]" in text


def test_discovery_and_dry_runs_know_its_kind_and_its_option(site: Path, tmp_path: Path) -> None:
    plant = {
        "apiVersion": "greenhouse.example/v1",
        "kind": "Plant",
        "metadata": {"name": "lemon"},
        "spec": {"species": "Citrus limon", "coldest": 12},
    }
    with served(site, tmp_path, "--greenhouse-degrees", "10") as url:
        with urllib.request.urlopen(f"{url}/apis/greenhouse.example/v1") as answer:
            names = [each["name"] for each in json.load(answer)["resources"]]
        assert names == ["plants", "plants/status"]
        request = urllib.request.Request(
            f"{url}/apis/greenhouse.example/v1/namespaces/default/plants?dryRun=All",
            json.dumps(plant).encode(), {"Content-Type": "application/json"}, method="POST",
        )  # fmt: skip
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(request)
        with raised.value as refusal:
            assert refusal.code == 422
            [cause] = json.load(refusal)["details"]["causes"]
        assert cause["field"] == "spec.coldest"
        assert "the greenhouse has only 10 degrees" in cause["message"]


def test_the_tests_of_the_example_pass(site: Path, tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "test_greenhouse.py", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"],
        cwd=tmp_path, env=environment(site), capture_output=True, text=True, timeout=2 * SECONDS,
        check=False,
    )  # fmt: skip
    assert "2 passed" in done.stdout, done.stdout


def test_a_module_that_is_not_installed_is_named_with_those_that_are(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SERVE, "--in-memory", "--modules", "greenhouse"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--modules" in done.stderr
    assert "there is no module 'greenhouse'; there are all, default, none, " in done.stderr


@pytest.mark.parametrize("name", ["greenhouse.py", "pyproject.toml"])
def test_the_page_shows_it_as_it_is(name: str) -> None:
    page = (EXAMPLE.parents[1] / "docs" / "howto" / "modules.md").read_text()
    assert f"{(EXAMPLE / name).read_text()}```\n" in page
