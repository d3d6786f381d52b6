"""pytest loads inkube's modules as they were installed, without rewriting their assertions."""

import subprocess
import sys
from pathlib import Path

import _inkube_pytestplugin
import pytest

pytest_plugins = ["pytester"]

OPTIONS = ["-p", "no:schemathesis", "-o", "asyncio_default_fixture_loop_scope=function"]
TEST = """
import sys

def test_it(kube):
    assert kube.url
    loaders = {
        type(module.__loader__).__name__
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "inkube"
    }
    assert loaders == {"SourceFileLoader"}
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder with the metadata of an ordinary install, before that of an editable one."""
    info = tmp_path / "inkube-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: inkube\nVersion: 9.9\n")
    (info / "entry_points.txt").write_text("[pytest11]\ninkube = _inkube_pytestplugin:plugin\n")
    (info / "RECORD").write_text("inkube/__init__.py,,\n_inkube_pytestplugin.py,,\n")
    home = Path(_inkube_pytestplugin.__file__).absolute().parent
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{home}")


@pytest.mark.usefixtures("installed")
def test_the_modules_of_a_test_are_those_that_were_installed(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess(*OPTIONS, "-W", "error")
    result.assert_outcomes(passed=1)


@pytest.mark.usefixtures("installed")
def test_an_imported_package_is_no_reason_for_a_warning(pytester):
    pytester.makepyfile(TEST)
    run = f"pytest.main({[*OPTIONS, '-W', 'error']})"
    for program in (f"sys.exit({run})", f"assert not {run}; sys.exit({run})"):
        command = [sys.executable, "-c", f"import sys, inkube, pytest; {program}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.usefixtures("installed")
def test_the_plugin_can_be_blocked_by_its_name(pytester):
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess(*OPTIONS, "-p", "no:inkube")
    result.stdout.fnmatch_lines(["*fixture 'kube' not found*"])
