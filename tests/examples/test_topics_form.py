"""The React form of the example in a real browser, with the kind of the example."""

import runpy
import shutil
import subprocess
from pathlib import Path

import brokers
import browsers
import pytest
from patience import SECONDS

from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

FOLDER = Path(__file__).parents[2] / "examples" / "topics"
ESBUILD = FOLDER / "node_modules" / ".bin" / "esbuild"


@pytest.fixture
def origin(tmp_path):
    if not (shutil.which("node") and ESBUILD.exists()):
        pytest.skip("run npm install in examples/frontend and examples/topics")
    script = f"--outfile={tmp_path / 'form.js'}"
    arguments = ["form.jsx", "--bundle", "--format=esm", "--jsx=automatic", script]
    subprocess.run([ESBUILD, *arguments], cwd=FOLDER, check=True, timeout=SECONDS)
    shutil.copy(FOLDER / "index.html", tmp_path)
    with browsers.serving(tmp_path) as found:
        yield found


def test_a_form_shows_the_errors_of_any_kind_at_its_fields(origin):
    kind = runpy.run_path(str(FOLDER / "topics.py"))["TOPICS"]
    options = Options(kinds=[kind], allow_origins=[origin])
    with (
        brokers.running() as broker,
        LoopThread() as thread,
        running(thread, Plan(options)) as kube,
        browsers.launched() as browser,
    ):
        from playwright.sync_api import expect

        page = browser.new_page()
        page.set_default_timeout(browsers.PATIENCE)
        page.goto(f"{origin}/?server={kube.url}")
        for label, text in (("name", "a"), ("broker", broker), ("topic", "odd")):
            page.get_by_label(label).fill(text)
        page.get_by_label("password").fill("wrong")
        expect(page.locator("#password-error")).to_contain_text("not authorized")
        page.get_by_label("password").fill(brokers.PASSWORD)
        expect(page.locator("#password-error")).to_be_empty()
        expect(page.locator("#topic-error")).to_contain_text("the broker has no such topic")
        page.get_by_label("topic").fill("news")
        expect(page.locator("#topic-error")).to_be_empty()
        page.get_by_role("button", name="Save").click()
        page.get_by_label("name").fill("b")
        expect(page.locator("#topic-error")).to_contain_text("Topic a already has this value")
        page.get_by_label("name").fill("a")
        expect(page.locator("#name-error")).to_contain_text("already exists")
