"""An import that fails because a library is too old says so."""

import sys
from importlib import metadata
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

from inkube import __main__
from inkube.apiserver import cli
from inkube.schemas import lazy, outdated

REQUIRED = [
    "aiohttp>=3.12",
    "click>=8.1",
    "sqlalchemy[asyncio]>=2.0.30",
    "asyncpg>=0.30; extra == 'postgresql'",
]


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The installed versions; none that is missing."""
    versions = {"aiohttp": "3.12.0", "click": "8.1.0rc1", "sqlalchemy": "2.1.0b1"}

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", {"inkube": REQUIRED}.get)
    monkeypatch.setattr(metadata, "version", version)
    return versions


def test_what_is_new_enough_needs_no_explanation():
    assert outdated.explanation() == ""


@pytest.mark.parametrize(
    ("name", "version", "text"),
    [
        ("aiohttp", "3.8.6", "aiohttp is 3.8.6, 3.12 or later is required"),
        ("click", "8", "click is 8, 8.1 or later is required"),
        ("sqlalchemy", "2.0.4", "sqlalchemy is 2.0.4, 2.0.30 or later is required"),
    ],
)
def test_what_is_older_is_named_with_both_versions(installed, name, version, text):
    installed[name] = version
    assert outdated.explanation() == f"inkube requires newer libraries: {text}"


def test_what_is_missing_is_named(installed):
    del installed["click"]
    assert outdated.explanation().endswith("click is not installed, 8.1 or later is required")


@pytest.mark.parametrize("is_old", [False, True])
def test_a_module_that_cannot_be_loaded_names_the_outdated_version(installed, monkeypatch, is_old):
    def load(name):
        if name == "inkube.schemas.outdated":
            return outdated
        raise AttributeError("module 'aiohttp' has no attribute 'renamed'")

    installed["aiohttp"] = "3.8.6" if is_old else "3.12.0"
    package = ModuleType("inkube.newcomer")
    monkeypatch.setitem(sys.modules, "inkube.newcomer", package)
    monkeypatch.setattr(lazy, "import_module", load)
    monkeypatch.setattr(lazy, "_read", lambda _: {"App": ("inkube.newcomer.app", "App")})
    expected = "aiohttp is 3.8.6" if is_old else "renamed"
    with pytest.raises(ImportError if is_old else AttributeError, match=expected):
        lazy.exports("inkube.newcomer")("App")


def test_a_command_names_the_outdated_library_without_a_traceback(monkeypatch):
    def fail():
        raise lazy.OutdatedLibrary("aiohttp is 3.8.6")

    monkeypatch.setitem(cli.main.commands, "failing", click.Command("failing", callback=fail))
    result = CliRunner().invoke(cli.main, ["failing"])
    assert (result.exit_code, result.output) == (1, "Error: aiohttp is 3.8.6\n")


@pytest.mark.parametrize("error", [ImportError, AttributeError, TypeError])
def test_a_command_line_that_cannot_be_loaded_prints_no_traceback(installed, monkeypatch, error):
    def load(name):
        if name == "inkube.schemas.outdated":
            return outdated
        raise error("no such name")

    installed["click"] = "7.1.2"
    monkeypatch.setattr(lazy, "import_module", load)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    told = "Error: inkube requires newer libraries: click is 7.1.2, 8.1 or later is required"
    assert ended.value.code == told
