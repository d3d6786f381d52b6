"""Keys next to the data: private, checked at the start, a 503 where there is no room for one."""

import asyncio
import errno
import os
import stat
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner

from inkube import APIServer, storage
from inkube.apiserver.access import kubeconfig
from inkube.apiserver.auth import keyfiles
from inkube.apiserver.auth.signatures import signing
from inkube.apiserver.cli import main
from inkube.apiserver.sources import sharedkeys

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
BOT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def run(*words):
    return await asyncio.to_thread(CliRunner().invoke, main, [str(word) for word in words])


@pytest.fixture
def umask():
    """Sets the umask until the end of the test."""
    before = os.umask(0)
    yield os.umask
    os.umask(before)


async def issue(server):
    async with aiohttp.ClientSession(server.url) as session:
        async with session.post(ACCOUNTS, json=BOT) as answer:
            assert answer.status in (201, 409)
        async with session.post(f"{ACCOUNTS}/bot/token", json=TOKEN) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def data(tmp_path):
    """A data file with a key for tokens."""
    async with APIServer(data=tmp_path / "inkube.db") as server:
        assert (await issue(server))[0] == 201
    return tmp_path / "inkube.db"


DAMAGES = {
    "empty": lambda key: b"",
    "cut": lambda key: key[: len(key) // 2],
    "a foreign character": lambda key: key[: len(key) // 2] + b"*" + key[len(key) // 2 + 1 :],
    "of another program": lambda key: b"hello",
    "not text": lambda key: bytes(range(256)),
}


@pytest.mark.parametrize("name", ["tokens.key", "key", "front-proxy.pem"])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_key_is_an_error_of_the_start(tmp_path, name, damage):
    data = tmp_path / "inkube.db"
    path = tmp_path / f"inkube.db.{name}"
    whole = keyfiles.load(data, name, sharedkeys.NAMES[name]())
    path.write_bytes(DAMAGES[damage](whole))
    with pytest.raises(ValueError, match=r"is empty or damaged.*Restore it from a backup") as error:
        async with APIServer(data=data):
            pass
    assert str(path) in str(error.value)
    path.write_bytes(whole)
    async with APIServer(data=data) as server:
        assert (await issue(server))[0] == 201


@pytest.mark.parametrize("option", ["service_account_signing_key_file", "service_account_key_file"])
@pytest.mark.parametrize("content", [b"", b"nothing", b"-----BEGIN PRIVATE KEY-----\nAA\n"])
async def test_a_damaged_key_file_of_the_user_is_an_error_of_the_start(tmp_path, option, content):
    path = tmp_path / "sa.key"
    path.write_bytes(content)
    options: Any = {option: [path] if option == "service_account_key_file" else path}
    with pytest.raises(ValueError, match=r"sa\.key"):
        async with APIServer(**options):
            pass


def test_a_damaged_key_is_one_line_of_inkube_serve(tmp_path):
    data, path = tmp_path / "inkube.db", tmp_path / "inkube.db.tokens.key"
    path.write_bytes(b"")
    done = CliRunner().invoke(main, ["serve", "--port", "0", "--data", str(data)])
    assert done.exit_code
    assert f"{path} is empty or damaged" in done.output
    assert "Traceback" not in done.output


async def test_no_room_for_a_key_is_a_503_and_the_next_request_tries_again(
    tmp_path, monkeypatch, caplog
):
    async with APIServer(data=tmp_path / "inkube.db") as server:
        with monkeypatch.context() as patch:

            def full(*arguments, **options):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patch.setattr(storage.wholefiles, "create", full)
            code, body = await issue(server)
            assert (code, body["reason"]) == (503, "ServiceUnavailable"), body
            assert "No space left" in body["message"]
        assert (await issue(server))[0] == 201
    caplog.clear()  # expected


async def test_wider_permissions_of_keys_are_removed_and_logged(data, caplog):
    path = data.with_name("inkube.db.tokens.key")
    path.chmod(0o644)
    async with APIServer(data=data):
        assert mode(path) == 0o600
    assert f"{path} could be read by others (644)" in caplog.text


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
async def test_files_with_secrets_are_private_under_every_umask(tmp_path, umask, mask):
    umask(mask)
    data, log = tmp_path / "inkube.db", tmp_path / "audit.log"
    async with APIServer(data=data, audit_log=log) as server:
        assert (await issue(server))[0] == 201
        kubeconfig.write(tmp_path / "kubeconfig", server.kubeconfig())
        await (await server.snapshot()).save(tmp_path / "snapshot.db")
    done = await run("snapshot", "page", tmp_path / "snapshot.db", tmp_path / "page.html")
    assert not done.exit_code, done.output
    keyfiles.load(data, "key", signing.new_key())
    wrong = {path.name: oct(mode(path)) for path in tmp_path.iterdir() if mode(path) != 0o600}
    assert not wrong
    assert len([*tmp_path.iterdir()]) >= 7


async def test_read_permissions_of_others_on_an_audit_log_are_removed_and_logged(tmp_path, caplog):
    log = tmp_path / "audit.log"
    log.write_text("")
    log.chmod(0o644)
    async with APIServer(audit_log=log):
        assert mode(log) == 0o600
    assert f"{log} could be read by others (644)" in caplog.text
