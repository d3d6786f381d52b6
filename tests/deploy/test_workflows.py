"""What the linters of `make workflows` cannot see: workflows run what exists."""

import re
import sys
import tomllib

import pages
import pytest
import yaml
from click.testing import CliRunner

from inkube.apiserver.cli import main

sys.path.append(str(pages.ROOT / "tools"))
import release

WORKFLOWS = {
    path.name: path.read_text() for path in sorted((pages.ROOT / ".github/workflows").glob("*.yml"))
}
PROJECT = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = {
    each.rpartition(" ")[2]
    for each in PROJECT["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", each)
}


def commands(text: str) -> str:
    jobs = yaml.safe_load(text)["jobs"].values()
    return "\n".join(step.get("run", "") for job in jobs for step in job.get("steps", []))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_targets_and_scripts_exist(name: str) -> None:
    text = commands(WORKFLOWS[name])
    makefile = (pages.ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([\w-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for script in re.findall(r"(?:python |^)((?:tools|\.ci)/[\w./]+)", text, re.MULTILINE):
        assert (pages.ROOT / script).exists(), script


def test_ci_tests_the_versions_of_python_that_are_supported() -> None:
    assert set(re.findall(r'"(3\.\d+)"', WORKFLOWS["ci.yml"])) == PYTHONS
    policy = (pages.ROOT / "docs/support.md").read_text()
    row = re.search(r"^\| Python \| (.+?) \|", policy, re.MULTILINE)
    assert row is not None
    assert set(row[1].split(", ")) == PYTHONS


def test_the_hook_for_commits_is_a_command() -> None:
    (hook,) = yaml.safe_load((pages.ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = hook["entry"].split()
    assert program in PROJECT["scripts"]
    assert CliRunner().invoke(main, [*arguments, "--help"]).exit_code == 0
    assert f"id: {hook['id']}" in (pages.ROOT / "docs/howto/validate.md").read_text()


CHANGELOG = "## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n- a ([b](docs/b.md))\n\n## [1.1.0] - …\n"


def notes(tag: str, changelog: str = CHANGELOG) -> str:
    return release.notes(tag, '[project]\nversion = "1.2.0"\n', changelog, "https://git.example/i")


def test_notes_are_a_section_of_the_changelog() -> None:
    assert notes("v1.2.0") == "- a ([b](https://git.example/i/blob/v1.2.0/docs/b.md))\n"


@pytest.mark.parametrize(
    ("tag", "changelog", "reason"),
    [
        ("v1.3.0", CHANGELOG, "the tag is v1.3.0, and the version in pyproject.toml is 1.2.0"),
        ("v1.2.0", "## [Unreleased]\n", "no section `## [1.2.0] - YEAR-MONTH-DAY`"),
    ],
)
def test_a_tag_without_version_or_notes_is_not_released(tag, changelog, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        notes(tag, changelog)


def test_a_release_begins_with_at_most_ten_changes_that_break_users() -> None:
    text = (pages.ROOT / "CHANGELOG.md").read_text()
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        first, _, rest = section.partition("\n### Breaking\n")
        assert "\n- " not in first if rest else True, "Breaking comes first"
        breaking = rest.partition("\n### ")[0]
        assert len(re.findall(r"^- ", breaking, re.MULTILINE)) <= 10
