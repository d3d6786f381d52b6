"""The page of the front-end example in a real browser, with a server of another origin."""

import browsers
import pytest
import typescript

from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.scripted import ScriptedWorld
from inkube.apiserver.testing.thread import LoopThread

HOST, PATH = "git.example", "team/dashboards"


@pytest.fixture
def origin(tmp_path):
    """The origin that serves the files of the example."""
    with browsers.serving(typescript.frontend(tmp_path)) as found:
        yield found


@pytest.fixture
def kube(origin):
    options = Options(offline=True, retry_seconds=0.0, allow_origins=[origin])
    with LoopThread() as thread, running(thread, Plan(options)) as kube:
        yield kube


def test_a_form_shows_errors_at_their_fields_and_a_list_keeps_them_current(kube, origin):
    world = ScriptedWorld(kube)
    world.git_host(HOST, {PATH: ["main", "develop"]})
    with browsers.launched() as browser:
        from playwright.sync_api import expect

        page = browser.new_page()
        page.set_default_timeout(browsers.PATIENCE)
        page.goto(f"{origin}/?server={kube.url}")
        page.get_by_label("Name").fill("dashboards")
        page.get_by_label("Title").fill("Dashboards")
        page.get_by_label("URL").fill(f"https://{HOST}/{PATH}")
        branch = page.get_by_label("Branch")
        branch.fill("mian")
        expect(page.locator("#branch-error")).to_contain_text("branch not found")
        expect(branch).to_have_attribute("aria-invalid", "true")
        branch.fill("main")
        expect(page.locator("#branch-error")).to_be_empty()
        page.get_by_role("button", name="Save").click()
        row = page.locator("#list tbody tr")
        expect(row).to_contain_text("healthy")
        world.remove_branch(HOST, PATH, "main")
        expect(row).to_contain_text("1 error")
        expect(page.get_by_label("Errors")).to_contain_text("branch not found")
        world.add_branch(HOST, PATH, "main")
        expect(row).to_contain_text("healthy")
        expect(page.get_by_label("Errors").locator("li")).to_have_count(0)
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("There are none yet.")).to_be_visible()
