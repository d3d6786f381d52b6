"""Markers of tests that need more than one process are derived from their code."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import patience
import programs
import pytest

SOURCE = {
    "itself": "import subprocess\ndef test(): subprocess.run(['true'])",
    "a helper": "import subprocess\ndef run(): subprocess.run(['true'])\ndef test(): run()",
    "a class": "import subprocess\nclass A:\n    def b(self): subprocess.run([])\ndef test(): A()",
    "an inner function": "import subprocess\ndef test():\n    def inner(): subprocess.run([])",
    "asyncio": "import asyncio\nasync def test(): await asyncio.create_subprocess_exec('true')",
    "another module": "import served\ndef test(): served.running()",
}


def item(text: str, *fixtures: str, **parameters: object) -> Any:
    """Return a test as pytest collects it, from the source of its file and its fixtures."""
    home = {"__file__": __file__}
    exec(compile(text, __file__, "exec"), home)
    definitions = {name: [SimpleNamespace(func=home[name])] for name in fixtures}
    return SimpleNamespace(
        obj=home["test"],
        _fixtureinfo=SimpleNamespace(name2fixturedefs=definitions),
        callspec=SimpleNamespace(params=parameters),
    )


@pytest.mark.parametrize("place", SOURCE)
def test_a_test_that_starts_programs_is_found(place: str) -> None:
    assert list(programs.markers(item(SOURCE[place]))) == ["processes"]


def test_a_test_whose_fixture_starts_programs_is_found() -> None:
    text = "import subprocess\ndef tool(): subprocess.run([])\ndef test(tool): pass"
    assert list(programs.markers(item(text, "tool"))) == ["processes"]


def test_a_test_that_needs_a_database_or_a_browser_is_found() -> None:
    text = "def test(backend): pass"
    assert list(programs.markers(item(text, backend="postgresql"))) == ["database"]
    text = "import browsers\ndef test(): browsers.launched()"
    assert set(programs.markers(item(text))) == {"processes", "browser"}


def test_other_tests_of_the_same_file_have_no_marker() -> None:
    assert (
        list(programs.markers(item(SOURCE["itself"].replace("test", "tool") + "\ndef test(): 1")))
        == []
    )


def test_the_start_of_a_program_is_noticed() -> None:
    watch = programs.Watch()
    watch._hear("subprocess.Popen", ("true", ["true"], None, None))
    watch._hear("open", ("file", "r", 0))
    assert watch.started == ["subprocess.Popen ('true', ['true'])"]


@pytest.mark.parametrize(("asked", "seconds"), [(None, 300), (7200, 7200)])
def test_the_timeout_of_the_command_line_is_multiplied(request, monkeypatch, asked, seconds):
    conftest = request.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    test = pytest.Function.from_parent(request.node.parent, name=request.node.originalname,
                                       callobj=lambda: None)  # fmt: skip
    monkeypatch.setattr(request.config.option, "timeout", asked)
    monkeypatch.setattr(patience, "PATIENCE", 4)
    conftest.pytest_collection_modifyitems(request.config, [test])
    assert test.get_closest_marker("timeout").args == (4 * seconds,)
