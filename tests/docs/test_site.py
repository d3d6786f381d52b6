"""`make docs`: a site without a warning, without a network, on which every page has its place."""

import os
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pages
import pytest
import yaml
from patience import SECONDS

CONFIG = pages.ROOT / "mkdocs.yml"


def build(source: Path, target: Path) -> "subprocess.CompletedProcess[str]":
    if util.find_spec("mkdocs") is None or util.find_spec("material") is None:
        pytest.skip("MkDocs Material is not installed (inkube[docs])")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", str(source / CONFIG.name),
         "-d", str(target)],
        env=environment, capture_output=True, text=True, timeout=2 * SECONDS, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(pages.ROOT, target)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "WARNING" not in done.stderr
    return target


def test_pages_made_from_the_code_are_there(site: Path) -> None:
    for name, told in [
        ("cli", "--recheck-unhealthy"),
        ("options", "recheck_unhealthy"),
        ("fixtures", "kube_client"),
        ("kinds", "customresourcedefinitions"),
        ("changelog", "WebSocket"),
    ]:
        assert told in (site / "reference" / f"{name}.html").read_text()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(?:https?:)?//[^"]*"', text)


def test_search_works_from_the_disk(site: Path) -> None:
    assert (site / "assets" / "iframe-worker.js").exists()
    assert "two-phase" in (site / "search" / "search_index.js").read_text().lower()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources of the site, to be spoilt."""
    for name in ("docs", "tools"):
        shutil.copytree(pages.ROOT / name, tmp_path / name)
    for name in (CONFIG.name, "CHANGELOG.md"):
        shutil.copy(pages.ROOT / name, tmp_path)
    return tmp_path


def test_a_page_that_nobody_listed_is_an_error_that_says_where_to_list_it(copy: Path) -> None:
    (copy / "docs" / "stray.md").write_text("# Stray\n")
    done = build(copy, copy / "site")
    assert done.returncode == 1
    told = "docs/stray.md has no place on the site: list it under `nav` in mkdocs.yml"
    assert told in done.stdout + done.stderr


@pytest.mark.parametrize(
    "link", ["[a](nowhere.md)", "[a](access.md#nowhere)", "[a](../apiserver/app.py)"]
)
def test_a_dead_link_is_an_error(copy: Path, link: str) -> None:
    page = copy / "docs" / "index.md"
    page.write_text(page.read_text() + link)
    assert build(copy, copy / "site").returncode == 1


def test_every_page_is_listed_once() -> None:
    """Quicker than a build, and where nothing is installed to build with."""
    text = CONFIG.read_text()
    docs = pages.ROOT / "docs"
    for page in docs.rglob("*.md"):
        name = page.relative_to(docs).as_posix()
        if not name.startswith("fields/"):
            listed = len(re.findall(rf"[-:] {re.escape(name)}$", text, re.MULTILINE))
            assert listed == 1, f"docs/{name}: list it once under `nav` in mkdocs.yml"
    assert yaml.safe_load(text)["strict"] is True
