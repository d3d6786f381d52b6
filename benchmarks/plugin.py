"""The first `kube` of a fresh environment, with pytest's rewritten assertions and without.

pytest rewrites the assertions of the packages of a distribution with a plugin. inkube opts out
(`apiserver/_pytestplugin.py`), so its modules are loaded as they were installed. A wheel of this
tree is installed in a new environment, as users do it, because an editable install is treated
differently. Each run is a process of pytest with one test that uses `kube`; the figure is its
processor time, relative to runs with `--assert=plain`. The runs take turns, and the figure is the
ratio of the medians. Needs a package index.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks import figures, servers
from benchmarks.figures import Figure

ROOT = Path(__file__).parents[1]
ROUNDS = 5
MOST = 1.15
_TEST = "def test_it(kube):\n    assert kube.url\n"
_PLAIN = "--assert=plain"
_VARIABLES = ("PYTHONDONTWRITEBYTECODE", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_ADDOPTS")
WAYS: Mapping[str, Mapping[str, str]] = {
    "bytecode is written": {},
    "bytecode is not written": {"PYTHONDONTWRITEBYTECODE": "1"},
}


def measure() -> Iterable[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = _environment(folder)
        (folder / "test_it.py").write_text(_TEST)
        for way, variables in WAYS.items():
            runs: dict[str, list[float]] = {"--assert=rewrite": [], _PLAIN: []}
            for _ in range(ROUNDS):
                for option, costs in runs.items():
                    _forget(folder)
                    costs.append(_seconds(python, folder, option, variables))
            rewritten, plain = map(statistics.median, runs.values())
            note = f"{rewritten:.2f} s beside {plain:.2f} s of CPU, medians of {ROUNDS}"
            what = f"the first `kube`, {way}"
            yield Figure(what, rewritten / plain, f"x {_PLAIN}", at_most=MOST, note=note)


def _environment(folder: Path) -> str:
    """Install a wheel of this tree with pytest in a new environment, and compile it as pip does.
    Returns its interpreter."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    place = folder / "environment"
    venv.create(place, symlinks=True)
    python = str(place / "bin/python")
    uv = shutil.which("uv")
    if uv:
        _run(uv, "pip", "install", "-q", "--compile-bytecode", "-p", python, str(wheel), "pytest")
    else:
        _run(*pip, "--python", python, "install", str(wheel), "pytest")
    return python


def _forget(folder: Path) -> None:
    """Remove what pytest has compiled: each run is the first one of its environment."""
    for compiled in folder.rglob("*-pytest-*.pyc"):
        compiled.unlink()


def _seconds(python: str, folder: Path, option: str, variables: Mapping[str, str]) -> float:
    """Return the processor time of a run."""
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", option, "test_it.py")
    usual = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    return servers.done(*command, python=python, folder=folder, variables={**usual, **variables})[0]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})


if __name__ == "__main__":
    figures.main(measure)
