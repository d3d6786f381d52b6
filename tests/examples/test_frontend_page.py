"""The page of the front-end example in a real browser, with a server of another origin."""

import os
import shutil
import signal
import subprocess
import sys

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


@pytest.fixture
def address(tmp_path):
    """What `npm start` prints: the address to open."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = tmp_path / "inkube"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m inkube.apiserver.cli "$@"\n')
    script.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    with subprocess.Popen(
        [node, typescript.frontend(tmp_path) / "lib" / "start.js"], cwd=tmp_path, text=True,
        env={**os.environ, "PATH": path, "PORT": "0"}, stdout=subprocess.PIPE,
    ) as started:  # fmt: skip
        assert started.stdout is not None
        yield started.stdout.readline().removeprefix("Open ").strip()
        started.send_signal(signal.SIGINT)
        assert started.wait(browsers.PATIENCE / 1000) == 0


def test_one_command_starts_a_page_that_works_with_what_it_suggests(address):
    with browsers.launched() as browser:
        from playwright.sync_api import expect

        page = browser.new_page()
        page.set_default_timeout(browsers.PATIENCE)
        page.goto(address)
        page.get_by_label("Name").fill("dashboards")
        page.get_by_label("Title").fill("Dashboards")
        url = page.get_by_label("URL")
        url.fill(url.get_attribute("placeholder"))
        page.get_by_label("Branch").fill("mian")
        expect(page.locator("#branch-error")).to_contain_text("branch not found")
        offered = page.locator("#branch-values option")
        page.get_by_label("Branch").fill(offered.first.text_content())
        expect(page.locator("#branch-error")).to_be_empty()
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#list tbody tr")).to_contain_text("healthy")
        page.get_by_role("button", name="Pull", exact=True).click()
        expect(page.get_by_label("Resources")).to_contain_text("Boats")
