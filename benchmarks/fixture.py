"""The cost of a server for a test: a new server, a namespace of a shared one, or a fork of a state
with a hundred objects.

Each measurement runs pytest in its own process with 1,000 tests and with 50. The difference is the
time of each additional test, without compiling and loading the server. Runs of tests without a
server are subtracted. The figures are processor time of the whole process, relative to that of
importing `aiohttp.web`; the elapsed time is in the note. The tests use only the fixture; figures of
tests that also create an object are next to them.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks import figures, servers
from benchmarks.figures import Figure

TESTS, FEW = 1_000, 50
_HEAD = """
import pytest

OBJECT = {{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "a"}}}}


def fill(kube):
    for number in range(100):
        kube.client.create({{**OBJECT, "metadata": {{"name": f"a-{{number}}"}}}})


{mark}
@pytest.mark.parametrize("number", range({tests}))
def test_it(number{fixture}):
    {body}
"""


class Way(NamedTuple):
    """One way to get a server; `most` is the target for 100 tests, as in the docs."""

    fixture: str
    body: str
    mark: str = ""
    most: float | None = None


_SEED = "@pytest.mark.kube_seed(fill=fill)"
_NONE = Way("", "assert OBJECT")
_WAYS = {
    "a new server (`kube`)": Way(", kube", "assert kube.url", most=0.8),
    "a new server, and a create": Way(", kube", "kube.client.create(OBJECT)"),
    "a namespace (`kube_namespace`)": Way(
        ", kube_namespace", "assert kube_namespace.url", most=1.0
    ),
    "a namespace, and a create": Way(", kube_namespace", "kube_namespace.client.create(OBJECT)"),
    "a fork of 100 objects (`kube_seed`)": Way(", kube", "assert kube.url", _SEED, most=1.2),
    "a fork, and a create": Way(", kube", "kube.client.create(OBJECT)", _SEED),
}


def measure() -> Iterable[Figure]:
    """See the module. Yields each figure as soon as it is measured, because all take some time."""
    floor = min(servers.floor() for _ in range(3))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "test_them.py"
        without = _each(path, _NONE)
        for what, way in _WAYS.items():
            cost, waited = (
                mine - bare for mine, bare in zip(_each(path, way), without, strict=True)
            )
            note = (
                f"{cost * 1000:.2f} ms a test, {waited * 1000:.2f} by the clock, "
                f"where the import takes {floor * 1000:.0f}"
            )
            what, unit = f"100 tests with {what}", "x import aiohttp.web"
            yield Figure(what, 100 * cost / floor, unit, at_most=way.most, note=note)


def _each(path: Path, way: Way) -> tuple[float, float]:
    """Return the seconds of one test: processor time, and elapsed time."""
    few = [_run(path, way, FEW) for _ in range(2)]  # the first compiles modules
    many = _run(path, way, TESTS)
    cpu, wall = ((many[at] - min(run[at] for run in few)) / (TESTS - FEW) for at in (0, 1))
    return cpu, wall


def _run(path: Path, way: Way, tests: int) -> tuple[float, float]:
    """Return the seconds that so many tests take: processor time, and elapsed time."""
    text = _HEAD.format(tests=tests, fixture=way.fixture, body=way.body, mark=way.mark)
    path.write_text(text)
    plugin = "inkube.apiserver.pytest_plugin"
    options = ("-q", "-p", "no:cacheprovider", "-p", plugin, "--rootdir", str(path.parent))
    return servers.done("-m", "pytest", *options, str(path))


if __name__ == "__main__":
    figures.main(measure)
