"""A kill storm: a server is killed under load, started again, and asked what it still knows.

The checker: what was acknowledged is there, in this state or in a later one that was sent; what was
deleted and acknowledged stays away; no resourceVersion is given twice; nobody reads a state that
nobody sent.
"""

import contextlib
import http.client
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import served

KILLS = 500 if served.LONG else 3
WRITERS = 4
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Writer:
    """Writes one object after the other; remembers what it sent and what was acknowledged."""

    def __init__(self, number, versions):
        self.name = f"w{number}"
        self.sent = 0
        self.acknowledged = 0
        self.doubtful = ""  # what was sent last and never answered
        self.lives = False
        self.versions = versions

    def run(self, server, over):
        """Create, count up and delete until the server is gone."""
        with contextlib.closing(server.connect(10)) as connection:
            while not over.is_set():
                try:
                    self._step(connection)
                except (OSError, ConnectionError, http.client.HTTPException):
                    return

    def _step(self, connection):
        if not self.lives:
            self._send(connection, "POST", CONFIG_MAPS, 201)
        elif self.sent % 10 == 9:
            self._send(connection, "DELETE", f"{CONFIG_MAPS}/{self.name}", 200)
        else:
            self._send(connection, "PUT", f"{CONFIG_MAPS}/{self.name}", 200)

    def _send(self, connection, method, path, expected):
        self.sent += 1
        self.doubtful = method
        meta = {"name": self.name}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        body["data"] = {"count": str(self.sent)}
        answer = served.ask(connection, method, path, None if method == "DELETE" else body)
        assert answer.code == expected, answer.body
        self.doubtful = ""
        self.acknowledged = self.sent
        self.lives = method != "DELETE"
        if self.lives:
            version = int(answer.json["metadata"]["resourceVersion"])
            assert version not in self.versions, "a resourceVersion was given twice"
            self.versions.add(version)

    def check(self, server):
        """What is there now is what was acknowledged, or what was on its way."""
        answer = server.ask("GET", f"{CONFIG_MAPS}/{self.name}")
        if self.doubtful == "DELETE" or self.doubtful == "POST":
            assert answer.code in (200, 404)
        else:
            assert answer.code == (200 if self.lives else 404), (self.name, self.acknowledged)
        self.lives = answer.code == 200
        if self.lives:
            count = int(answer.json["data"]["count"])
            allowed = (
                {self.acknowledged, self.sent} if self.doubtful != "DELETE" else {self.acknowledged}
            )
            assert count in allowed, (self.name, count, allowed)
            self.acknowledged = count  # what was on its way has arrived, or never will
        self.doubtful = ""


def test_what_was_acknowledged_survives_every_kill(serve, tmp_path):
    chooser = random.Random(13)
    data = str(tmp_path / "storm.db")
    versions: set[int] = set()
    writers = [Writer(number, versions) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        for _ in range(KILLS):
            over = threading.Event()
            with serve("--data", data) as server:
                for writer in writers:
                    writer.check(server)
                running = [pool.submit(writer.run, server, over) for writer in writers]
                time.sleep(chooser.uniform(0.01, 0.15))  # when it dies is the exam's question
                server.kill()
                over.set()
                for each in running:
                    each.result(30)
    with serve("--data", data) as server:
        for writer in writers:
            writer.check(server)
        assert "Traceback" not in server.log
    print(f"{KILLS} kills, {sum(writer.sent for writer in writers)} writes sent, 0 lost")
