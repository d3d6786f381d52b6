"""Settings for all tests.

In CI, property tests always use the same examples, so that a failed run can be repeated. Files that
were added to the package after an editable install are linked. With INKUBE_HTTP=plain, servers in
the processes of the tests serve connections with aiohttp's own loop, and with INKUBE_HTTP=fast with
the faster loop, even if it was not tested with this version of aiohttp. With INKUBE_ENGINE=plain,
they have the plain engine of writes.
"""

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import patience
import programs
import pytest
from hypothesis import HealthCheck, settings

# The speed of the machine is unknown, so the duration of an example proves nothing.
ANYWHERE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("anywhere", ANYWHERE)
settings.register_profile("ci", ANYWHERE, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "anywhere")

ROOT = Path(__file__).parents[1]


def pytest_configure() -> None:
    """Link files of the package that an editable install lacks, for example after a pull. Also
    select the loop for connections."""
    if (ROOT / ".editable").is_dir() and importlib.util.find_spec("hatchling") is not None:
        spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.link(ROOT)
        importlib.invalidate_caches()
    if chosen := os.environ.get("INKUBE_HTTP"):
        import aiohttp

        from inkube.apiserver.http.fast import versions

        tested = {aiohttp.__version__} if chosen == "fast" else ()
        vars(versions)["TESTED"] = frozenset(tested)  # as if no other version was tested
    if os.environ.get("INKUBE_ENGINE", "fast") == "plain":
        import engines

        engines.replace(setattr)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that start programs, and multiply the timeout of each test, from its marker,
    `--timeout` or pyproject.toml, by INKUBE_PATIENCE."""
    for item in items:
        if isinstance(item, pytest.Function):
            for name in programs.markers(item):
                item.add_marker(name)
    usual = float(config.getoption("timeout") or config.getini("timeout"))
    for item in items if patience.PATIENCE != 1 else ():
        marker = item.get_closest_marker("timeout")
        seconds = float(marker.args[0]) if marker is not None else usual
        item.add_marker(pytest.mark.timeout(seconds * patience.PATIENCE), append=False)


def pytest_collection_finish() -> None:
    """Leave what is loaded by now out of garbage collections, and collect less often: that takes a
    third of the time of many tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


WATCH = programs.Watch()


@pytest.fixture(autouse=True)
def _programs_are_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that starts a program although `programs` found none: `make test` would run
    it."""
    yield
    started = [*WATCH.started]
    WATCH.started.clear()
    if not any(request.node.get_closest_marker(name) for name in programs.MARKERS):
        assert started == [], "tests/support/programs.py did not mark this test"


@pytest.fixture(autouse=True)
def _the_faster_loop_has_not_failed() -> Iterator[None]:
    """Fail a test in which an error in the faster loop for connections switched it off."""
    yield
    fallback = sys.modules.get("inkube.apiserver.http.fast.fallback")
    if fallback is not None:
        was_on, fallback.FALLBACK.is_on = fallback.FALLBACK.is_on, False
        assert not was_on, "the log tells the error"


def _cluster() -> Iterator[Any]:
    import postgresql  # few tests need its driver

    why = postgresql.missing()
    if why:
        pytest.skip(why)
    with postgresql.cluster() as running:
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A PostgreSQL for all tests of a process; each test creates its own database."""
    yield from _cluster()


@pytest.fixture
def own_cluster() -> Iterator[Any]:
    """A PostgreSQL that a test may stop."""
    yield from _cluster()
