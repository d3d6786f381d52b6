"""A package index shows the page of the project with links to its repository."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("https://git.example/team/inkube.git", "https://git.example/team/inkube"),
        ("https://me:secret@git.example/team/inkube", "https://git.example/team/inkube"),
        ("git@git.example:team/inkube.git", "https://git.example/team/inkube"),
        ("ssh://git@git.example/team/inkube", "https://git.example/team/inkube"),
        ("/srv/git/inkube.git", None),
    ],
)
def test_a_repository_has_pages_where_its_address_is_a_host(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch, address: str, link: str | None
) -> None:
    monkeypatch.setenv("INKUBE_REPOSITORY", address)
    assert hooks.repository() == link


def metadata(hooks: ModuleType) -> dict:
    found = {"version": "9.1.0"}
    hooks.InkubeMetadataHook(str(ROOT), {}).update(found)
    return found


def test_every_link_of_the_page_is_absolute(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INKUBE_REPOSITORY", "https://git.example/team/inkube")
    found = metadata(hooks)
    links = re.findall(r"\]\(([^)]+)\)", found["readme"]["text"])
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)
    assert "https://git.example/team/inkube/blob/v9.1.0/docs/pytest.md#inject-faults" in links
    assert "https://git.example/team/inkube/raw/v9.1.0/docs/images/console-deployment.png" in links
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Source"} == set(found["urls"])
    assert all("{" not in url for url in found["urls"].values())


def test_without_an_address_the_page_is_the_readme(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INKUBE_REPOSITORY", "/srv/git/inkube.git")
    found = metadata(hooks)
    assert "urls" not in found
    assert found["readme"]["text"] == (ROOT / "README.md").read_text()
