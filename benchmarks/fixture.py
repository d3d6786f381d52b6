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
TURNS = 2  # of some seconds each; the lowest counts
_NONE = "no server"
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
_WAYS = {
    _NONE: Way("", "assert OBJECT"),
    "a new server (`kube`)": Way(", kube", "assert kube.url", most=0.8),
    "a new server, and a create": Way(", kube", "kube.client.create(OBJECT)"),
    "a namespace (`kube_namespace`)": Way(
        ", kube_namespace", "assert kube_namespace.url", most=0.12
    ),
    "a namespace, and a create": Way(", kube_namespace", "kube_namespace.client.create(OBJECT)"),
    "a fork of 100 objects (`kube_seed`)": Way(", kube", "assert kube.url", _SEED, most=1.2),
    "a fork, and a create": Way(", kube", "kube.client.create(OBJECT)", _SEED),
}


def measure() -> Iterable[Figure]:
    """See the module."""
    floors, runs = list[float](), dict[str, list[tuple[float, float]]]()
    with tempfile.TemporaryDirectory() as name:
        servers.floor()  # compiles modules
        for turn in range(TURNS):
            floors.append(servers.floor())
            for number, (what, way) in enumerate(_WAYS.items()):
                path = Path(name) / f"test_{number}.py"
                if not turn:
                    _run(path, way, 1)  # compiles modules
                few, many = _run(path, way, FEW), _run(path, way, TESTS)
                each = [(more - less) / (TESTS - FEW) for less, more in zip(few, many, strict=True)]
                runs.setdefault(what, []).append((each[0], each[1]))
    floor = min(floors)
    cpu, wall = (
        {what: min(run[at] for run in found) for what, found in runs.items()} for at in (0, 1)
    )
    for what, way in _WAYS.items():
        if what != _NONE:
            cost = cpu[what] - cpu[_NONE]
            waited = (wall[what] - wall[_NONE]) * 1000
            note = (
                f"{cost * 1000:.2f} ms a test, {waited:.2f} by the clock, "
                f"where the import takes {floor * 1000:.0f}"
            )
            yield Figure(
                f"100 tests with {what}",
                100 * cost / floor,
                "x import aiohttp.web",
                at_most=way.most,
                note=note,
            )


def _run(path: Path, way: Way, tests: int) -> tuple[float, float]:
    """The seconds that so many tests take: processor time, and elapsed time."""
    text = _HEAD.format(tests=tests, fixture=way.fixture, body=way.body, mark=way.mark)
    path.write_text(text)
    plugin = "inkube.apiserver.pytest_plugin"
    options = ("-q", "-p", "no:cacheprovider", "-p", plugin, "--rootdir", str(path.parent))
    return servers.done("-m", "pytest", *options, str(path))


if __name__ == "__main__":
    figures.main(measure)
