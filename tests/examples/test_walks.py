"""Every example with console blocks in its README behaves as described, in its own folder."""

import importlib.util
import shutil
from pathlib import Path

import pages
import pytest

EXAMPLES = pages.ROOT / "examples"
ELSEWHERE = {"porch"}
"""Examples whose README has its own test."""
WALKS = sorted(
    readme.parent.name
    for readme in EXAMPLES.glob("*/README.md")
    if "```console" in readme.read_text() and readme.parent.name not in ELSEWHERE
)
NEEDED = {"kopf": ("kopf", "kubernetes")}


def test_there_are_some() -> None:
    assert {"chaos", "crd-author", "incident", "kopf"} <= set(WALKS)


@pytest.mark.parametrize("name", WALKS)
def test_an_example_does_what_its_readme_says(name: str, tmp_path: Path) -> None:
    page = (EXAMPLES / name / "README.md").read_text()
    for package in NEEDED.get(name, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if "kubectl" in page and shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "examples").mkdir()  # without copies of the other examples
    with pages.Reader(tmp_path, at=folder) as reader:
        reader.read(page)
