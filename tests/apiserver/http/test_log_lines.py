"""Log output in a terminal: a line per request, and readable messages."""

import io
import logging

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.http.logs import TextFormatter
from inkube.storage.errors import Unavailable

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@pytest.fixture
def told():
    """The log of the package as a terminal shows it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter())
    root = logging.getLogger("inkube")
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield stream
    root.setLevel(before)
    root.removeHandler(handler)


async def test_a_failure_of_the_store_is_one_line_in_words(monkeypatch, caplog, told):
    async with APIServer() as server:

        async def full(key, value):
            raise Unavailable("database or disk is full")

        monkeypatch.setattr(server.store, "create", full)
        async with aiohttp.ClientSession(server.url) as session:
            path = "/api/v1/namespaces/default/configmaps"
            async with session.post(path, json=CONFIG_MAP) as response:
                assert response.status == 503
    lines = [line for line in told.getvalue().splitlines() if "the store failed" in line]
    assert len(lines) == 1
    assert "error the store failed: database or disk is full request_id=" in lines[0]
    assert "Traceback" not in told.getvalue()
    caplog.clear()  # expected
