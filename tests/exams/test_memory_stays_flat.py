"""A soak test: mixed load for a while, during which memory must not grow in the last third.

Clients write, watch, list, page, abandon long responses, send invalid requests, connect and
disconnect. `INKUBE_SOAK` is in seconds. Short runs show only that the test works, long ones that
nothing leaks.
"""

import contextlib
import os
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import served

SECONDS = float(os.environ.get("INKUBE_SOAK", "1800" if served.LONG else "9"))
FLAT = 1.03 if SECONDS >= 600 else 1.25
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
BAD = (
    ("POST", CONFIG_MAPS, b"{"),
    ("POST", CONFIG_MAPS, b'{"kind":"Pod"}'),
    ("POST", CONFIG_MAPS, b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"A B"}}'),
    ("PUT", f"{CONFIG_MAPS}/none", b"{}"),
    ("GET", "/apis/none.io/v1/things", None),
    ("GET", f"{CONFIG_MAPS}?labelSelector=((", None),
    ("GET", f"{CONFIG_MAPS}?limit=x", None),
)


def writing(server, seed, over):
    chooser = random.Random(seed)
    with contextlib.closing(server.connect()) as connection:
        while not over.is_set():
            name = f"s{seed}-{chooser.randrange(50)}"
            meta = {"name": name, "labels": {"seed": str(seed)}}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
            body["data"] = {"text": "x" * chooser.randrange(5000)}
            served.ask(connection, "POST", CONFIG_MAPS, body)
            served.ask(connection, "PUT", f"{CONFIG_MAPS}/{name}", body)
            if chooser.random() < 0.5:
                served.ask(connection, "DELETE", f"{CONFIG_MAPS}/{name}")


def reading(server, seed, over):
    chooser = random.Random(seed)
    while not over.is_set():
        with contextlib.closing(server.connect()) as connection:
            for _ in range(20):
                query = chooser.choice(("", "?limit=7", "?labelSelector=seed%3D1", "?watch=1"))
                if query == "?watch=1":
                    query += "&timeoutSeconds=1"
                assert served.ask(connection, "GET", CONFIG_MAPS + query).code == 200
                if over.is_set():
                    return


def misbehaving(server, seed, over):
    chooser = random.Random(seed)
    while not over.is_set():
        method, path, body = chooser.choice(BAD)
        assert server.ask(method, path, body).code in (400, 404, 409, 422)
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            if chooser.random() < 0.5:
                connection.recv(1)


def test_memory_of_a_busy_server_is_flat(serve, tmp_path):
    over = threading.Event()
    samples = []
    jobs = (writing, writing, reading, misbehaving)
    with serve("--data", str(tmp_path / "soak.db"), "--no-fsync") as server:
        with ThreadPoolExecutor(len(jobs)) as pool:
            running = [pool.submit(job, server, seed, over) for seed, job in enumerate(jobs)]
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                over.wait(SECONDS / 90)  # the length of the exam, not a wait for an event
                samples.append(server.resident)
            over.set()
            for each in running:
                each.result(60)
        third = len(samples) // 3
        middle, last = max(samples[third : 2 * third]), max(samples[2 * third :])
        print(f"{SECONDS:.0f} s: {samples[0]:.0f}, {middle:.0f}, {last:.0f} MiB")
        assert last <= middle * FLAT
        assert "Traceback" not in server.log
