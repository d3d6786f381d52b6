"""The message broker of `examples/topics`: it has topics, and accepts one password."""

import contextlib
import http.server
import threading
from collections.abc import Iterator

PASSWORD = "open-sesame"
TOPICS = {"news"}
_LOGIN = f"Bearer {PASSWORD}"


class _Topics(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Respond with 401, 404 or 200."""
        known = self.path.removeprefix("/topics/") in TOPICS
        is_accepted = self.headers.get("Authorization") == _LOGIN
        self.send_response(200 if known and is_accepted else 404 if is_accepted else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no log, to keep the output of tests clean."""


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run the broker; yields its URL."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Topics) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
