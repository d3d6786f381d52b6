"""The examples in docs/workloads work as written, if their packages are installed."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS

PAGES = Path(__file__).parents[3] / "docs" / "workloads"


def example(page):
    text = (PAGES / page).read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return block


def run(path, *command):
    beside = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{beside}:{os.environ['PATH']}", "HOME": str(path.parent)}
    return subprocess.run(
        [sys.executable, *command, str(path)], cwd=path.parent, env=environment,
        timeout=2 * SECONDS, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip


def test_the_example_of_the_page_about_operators_passes(tmp_path):
    (tmp_path / "test_operator.py").write_text(example("operators.md"))
    done = run(
        tmp_path / "test_operator.py",
        "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@pytest.mark.parametrize(
    ("page", "package", "said"),
    [
        ("hub.md", "kubespawner", "the hub would send its user to http://10.244."),
        ("workflows.md", "parsl", "the sum of the squares is 30"),
    ],
)
def test_a_package_that_makes_pods_works_against_simulated_nodes(tmp_path, page, package, said):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed (inkube[integrations])")
    path = tmp_path / "example.py"
    path.write_text(example(page))
    done = run(path)
    assert said in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
