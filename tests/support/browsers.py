"""A real browser: Debian's Chromium, or what INKUBE_CHROMIUM names, driven by playwright.

The driver's loop counts as running in its thread until it ends, so no test of a module that has a
browser may be a coroutine.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import patience
import pytest

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 1000 * patience.SECONDS
"""Milliseconds that a browser on a busy machine may take for what takes it some ten."""


@contextlib.contextmanager
def launched() -> Iterator[Any]:
    """A browser, closed at the end; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    path = os.environ.get("INKUBE_CHROMIUM") or found
    if path is None:
        pytest.skip("no chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
