"""A server for one test, and a session with an unlimited number of connections for watches."""

import aiohttp
import pytest
from patience import SECONDS

from inkube import APIServer


@pytest.fixture
async def server():
    async with APIServer() as server:
        yield server


@pytest.fixture
async def session(server):
    timeout = aiohttp.ClientTimeout(SECONDS)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(server.url, timeout=timeout, connector=connector) as session:
        yield session
