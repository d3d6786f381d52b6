"""Responses when a write loses a race against a deletion, or when the store itself fails."""

import logging

import aiohttp
import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError
from inkube.storage.errors import NotFound, Unavailable

CONFIG_MAP = {
    "apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"}, "data": {"n": "1"},
}  # fmt: skip


async def test_an_object_deleted_during_its_update_is_not_found(monkeypatch, engine):
    async with APIServer() as server:
        await server.client.create(CONFIG_MAP)
        method = "submit" if engine == "fast" else "commit"
        commit = getattr(server.store, method)

        async def too_late(batch, consent):
            write = batch if engine == "fast" else batch[0]
            monkeypatch.setattr(server.store, method, commit)
            await server.store.delete(write.key, write.expected)
            raise NotFound(write.key)

        monkeypatch.setattr(server.store, method, too_late)
        with pytest.raises(StatusError, match='configmaps "a" not found') as caught:
            await server.client.patch("v1/configmaps", "a", "default", patch={"data": {"n": "2"}})
        assert caught.value.code == 404


async def test_a_failing_store_answers_a_status_and_the_server_lives_on(monkeypatch, caplog):
    async with APIServer() as server, aiohttp.ClientSession() as session:
        create = server.store.create

        async def full(key, value):
            raise Unavailable("database or disk is full")

        monkeypatch.setattr(server.store, "create", full)
        url = f"{server.url}/api/v1/namespaces/default/configmaps"
        with caplog.at_level(logging.CRITICAL, "inkube.apiserver.app"):
            async with session.post(url, json=CONFIG_MAP) as answer:
                body = await answer.json()
        assert (answer.status, body["reason"]) == (503, "ServiceUnavailable")
        assert "disk is full" in body["message"]
        monkeypatch.setattr(server.store, "create", create)
        async with session.post(url, json=CONFIG_MAP) as answer:
            assert answer.status == 201
