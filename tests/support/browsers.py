"""A real browser: Debian's Chromium, or what INKUBE_CHROMIUM names, driven by playwright.

The driver's loop counts as running in its thread until it ends, so no test of a module that has a
browser may be a coroutine.
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


class _Files(http.server.SimpleHTTPRequestHandler):
    """A folder's files, and one page beside them."""

    def __init__(self, *arguments: Any, page: str, **options: Any) -> None:
        self._page = page
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        """The page where there is one, or a file."""
        if self._page and self.path == "/":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self._page.encode())
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        """Nothing of it belongs into the output of a test."""


@contextlib.contextmanager
def serving(folder: Path, *, page: str = "") -> Iterator[str]:
    """Serve a folder's files; yields their origin. `page` answers at `/` in place of index.html."""
    handler = partial(_Files, directory=str(folder), page=page)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
