"""Watch clients that never read, in three forms: their buffered data is limited, and freed."""

import contextlib
import socket

import pytest
import served
from patience import attempts

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCHERS, OBJECTS, CHANGES = (100, 800, 2) if served.LONG else (60, 200, 2)
SIZE = 50_000
GROWTH = 80  # MiB: history 32, frames 8, what waits for all connections, holes between
HELD = 128  # MiB: 64 are counted, an encoder takes somewhat more
LEFT = 50  # MiB: history and frames stay
FORMS = (
    "application/json",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
)


def config_map(number, text):
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}}
    return {**head, "data": {"text": text * SIZE}}


@pytest.fixture
def server(serve, tmp_path):
    with serve("--data", str(tmp_path / "data.db"), "--no-fsync") as server:
        yield server


def watching(server, accept, version):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", server.port))
    path = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}"
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Accept: {accept}", "", ""]
    connection.sendall("\r\n".join(lines).encode())
    assert connection.recv(1)
    return connection


def test_watchers_that_never_read_take_bounded_memory_and_give_it_back(server):
    with contextlib.closing(server.connect()) as connection:
        for number in range(OBJECTS):
            body = config_map(number, "x")
            assert served.ask(connection, "POST", CONFIG_MAPS, body).code == 201
        listed = served.ask(connection, "GET", f"{CONFIG_MAPS}?limit=1").json
        version = listed["metadata"]["resourceVersion"]
        before = peak = server.resident
        with contextlib.ExitStack() as stack:
            for number in range(WATCHERS):
                accept = FORMS[number % len(FORMS)]
                stack.enter_context(watching(server, accept, version))
            for text in "ab"[:CHANGES]:
                for number in range(OBJECTS):
                    path = f"{CONFIG_MAPS}/c{number}"
                    assert served.ask(connection, "PUT", path, config_map(number, text)).code == 200
                    peak = max(peak, server.resident)
        for _ in attempts():
            if server.resident - before <= LEFT:
                break
        print(
            f"{WATCHERS} watchers, {OBJECTS} objects of {SIZE // 1000} KB: "
            f"{before:.0f} -> {peak:.0f} -> {server.resident:.0f} MiB"
        )
        assert peak - before <= GROWTH
        assert served.ask(connection, "GET", f"{CONFIG_MAPS}/c0").code == 200


@pytest.mark.parametrize(
    ("query", "accept"),
    [("", "application/json"), ("?pretty=1", "application/json"), ("", "application/yaml")],
)
def test_large_answers_of_their_own_that_nobody_reads_are_bounded_together(server, query, accept):
    """An object in indented JSON or in YAML is encoded for each client."""
    clients, size = (400, 1_000_000) if served.LONG else (120, 1_000_000)
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}}
    assert server.ask("POST", CONFIG_MAPS, {**head, "data": {"text": "x" * size}}).code == 201
    path = f"{CONFIG_MAPS}/big{query}"
    server.ask("GET", path, Accept=accept)
    before = server.resident
    with contextlib.ExitStack() as stack:
        for _ in range(clients):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Accept: {accept}", "", ""]
            connection.sendall("\r\n".join(lines).encode())
            assert connection.recv(1)
        assert server.ask("GET", "/readyz").code == 200
        held = server.resident - before
    assert held <= HELD
    with contextlib.suppress(TimeoutError):
        for _ in attempts():
            if server.resident - before <= LEFT:
                break
    left = server.resident - before
    print(f"{clients} answers of 1 MB, {accept}{query}: + {held:.0f} MiB, then + {left:.0f}")
    assert left <= LEFT
