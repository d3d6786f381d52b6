"""What a test pays for its server: 1,000 tests with a new one each, with a namespace of a shared
one, and with a fork of a state of a hundred objects.

Whole runs of pytest in processes of their own, and one of tests that have no server: the difference
is what the fixtures take. Each test creates an object, which is counted too. Processor time of the
whole process beside that of importing `aiohttp.web`, by the clock in the note.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks import figures, servers
from benchmarks.figures import Figure

TESTS = 1_000
TURNS = 1  # of some seconds each
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
    """One way to have a server; `most` is the target, for 100 tests."""

    fixture: str
    body: str
    mark: str = ""
    most: float = 0.0


_WAYS = {
    _NONE: Way("", "assert OBJECT"),
    "a new server (`kube`)": Way(", kube", "kube.client.create(OBJECT)", most=0.8),
    "a namespace (`kube_namespace`)": Way(
        ", kube_namespace", "kube_namespace.client.create(OBJECT)", most=0.16
    ),
    "a fork of 100 objects (`kube_seed`)": Way(
        ", kube", "kube.client.create(OBJECT)", "@pytest.mark.kube_seed(fill=fill)", most=1.2
    ),
}


def measure() -> Iterable[Figure]:
    """See the module."""
    floors, runs = list[float](), dict[str, list[tuple[float, float]]]()
    with tempfile.TemporaryDirectory() as name:
        for _ in range(TURNS):
            floors.append(servers.floor())
            for number, (what, way) in enumerate(_WAYS.items()):
                runs.setdefault(what, []).append(_run(Path(name) / f"test_{number}.py", way))
    floor = min(floors)
    cpu, wall = (
        {what: min(run[at] for run in found) / TESTS for what, found in runs.items()}
        for at in (0, 1)
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


def _run(path: Path, way: Way) -> tuple[float, float]:
    """Seconds that the tests take, processor time and by the clock."""
    text = _HEAD.format(tests=TESTS, fixture=way.fixture, body=way.body, mark=way.mark)
    path.write_text(text)
    plugin = "inkube.apiserver.pytest_plugin"
    options = ("-q", "-p", "no:cacheprovider", "-p", plugin, "--rootdir", str(path.parent))
    return servers.done("-m", "pytest", *options, str(path))


if __name__ == "__main__":
    figures.main(measure)
