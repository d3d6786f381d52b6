"""Every page passes axe-core, in light and dark, wide and 390 px narrow, and fits four widths."""

import pytest

REPOSITORY = "object/provisioning.grafana.app/v0alpha1/repositories/default/dashboards"
BOAT = "object/example.com/v1/boats/default/argo"
PLACES = {
    "overview": ("", "td.bad"),
    "a table": ("kind/core/v1/configmaps", "tr.row"),
    "a table with errors": ("kind/provisioning.grafana.app/v0alpha1/repositories", "th .chip"),
    "yaml": (REPOSITORY, ".yaml .marked"),
    "fields": (f"{REPOSITORY}?tab=fields", ".field.marked"),
    "the editor": (f"{BOAT}?tab=edit", "#draft"),
    "history": (f"{BOAT}?tab=history", "#revision"),
    "owners": (f"{BOAT}?tab=related", "svg"),
    "a new object": ("new/example.com/v1/boats", "#draft"),
    "the world": ("world", ".switch"),
    "requests": ("requests", ".state.live"),
}
"""Pages, and text that appears when everything is loaded."""
SIZES = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 390, "height": 700}}
OTHER = {"wide": {"width": 1920, "height": 1080}, "narrow": {"width": 820, "height": 1180}}
"""Sizes in which pages must fit as well."""


def violations(page):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in found
        for node in each["nodes"]
    ]


@pytest.fixture
def trouble(kube, boats, world_of):
    """A server with an example of everything, including a field error."""
    world_of(kube).remove_branch("git.example.com", "team/dashboards", "main")
    return kube


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("narrow", "dark")])
def test_axe_finds_nothing_to_complain_of(trouble, read, size, scheme):
    reader = read(trouble, color_scheme=scheme)
    reader.page.set_viewport_size(SIZES[size])
    found = []
    for name, (place, sign) in PLACES.items():
        page = reader.go(place)
        page.locator(sign).first.wait_for()
        if "tab=edit" in place:
            draft = page.get_by_label("Draft")
            draft.fill(draft.input_value().replace("replicas: 3", "replicas: 1000"))
            page.locator(".paper .line.marked").wait_for()
        found += [f"{name}: {each}" for each in violations(page)]
        for wanted in (OTHER[size], SIZES[size]):
            page.set_viewport_size(wanted)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= wanted["width"], f"{name} is {width} px wide"
    assert found == []


def test_axe_finds_nothing_in_dialogs_and_the_form_to_sign_in(start, read, tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("letmein,ann,1\n")
    page = read(start(token_auth_file=tokens)).go()
    assert violations(page) == []
    page.get_by_label("Token").fill("letmein")
    page.keyboard.press("Enter")
    page.locator("#main h1").wait_for()
    for key in ("?", ":"):
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
