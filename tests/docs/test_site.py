"""`make docs` builds a site without warnings and without a network; every page is in its
navigation."""

import html
import os
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import browsers
import pages
import pytest
import yaml
from patience import SECONDS

import inkube

CONFIG = pages.ROOT / "mkdocs.yml"


def build(source: Path, target: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    if util.find_spec("mkdocs") is None or util.find_spec("material") is None:
        pytest.skip("MkDocs Material is not installed (inkube[docs])")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", **variables}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", str(source / CONFIG.name),
         "-d", str(target)],
        env=environment, capture_output=True, text=True, timeout=2 * SECONDS, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(pages.ROOT, target, INKUBE_REPOSITORY="git@git.example:team/inkube.git")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "WARNING" not in done.stderr
    return target


def test_pages_made_from_the_code_are_there(site: Path) -> None:
    for name, told in [
        ("cli", "--recheck-unhealthy"),
        ("options", "recheck_unhealthy"),
        ("fixtures", "kube_client"),
        ("kinds", "customresourcedefinitions"),
        ("inkube", "APIServer"),
        ("inkube.kinds", "creation_guards"),
        ("inkube.client", "BlockingClient"),
        ("inkube.testing", "KubeTestCase"),
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


def test_a_console_copies_its_commands_only(site: Path) -> None:
    text = html.unescape((site / "tutorials" / "kubectl.html").read_text())
    copied = re.findall(r'data-copy="([^"]*)"', text)
    assert (
        "inkube example boats\ninkube serve --in-memory --definitions boats/definition.yaml"
        in copied
    )
    programs = html.unescape((site / "howto" / "kinds.html").read_text())
    assert "import asyncio" not in " ".join(re.findall(r'data-copy="([^"]*)"', programs))


def test_types_of_options_have_no_backslashes(site: Path) -> None:
    text = (site / "reference" / "options.html").read_text()
    assert "<code>Path | None</code>" in text
    assert "\\|" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "enum=A|B" in (site / "rules.html").read_text()


def test_pages_have_a_logo_and_the_version(site: Path) -> None:
    text = (site / "index.html").read_text()
    assert re.search(r'<img src="assets/logo.svg" alt="logo">', text)
    assert (site / "assets" / "logo.svg").exists()
    assert f"inkube {inkube.__version__}" in text


def test_pages_link_to_the_repository(site: Path) -> None:
    link = '<a href="https://git.example/team/inkube" title="Go to repository"'
    assert link in (site / "index.html").read_text()


QUESTIONS = {
    "test with pytest": "pytest",
    "pod stays pending": "howto/troubleshooting",
    "test admission webhook": "howto/webhooks",
    "test rbac service account": "howto/rbac",
    "check manifests in ci": "howto/validate",
    "run envtest suites": "envtest",
    "parallel tests xdist": "howto/parallel",
    "seed data": "howto/seed",
    "allow-origin cors": "howto/browser",
    "compare kwok kind envtest": "comparison",
}
"""What a reader types into the search of the site → the page that answers."""


def test_search_finds_the_page_in_the_first_three_results(site: Path) -> None:
    found: dict[str, list[str]] = {}
    with browsers.launched() as browser, browsers.serving(site) as origin:
        page = browser.new_page()
        for question in QUESTIONS:
            page.goto(f"{origin}/index.html?q={question.replace(' ', '+')}")
            results = page.locator(".md-search-result__item > .md-search-result__link")
            results.first.wait_for(state="attached", timeout=browsers.PATIENCE)
            hrefs = [link.get_attribute("href") or "" for link in results.all()[:3]]
            found[question] = [href.split(".html")[0].removeprefix(f"{origin}/") for href in hrefs]
        page.close()
    missed = {asked: found[asked] for asked, page in QUESTIONS.items() if page not in found[asked]}
    assert not missed


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources of the site, in which tests make errors."""
    for name in ("docs", "tools"):
        shutil.copytree(pages.ROOT / name, tmp_path / name)
    for name in (CONFIG.name, "CHANGELOG.md", "hatch_build.py"):
        shutil.copy(pages.ROOT / name, tmp_path)
    return tmp_path


def test_the_error_of_an_unlisted_page_names_the_list(copy: Path) -> None:
    (copy / "docs" / "stray.md").write_text("# Stray\n")
    done = build(copy, copy / "site")
    assert done.returncode == 1
    told = "docs/stray.md has no place on the site: list it under `nav` in mkdocs.yml"
    assert told in done.stdout + done.stderr


@pytest.mark.parametrize(
    "links", [["nowhere.md", "access.md#nowhere"], ["../apiserver/app.py"]], ids=["dead", "outside"]
)
def test_a_link_that_leads_nowhere_is_an_error(copy: Path, links: list[str]) -> None:
    page = copy / "docs" / "index.md"
    page.write_text("\n\n".join([page.read_text(), *(f"[a]({link})" for link in links)]))
    done = build(copy, copy / "site")
    assert done.returncode == 1
    for link in links:
        assert link in done.stdout + done.stderr


def test_every_page_begins_with_what_one_can_do() -> None:
    """In a sentence: no formula, list, table or code in front of it."""
    docs = pages.ROOT / "docs"
    for page in docs.rglob("*.md"):
        if "fields" not in page.parts:
            _, first, *_ = page.read_text().split("\n\n")
            assert re.match(r"[A-Za-z][^|]*[.:](\s|$)", first), page
            assert not first.startswith("After this"), page


def test_links_between_pages_also_lead_to_files_of_the_repository() -> None:
    """Where a host shows docs/ without the site, no link is dead."""
    docs = pages.ROOT / "docs"
    dead = [
        (page.relative_to(docs).as_posix(), link)
        for page in docs.rglob("*.md")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / link).exists()
    ]
    assert not dead


def test_every_page_is_listed_once() -> None:
    """Faster than a build, and runs without the packages to build."""
    text = CONFIG.read_text()
    docs = pages.ROOT / "docs"
    for page in docs.rglob("*.md"):
        name = page.relative_to(docs).as_posix()
        if not name.startswith("fields/"):
            listed = len(re.findall(rf"[-:] {re.escape(name)}$", text, re.MULTILINE))
            assert listed == 1, f"docs/{name}: list it once under `nav` in mkdocs.yml"
    assert yaml.safe_load(text)["strict"] is True
