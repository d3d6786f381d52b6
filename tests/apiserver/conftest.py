"""Test runs of a user's project, with the plugin loaded and every warning an error."""

from importlib import metadata
from pathlib import Path

import pytest

import inkube
from inkube.apiserver.testing import plans, scripted

PRELUDE = """
import pytest
CM = "v1/configmaps"
def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
"""
INI = """
[pytest]
filterwarnings = error
addopts = --strict-markers
asyncio_default_fixture_loop_scope = function
"""
ARGUMENTS = ["-p", "no:cacheprovider", "-p", "no:randomly"]
if not metadata.entry_points(group="pytest11", name="inkube"):
    ARGUMENTS += ["-p", "inkube.apiserver.pytest_plugin"]

# imported before nested runs, which forget what they import
LOADED = (plans, scripted)


@pytest.fixture
def project(pytester, monkeypatch):
    """A user's folder; `project(source)` writes a test file and returns the arguments to run it."""
    home = str(Path(inkube.__path__[0]).absolute().parent)
    monkeypatch.setenv("PYTHONPATH", home, prepend=":")
    pytester.makeini(INI)

    def write(source, *arguments):
        pytester.makepyfile(PRELUDE + source)
        return [*ARGUMENTS, *arguments]

    return write


@pytest.fixture
def run(project, pytester):
    """Run a test file of a user in this process."""
    return lambda source, *more: pytester.runpytest_inprocess(*project(source, *more))


@pytest.fixture
def run_apart(project, pytester):
    """Run a test file of a user in a process of its own."""
    return lambda source, *more: pytester.runpytest_subprocess(*project(source, *more))
