"""Runs tests of a user's project, with every warning as an error."""

from importlib import metadata
from pathlib import Path

import pytest

import inkube

PRELUDE = """
import pytest
CM = "v1/configmaps"
def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
"""
INI = """
[pytest]
filterwarnings =
    error
    default:assertions not in test modules:pytest.PytestConfigWarning
addopts = --strict-markers -p no:schemathesis
asyncio_default_fixture_loop_scope = function
"""
ARGUMENTS = ["-p", "no:cacheprovider"]
if not metadata.entry_points(group="pytest11", name="inkube"):
    ARGUMENTS += ["-p", "inkube.apiserver.pytest_plugin"]


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a user's test file in its own process; returns the result."""
    home = str(Path(inkube.__path__[0]).absolute().parent)
    monkeypatch.setenv("PYTHONPATH", home, prepend=":")
    pytester.makeini(INI)

    def run(source, *arguments):
        pytester.makepyfile(PRELUDE + source)
        return pytester.runpytest_subprocess(*ARGUMENTS, *arguments)

    return run
