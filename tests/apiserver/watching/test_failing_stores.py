"""The store fails while a watch reads from it."""

import asyncio

from patience import within
from yarl import URL

from inkube import APIServer
from inkube.apiserver.watching import stream
from inkube.storage import errors


async def test_a_watch_that_has_begun_is_cut_off_and_not_answered_again(monkeypatch, caplog):
    async def fail(*_):
        raise errors.Unavailable("the database is gone")

    monkeypatch.setattr(stream.Stream, "_catch_up", fail)  # reads changes from the database
    async with APIServer() as server, within():
        url = URL(server.url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        told = b""
        try:
            while piece := await reader.read(65536):
                told += piece
        except ConnectionResetError:
            pass
        writer.close()
    assert told.count(b"HTTP/1.1 ") == 1
    assert "the store failed" in caplog.text
    caplog.clear()  # expected
    assert told.startswith(b"HTTP/1.1 200 ")
