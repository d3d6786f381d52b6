"""Log output in a terminal: a line per request, and readable messages."""

import io
import logging
import re

import aiohttp
import pytest
from yarl import URL

from inkube import APIServer
from inkube.apiserver.envtest.klog import KlogFormatter
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


SECRETS = (
    "?access_token=hidden-1", "?a=b&access_token=hidden-2&c=d", "?access%5Ftoken=hidden-3",
    "?TOKEN=hidden-4", "?x=1&client_secret=hidden-5", "?password=hidden-6&token=hidden-7",
)  # fmt: skip


async def test_tokens_in_the_query_are_in_no_log(tmp_path, told):
    log, records = tmp_path / "audit.log", []
    level = logging.getLogger("inkube.access").level
    logging.getLogger("inkube.access").setLevel(logging.INFO)
    try:
        async with (
            APIServer(audit_log=log, on_request=records.append) as server,
            aiohttp.ClientSession() as session,
        ):
            for query in SECRETS:
                for path in ("/version", "/api/v1/namespaces"):
                    url = URL(f"{server.url}{path}{query}", encoded=True)
                    async with session.get(url) as response:
                        assert response.status == 200
    finally:
        logging.getLogger("inkube.access").setLevel(level)
    for text in (told.getvalue(), log.read_text(), "".join(each.path for each in records)):
        assert "hidden" not in text
        assert "access_token=REDACTED&c=d" in text


async def test_lines_of_klog_have_the_members_of_kube_apiserver(told):
    streams = logging.getLogger("inkube").handlers
    [handler] = [each for each in streams if getattr(each, "stream", None) is told]
    handler.setFormatter(KlogFormatter())
    access = logging.getLogger("inkube.access")
    level = access.level
    access.setLevel(logging.INFO)
    try:
        async with APIServer() as server, aiohttp.ClientSession() as session:
            headers = {"User-Agent": 'a"b', "Audit-ID": "1-2"}
            pods = f"{server.url}/api/v1/pods?limit=5"
            async with session.get(pods, headers=headers) as response:
                assert response.status == 200
            logging.getLogger("inkube.x").warning("two\nlines", extra={"n": 1, "why": "a b"})
    finally:
        access.setLevel(level)
    start = r"I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ app\.py:\d+] "
    text = told.getvalue()
    line = (
        start + r'"HTTP" verb="LIST" URI="/api/v1/pods\?limit=5" latency="[\d.]+[mµ]?s" '
        r'userAgent="a\\"b" audit-ID="1-2" srcIP="127\.0\.0\.1" resp=200\n'
    )
    assert re.search(line, text), text
    assert re.search(r'W\d{4} .* test_log_lines\.py:\d+] "two\\nlines" n=1 why="a b"\n', text), text
