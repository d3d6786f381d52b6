"""Runs the recorded conversations with seeded servers and writes every byte of the responses.

    python tests/conformance/seeded.py OUT [CASE …]

Each conversation has its own server, because concurrent ones would mix on a shared one. Values
without a seed are left out: the ports of servers and webhooks, their certificates, and signed
tokens. Webhooks have as much time as the API allows, so that the load of the machine decides
nothing. OUT has one line of JSON per response, in the order of cases and steps.
"""

import asyncio
import json
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import aiohttp
import replay
import table
import yaml

import inkube

SEED = 7
AT_ONCE = 12
HOOK_SECONDS = 30
"""The longest time limit of a webhook."""
NEVER = 3_600
"""Seconds until the response of an endpoint that is too late for its webhook."""
_TOKEN = re.compile(rb"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_CERTIFICATE = re.compile(rb"LS0tLS1CRUdJTi[\w+/=]+|-----BEGIN CERTIFICATE-----.*?-----END")


class RecordedResponse(aiohttp.ClientResponse):
    """A response whose bytes are kept."""

    whole = b""

    async def read(self) -> bytes:
        """See ClientResponse."""
        self.whole = await super().read()
        return self.whole


class Talk(replay.Conversation):
    """A conversation that records its responses."""

    def __init__(self, session: aiohttp.ClientSession, url: str, case: Any, slug: str) -> None:
        super().__init__(session, url, case, slug)
        self.notes: list[Any] = []
        self._port = url.rpartition(":")[2].encode()

    async def call(self, method: str, path: str, *arguments: Any, **named: Any) -> Any:
        """Record the response. Repeated polls of the same object are one record, because their
        number varies."""
        response, parsed = await super().call(method, path, *arguments, **named)
        body = response.whole.replace(self._port, b"<port>")
        if self.webhooks:
            body = body.replace(self.webhooks.address.encode(), b"<webhook>")
        text = _CERTIFICATE.sub(b"<certificate>", _TOKEN.sub(b"<token>", body)).decode("latin-1")
        note = [method, path, response.status, text]
        if self.notes[-1:] and self.notes[-1][:2] == note[:2] and method == "GET":
            self.notes.pop()
        self.notes.append(note)
        return response, parsed

    async def step(self, step: dict[str, Any]) -> dict[str, Any] | None:
        """Record the events of a watch, too."""
        answer = await super().step(step)
        if "collect" in step:
            events = self.watches[step["collect"]].events[1 : step["count"] + 1]
            self.notes.append(["events", json.dumps(events).replace(self._port.decode(), "<port>")])
        return answer


def without_haste(case: Any) -> Any:
    """Give the webhooks of a conversation HOOK_SECONDS. An endpoint that is slower than the limit
    in the conversation does not respond in time then, either. Returns the same conversation."""
    hooks = [
        hook
        for each in case.get("given", [])
        for hook in each.get("object", {}).get("webhooks", [])
    ]
    limit = min((hook["timeoutSeconds"] for hook in hooks if "timeoutSeconds" in hook), default=0)
    for hook in hooks:
        hook["timeoutSeconds"] = HOOK_SECONDS
    for rule in (rule for rules in case.get("webhooks", {}).values() for rule in rules):
        if limit and rule.get("delay", 0) > limit:
            rule["delay"] = NEVER
    return case


async def hold(name: str, case: Any, tokens: Path) -> list[Any]:
    """Run one conversation; return its records."""
    server = inkube.APIServer(seed=SEED, authorization_mode="RBAC", token_auth_file=tokens)
    headers = {
        "User-Agent": "conformance/1.0",
        "Accept": "application/json",
        "Authorization": f"Bearer {table.TOKEN}",
    }
    async with (
        server,
        aiohttp.ClientSession(headers=headers, response_class=RecordedResponse) as session,
    ):
        random.seed(name)  # for the names in the conversation
        talk = Talk(session, server.url, case, name)
        try:
            await talk.given()
            for step in case["steps"]:
                await talk.step(step)
        finally:
            await talk.finish()
    return talk.notes


async def hold_all(files: list[Path], tokens: Path) -> list[list[Any]]:
    """Run the conversations, several at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, case: Any) -> list[Any]:
        async with gate:
            return await hold(name, case, tokens)

    loaded = {
        file.stem: without_haste(yaml.load(file.read_text(), Loader=yaml.CSafeLoader))
        for file in files
    }
    return await asyncio.gather(*(one(name, case) for name, case in loaded.items()))


def main(target: Path, names: list[str]) -> None:
    """Write the records of these conversations, or of all."""
    files = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    files = [file for file in files if not names or file.stem in names]
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens.csv"
        tokens.write_text(table.TOKENS)
        tokens.chmod(0o600)
        found = asyncio.run(hold_all(files, tokens))
    with target.open("w") as out:
        for file, notes in zip(files, found, strict=True):
            out.writelines(json.dumps([file.stem, *note]) + "\n" for note in notes)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
