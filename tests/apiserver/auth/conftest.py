"""A server with users, and a client that can act as each of them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import openid
import pytest

from inkube.apiserver.server import APIServer, Options
from inkube.controllers.clock import FakeClock

USERS = """\
admin-token,admin,admin-uid,"system:masters"
user-token,plain-user,plain-uid,"plain-group"
"""


class Caller:
    """A client of one server; without a token it is anonymous."""

    def __init__(self, server: APIServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "admin-token",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = json.dumps(body) if isinstance(body, dict) else body
        if isinstance(body, dict):
            sent.setdefault("Content-Type", "application/json")
        url = self.server.url + path
        async with self._session.request(method, url, data=data, headers=sent) as answer:
            text = await answer.text()
        is_json = answer.content_type == "application/json"
        return answer.status, json.loads(text) if is_json else text


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.csv"
    path.write_text(USERS)
    return path


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(ticking=True)


@pytest.fixture
async def ask(token_file: Path, clock: FakeClock) -> AsyncIterator[Caller]:
    """A server under RBAC with the users admin and plain-user."""
    options = Options(token_auth_file=token_file, authorization_mode="RBAC", clock=clock)
    async with APIServer(options) as server, aiohttp.ClientSession() as session:
        yield Caller(server, session)


@pytest.fixture
async def ask_open() -> AsyncIterator[Caller]:
    """An open server."""
    async with APIServer() as server, aiohttp.ClientSession() as session:
        yield Caller(server, session)


@pytest.fixture
async def issuer() -> AsyncIterator[openid.Issuer]:
    """A running issuer of tokens."""
    async with openid.running() as running:
        yield running
