"""Every text installs inkube as `tools/installation.py` says, before and after a release."""

import sys
from pathlib import Path

import pages
import pytest

sys.path.append(str(pages.ROOT / "tools"))
import installation

TEXTS = {path.relative_to(pages.ROOT).as_posix(): path for path in installation.texts()}
SHOWN = {name for name, path in TEXTS.items() if installation.requirements(path.read_text())}
ALLOWED = (
    {installation.INDEX_NAME}
    if installation.INDEX_NAME
    else {installation.BESIDE, installation.REMOTE}
)


def test_pages_and_recipes_are_among_the_texts() -> None:
    assert {"README.md", "docs/howto/install.md", "examples/ci/gitlab.yaml"} <= SHOWN


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_text_installs_what_exists_today(name: str) -> None:
    found = installation.requirements(TEXTS[name].read_text())
    assert set(found) <= ALLOWED


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_release_leaves_nothing_of_the_time_before(name: str) -> None:
    text = installation.released(TEXTS[name].read_text(), "inkube")
    assert set(installation.requirements(text)) <= {"inkube"}
    for old in (f"`{installation.BESIDE}`", installation.REMOTE, installation.UNRELEASED.strip()):
        assert old not in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pip install './inkube[speed]' pytest", "pip install 'inkube[speed]' pytest"),
        ("uvx --from ./inkube inkube serve", "uvx --from inkube inkube serve"),
        (f"pip install -q {installation.REMOTE}", "pip install -q inkube"),
        ("pip install ./greenhouse", "pip install ./greenhouse"),
        (f"a\n\n{installation.UNRELEASED}b\nc\n\nd\n", "a\n\nd\n"),
    ],
)
def test_a_release_replaces_the_requirement_only(before: str, after: str) -> None:
    assert installation.released(before, "inkube") == after


def test_programs_name_no_requirement_that_a_release_changes() -> None:
    """Their messages stay right if they name the packages of others."""
    for folder in ("apiserver", "controllers", "schemas", "storage"):
        for path in Path(pages.ROOT / folder).rglob("*.py"):
            assert not installation.requirements(path.read_text()), path
