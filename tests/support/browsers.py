"""A real browser: Debian's Chromium, or the one in INKUBE_CHROMIUM, controlled by playwright.

The driver's event loop counts as running in its thread until the driver stops. So a module that
uses a browser cannot contain coroutine tests.
"""

import contextlib
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import patience
import pytest

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 1000 * patience.SECONDS
"""Milliseconds to wait for something that takes about ten on an idle machine."""


@contextlib.contextmanager
def launched() -> Iterator[Any]:
    """A browser, closed at the end. Skips the test if no browser is installed."""
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


class _Files(http.server.SimpleHTTPRequestHandler):
    """Serves the files of a folder and one generated page."""

    def __init__(self, *arguments: Any, page: str, **options: Any) -> None:
        self._page = page
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        """Send the page, if its path was requested, or a file."""
        if self._page and self.path == "/":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self._page.encode())
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        """Write no log, to keep the output of tests clean."""


@contextlib.contextmanager
def serving(folder: Path, *, page: str = "") -> Iterator[str]:
    """Serve the files of a folder; yields their origin. `page` is served at `/` instead of
    index.html."""
    handler = partial(_Files, directory=str(folder), page=page)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
