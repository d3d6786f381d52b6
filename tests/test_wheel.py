"""The wheel contains one typed package with its data, and nothing else."""

import subprocess
import sys
import zipfile
from importlib import util
from pathlib import Path

import pytest
from patience import SECONDS

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "_client.py": "client.py",
    "_client.pyi": "client.pyi",
    "_explore.py": "explore.py",
    "_explore.pyi": "explore.pyi",
    "_facade.py": "__init__.py",
    "_facade.pyi": "__init__.pyi",
    "_formats.py": "formats.py",
    "_formats.pyi": "formats.pyi",
    "_kinds.py": "kinds.py",
    "_kinds.pyi": "kinds.pyi",
    "_main.py": "__main__.py",
    "_testing.py": "testing.py",
    "_testing.pyi": "testing.pyi",
    "py.typed": "py.typed",
}
"""Files of apiserver that have another place in the package."""


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The files of a wheel built from this tree."""
    if util.find_spec("hatchling") is None or util.find_spec("pip") is None:
        pytest.skip("hatchling or pip is not installed")
    target = tmp_path_factory.mktemp("wheel")
    arguments = ["wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(target), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True, timeout=2 * SECONDS)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_wheel_holds_one_package_and_its_metadata(names):
    tops = {name.split("/")[0] for name in names}
    modules = {top for top in tops if not top.endswith(".dist-info")}
    assert modules == {"inkube", "_inkube_pytestplugin.py"}


def test_a_wheel_is_typed_and_has_every_folder(names):
    assert {"inkube/__init__.py", "inkube/__main__.py", "inkube/py.typed"} <= set(names)
    for folder in ("apiserver", "storage", "controllers", "schemas"):
        assert f"inkube/{folder}/__init__.py" in names


def test_a_wheel_has_the_data_of_the_built_in_kinds(names):
    here = {
        f"inkube/{path.relative_to(ROOT).as_posix()}"
        for folder in ("apiserver", "storage", "controllers", "schemas")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } - {f"inkube/apiserver/{name}" for name in (*ELSEWHERE, "_pytestplugin.py")}
    assert here <= set(names)
    assert {f"inkube/{place}" for place in ELSEWHERE.values()} <= set(names)


def test_a_wheel_has_the_examples(names):
    for name in ("boats/definition.yaml", "boats/test_boats.py", "frontend/src/client.ts"):
        assert f"inkube/examples/{name}" in names


def test_a_wheel_has_no_leftovers(names):
    assert not [
        name
        for name in names
        if "__pycache__" in name or "/tests/" in name or "node_modules" in name
    ]
