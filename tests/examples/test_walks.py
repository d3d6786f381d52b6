"""Every example with console blocks in its README behaves as described, in its own folder."""

import importlib.util
import re
import shutil
from pathlib import Path

import pages
import pytest

from inkube.apiserver.commands.example import example_command

EXAMPLES = pages.ROOT / "examples"
ELSEWHERE = {"porch"}
"""Examples whose README has its own test."""
WALKS = sorted(
    readme.parent.name
    for readme in EXAMPLES.glob("*/README.md")
    if "```console" in readme.read_text() and readme.parent.name not in ELSEWHERE
)
NEEDED = {"kopf": ("kopf", "kubernetes")}


def test_examples_with_a_walk_were_found() -> None:
    assert {"boats", "chaos", "crd-author", "incident", "kopf", "node"} <= set(WALKS)


@pytest.mark.parametrize(
    "readme", sorted(EXAMPLES.glob("*/README.md")), ids=lambda path: path.parent.name
)
def test_a_readme_begins_with_its_subject_and_run_time(readme: Path) -> None:
    _, first, *_ = readme.read_text().split("\n\n")
    found = re.fullmatch(r"It shows .+[.]\nRun time: (.+)[.]", first)
    assert found is not None, first
    table = (pages.ROOT / "docs/howto/examples.md").read_text()
    rows = [line for line in table.splitlines() if f"`inkube example {readme.parent.name}`" in line]
    assert [row.rsplit("|", 2)[1].strip() for row in rows] in ([found[1]], [])


@pytest.mark.parametrize("name", WALKS)
def test_the_commands_of_an_example_work(name: str, tmp_path: Path) -> None:
    page = (EXAMPLES / name / "README.md").read_text()
    for package in NEEDED.get(name, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    for program in ("kubectl", "node"):
        if program in pages.tools(page) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path / "example"  # as `inkube example` writes it into an empty folder
    example_command.main([name, str(folder)], standalone_mode=False)
    (folder / "examples").mkdir()  # without copies of the other examples
    with pages.Reader(tmp_path, at=folder) as reader:
        reader.read(page)
