"""A real etcd, filled with objects as kube-apiserver stores them."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import SECONDS
from ports import free_port

from inkube.schemas import builtin
from inkube.schemas.meta import GVK

PROGRAM = shutil.which("etcd")


class Etcd:
    """A running etcd, through its gateway for JSON."""

    def __init__(self, url: str) -> None:
        self._url = url

    def put(self, key: str, value: bytes) -> None:
        """Store a value."""
        self._ask("kv/put", key=_text(key.encode()), value=_text(value))

    def delete(self, key: str) -> None:
        """Delete a key."""
        self._ask("kv/deleterange", key=_text(key.encode()))

    def revision(self) -> int:
        """Return the newest revision."""
        found = json.loads(self._ask("kv/range", key=_text(b"none")))
        return int(found["header"]["revision"])

    def snapshot(self, path: Path) -> Path:
        """Return what `etcdctl snapshot save` writes."""
        answers = self._ask("maintenance/snapshot").splitlines()
        blobs = (json.loads(each)["result"].get("blob", "") for each in answers)
        path.write_bytes(b"".join(map(base64.b64decode, blobs)))
        return path

    def _ask(self, path: str, **body: str) -> bytes:
        request = urllib.request.Request(f"{self._url}/v3/{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found: bytes = answer.read()
        return found


@contextmanager
def running(folder: Path) -> Iterator[Etcd]:
    """Run etcd with its data in a folder."""
    assert PROGRAM is not None
    url, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    arguments = [
        PROGRAM, "--data-dir", str(folder / "etcd"), "--log-level", "error",
        "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
        "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
    ]  # fmt: skip
    with (folder / "etcd.log").open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        etcd = Etcd(url)
        _wait(etcd, process)
        yield etcd
    finally:
        process.terminate()
        process.wait(SECONDS)


def _wait(etcd: Etcd, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            etcd.revision()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise


def stored(obj: dict[str, Any]) -> bytes:
    """Return an object as kube-apiserver stores it: built-in kinds as protobuf, others as JSON,
    both without a resource version."""
    meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    obj = {**obj, "metadata": meta}
    if builtin.envelopes.can_carry(GVK.of(obj["apiVersion"], obj["kind"])):
        return builtin.envelopes.encode_envelope(obj)
    return json.dumps(obj).encode() + b"\n"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
