"""Every page as its readers meet it: by eye, by keyboard, and with a screen reader.

Each page has a sheet of pictures and a text with its accessibility tree in `views`. `make views`
makes them again; look at what changed before you commit it. `tests/support/views.py` describes how
sheets are compared.
"""

import difflib
import os
import re
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import browsers
import pytest
import views

from inkube import Workloads
from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Kube, Plan, running

FOLDER = Path(__file__).parent / "views"
MAKES = os.environ.get("INKUBE_VIEWS") == "make"
REPOSITORY = "object/provisioning.grafana.app/v0alpha1/repositories/default/dashboards"
BOAT = "object/example.com/v1/boats/default/argo"
SHOP = "object/apps/v1/deployments/default/shop"


class View(NamedTuple):
    """One page: its place, and a sign that shows that it is complete."""

    place: str
    sign: str


VIEWS = {
    "overview": View("", "h2:text('Changes')"),
    "table": View("kind/core/v1/pods", "tr.row"),
    "table-with-errors": View("kind/provisioning.grafana.app/v0alpha1/repositories", "th .chip"),
    "yaml": View(REPOSITORY, ".yaml .marked"),
    "fields": View(f"{REPOSITORY}?tab=fields", ".field.marked"),
    "edit": View(f"{BOAT}?tab=edit", "#draft"),
    "history": View(f"{BOAT}?tab=history", ".diff"),
    "owners": View(f"{SHOP}?tab=related", ".graph svg a:nth-of-type(4)"),
    "pods": View(f"{SHOP}?tab=pods", "td a"),
    "new": View("new/example.com/v1/boats", "#draft"),
    "world": View("world", "td .bad"),
    "requests": View("requests", ".state.live"),
    "control": View("control", "h2"),
}
VARIES = """
.glance div:not(:first-child) dd, .glance ~ .plot, .sliders, .brush, .brush ~ .bar,
.brush ~ .scroll { visibility: hidden; }
"""
"""What depends on the order in which requests arrive: figures, and changes by others."""
NAMED = """() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    text.data = text.data.replace(/-token-[0-9a-f]+/, "-token");
  }
}"""
"""Shortens the name of a secret, which is random even with a seed."""
TABBABLE = "a[href], button:not([disabled]), input, select, textarea, [tabindex='0']"


LABELS = {"app": "shop"}
OBJECTS = (
    {
        "apiVersion": "example.com/v1", "kind": "Boat",
        "metadata": {"name": "argo", "namespace": "default"},
        "spec": {"replicas": 3, "name": "argo", "crew": [{"name": "jason", "port": 1}]},
    },
    {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "default", "labels": LABELS},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {"labels": LABELS},
                "spec": {"containers": [{"name": "shop", "image": "registry.example.com/shop:1"}]},
            },
        },
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(server_thread: Any, boat_crd: Any, world_of: Any) -> Iterator[Kube]:
    """A server with an example of everything, whose names and times are the same in each run."""
    options = Options(offline=True, retry_seconds=0.0, seed=1, workloads=Workloads(nodes=2))
    with running(server_thread, Plan(options)) as kube:
        kube.install(boat_crd)
        for each in OBJECTS:
            kube.client.create(each)
        kube.client.patch("boats", "argo", patch={"spec": {"replicas": 4}})
        world_of(kube).remove_branch("git.example.com", "team/dashboards", "main")
        kube.settled()
        yield kube


@pytest.fixture(scope="module")
def page(browser: Any, filled: Kube) -> Iterator[Any]:
    context = browser.new_context(
        bypass_csp=True, reduced_motion="reduce", timezone_id="UTC", locale="en-GB"
    )
    found = context.new_page()
    found.clock.set_fixed_time(filled.clock.now() + timedelta(minutes=3))
    found.goto(f"{filled.url}/console/")
    # the first readers of some kinds create their default objects, which the sidebar then shows
    found.locator("a.button", has_text="ServiceCIDR").wait_for()
    found.reload()
    found.locator("main:not(.loading) h1").first.wait_for()
    views.prepared(found, VARIES)
    yield found
    context.close()


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_looks_and_reads_like_its_stored_view(page: Any, name: str) -> None:
    view = VIEWS[name]
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("(place) => { location.hash = `#/${place}`; }", view.place)
    page.locator(view.sign).first.wait_for(timeout=browsers.PATIENCE)
    page.locator(".state.loading").wait_for(state="detached")
    if name == "edit":
        draft = page.get_by_label("Draft")
        draft.fill(draft.input_value().replace("replicas: 4", "replicas: 1000"))
        page.locator(".paper .line.marked").wait_for()
    page.evaluate(NAMED)
    found = [f"axe: {each}" for each in views.violations(page)]
    found += _by_keyboard(page)
    found += _compare_text(name, _tree(page))
    page.evaluate("document.activeElement.blur(); document.querySelector('main').scrollTop = 0")
    found += _compare_sheet(page, name, views.sheet(page))
    found += [f"axe, narrow and dark: {each}" for each in views.violations(_narrow(page))]
    assert not found, "\n".join(found)


def _narrow(page: Any) -> Any:
    page.set_viewport_size({"width": 390, "height": 844})
    return page


def _by_keyboard(page: Any) -> list[str]:
    """Press the skip link and then Tab, which must reach everything that can be used, each time
    with a visible focus."""
    page.evaluate("document.activeElement.blur()")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    wanted = page.evaluate(
        """(tabbable) => [...document.querySelector('main').querySelectorAll(tabbable)]
        .filter((each) => each.checkVisibility({ visibilityProperty: true }) && each.tabIndex >= 0)
        .map((each, at) => each.dataset.tab = String(at))""",
        TABBABLE,
    )
    reached, found = set(), []
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
        at, shown = page.evaluate(
            """() => { const it = document.activeElement, style = getComputedStyle(it);
            const box = it.closest('.paper:focus-within') || it;
            return [it.closest('main') && it.dataset.tab, style.outlineStyle !== 'none'
              || getComputedStyle(box).boxShadow !== 'none']; }"""
        )
        if at is None:
            break
        reached.add(at)
        if not shown:
            found.append(f"the focus of element {at} is not visible")
    html = "(at) => document.querySelector(`[data-tab='${at}']`).outerHTML.slice(0, 200)"
    found += [f"Tab misses {page.evaluate(html, at)}" for at in wanted if at not in reached]
    return found


def _tree(page: Any) -> str:
    """Return what a screen reader knows of the page, without what varies."""
    text = page.locator("main").aria_snapshot()
    return re.sub(r"\b\d[\d,.:]*", "N", text) + "\n"


def _compare_text(name: str, text: str) -> list[str]:
    file = FOLDER / f"{name}.yaml"
    if MAKES:
        file.write_text(text)
    lines = difflib.unified_diff(file.read_text().splitlines(), text.splitlines(), lineterm="")
    return [f"the tree of a screen reader differs: {line}" for line in lines]


def _compare_sheet(page: Any, name: str, sheet: bytes) -> list[str]:
    file = FOLDER / f"{name}.png"
    if MAKES:
        file.write_bytes(sheet)
    found = views.differences(page, file.read_bytes(), sheet)
    if found:
        (failed := Path(tempfile.gettempdir()) / f"inkube-view-{name}.png").write_bytes(sheet)
        return [f"the pictures differ at {', '.join(found[:5])}: compare {file} with {failed}"]
    return []


def test_a_missing_button_is_a_difference(page: Any) -> None:
    page.evaluate("location.hash = '#/control'")
    page.get_by_role("button", name="Settle").wait_for()
    before = views.sheet(page)
    assert views.differences(page, before, views.sheet(page)) == []
    page.add_style_tag(content=".switches button:first-child { visibility: hidden; }")
    assert views.differences(page, before, views.sheet(page)) != []
